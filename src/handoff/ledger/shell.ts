// A reader of shell scripts, as far as a handoff needs it: which simple commands a script runs, with which words,
// redirections and here-documents. Our own, because shell-quote knows neither here-documents nor lists, and bash-parser
// is no longer kept. It never throws: what it cannot read becomes a word without a value.

import { type Assign, type Redirect, ShellScanner, textOf, type Word } from './shell-scanner.ts'

export type Node =
  | {
      readonly kind: 'simple'
      readonly assigns: readonly Assign[]
      readonly words: readonly Word[]
      redirects: Redirect[]
    }
  | { readonly kind: 'pipeline'; readonly stages: readonly Node[] }
  | { readonly kind: 'subshell' | 'group'; readonly body: List; redirects: Redirect[] }
  | {
      readonly kind: 'for'
      readonly name: string
      readonly items: readonly Word[]
      readonly body: List
      redirects: Redirect[]
    }
  /** if, while, until, case: whether and how often the parts run cannot be told. */
  | { readonly kind: 'maybe'; readonly body: List; redirects: Redirect[] }

/** `next` is the operator behind an item. */
interface Item {
  readonly node: Node
  readonly next: '&&' | '||' | ';' | '&'
}
export type List = readonly Item[]

const MAX_DEPTH = 40

export function parseShell(script: string): List {
  return new Parser(script).list([], 0)
}

class Parser extends ShellScanner {
  /** Reads until one of `closers` stands where a command would, or the text ends. The closer is left for the caller. */
  list(closers: readonly string[], depth: number): List {
    const items: Item[] = []
    for (;;) {
      this.skipBlank(true)
      if (this.at >= this.text.length) return items
      const ahead = this.peekWord()
      if (closers.includes(ahead)) return items
      const start = this.at
      const node = this.pipeline(closers, depth)
      const next = this.operator()
      if (node) items.push({ node, next })
      // A character that starts nothing, such as a stray `)`: step over it rather than stand still.
      if (this.at === start) this.at += 1
    }
  }

  private pipeline(closers: readonly string[], depth: number): Node | undefined {
    const stages: Node[] = []
    for (;;) {
      this.skipBlank(stages.length > 0)
      const node = this.command(closers, depth)
      if (node) stages.push(node)
      this.skipBlank(false)
      if (this.text[this.at] === '|' && this.text[this.at + 1] !== '|')
        this.at += this.text[this.at + 1] === '&' ? 2 : 1
      else break
    }
    if (stages.length < 2) return stages[0]
    return { kind: 'pipeline', stages }
  }

  private command(closers: readonly string[], depth: number): Node | undefined {
    const ahead = this.peekWord()
    if (ahead === '!') {
      this.at += 1
      this.skipBlank(false)
      return this.command(closers, depth)
    }
    if (depth >= MAX_DEPTH) {
      this.at = this.text.length
      return undefined
    }
    if (ahead === '(') {
      this.at += 1
      if (this.text[this.at] === '(') return this.arithmetic()
      const body = this.list([')'], depth + 1)
      this.accept(')')
      return { kind: 'subshell', body, redirects: this.redirects() }
    }
    if (ahead === '{') {
      this.at += 1
      const body = this.list(['}'], depth + 1)
      this.accept('}')
      return { kind: 'group', body, redirects: this.redirects() }
    }
    if (ahead === 'for') return this.loop(depth)
    if (ahead === 'if') return this.branches('if', ['then', 'elif', 'else', 'fi'], 'fi', depth)
    if (ahead === 'while' || ahead === 'until') return this.branches(ahead, ['do', 'done'], 'done', depth)
    if (ahead === 'case') return this.cases(depth)
    if (ahead === 'function') {
      this.accept('function')
      this.skipBlank(false)
      this.word()
      return this.definition(depth)
    }
    return this.simple(depth)
  }

  private arithmetic(): Node {
    const end = this.text.indexOf('))', this.at)
    this.at = end < 0 ? this.text.length : end + 2
    return { kind: 'simple', assigns: [], words: [], redirects: [] }
  }

  private loop(depth: number): Node {
    this.accept('for')
    this.skipBlank(false)
    const name = textOf(this.word()) ?? ''
    this.skipBlank(true)
    const items: Word[] = []
    if (this.peekWord() === 'in') {
      this.accept('in')
      for (;;) {
        this.skipBlank(false)
        const word = this.word()
        if (!word) break
        items.push(word)
      }
    }
    this.list(['do'], depth + 1)
    this.accept('do')
    const body = this.list(['done'], depth + 1)
    this.accept('done')
    return { kind: 'for', name, items, body, redirects: this.redirects() }
  }

  private branches(first: string, between: readonly string[], last: string, depth: number): Node {
    this.accept(first)
    const body: Item[] = []
    while (this.at < this.text.length) {
      body.push(...this.list(between, depth + 1))
      const word = this.peekWord()
      if (!between.includes(word)) break
      this.accept(word)
      if (word === last) break
    }
    return { kind: 'maybe', body, redirects: this.redirects() }
  }

  /** The patterns of a `case` do not read as commands; its effects cannot be told anyway. */
  private cases(depth: number): Node {
    this.accept('case')
    let open = 1
    while (this.at < this.text.length && open > 0) {
      this.skipBlank(true)
      const ahead = this.peekWord()
      if (ahead === 'case') open += 1
      if (ahead === 'esac') open -= 1
      if (!this.word()) this.at += 1
    }
    void depth
    return { kind: 'maybe', body: [], redirects: this.redirects() }
  }

  /** A function's body runs when it is called, if ever: it is read and left out. */
  private definition(depth: number): Node {
    this.skipBlank(true)
    if (this.text.startsWith('()', this.at)) this.at += 2
    this.skipBlank(true)
    this.command([], depth + 1)
    return { kind: 'simple', assigns: [], words: [], redirects: [] }
  }

  private simple(depth: number): Node | undefined {
    const assigns: Assign[] = []
    const words: Word[] = []
    const redirects: Redirect[] = []
    for (;;) {
      this.skipBlank(false)
      const redirect = this.redirect()
      if (redirect) {
        redirects.push(redirect)
        continue
      }
      if (words.length === 1 && this.text.startsWith('()', this.at)) return this.definition(depth)
      if (words.length === 0) {
        const assign = this.assign()
        if (assign) {
          assigns.push(assign)
          continue
        }
      }
      const word = this.word()
      if (!word) break
      words.push(word)
    }
    if (assigns.length + words.length + redirects.length === 0) return undefined
    return { kind: 'simple', assigns, words, redirects }
  }

  private redirects(): Redirect[] {
    const redirects: Redirect[] = []
    for (;;) {
      this.skipBlank(false)
      const redirect = this.redirect()
      if (!redirect) return redirects
      redirects.push(redirect)
    }
  }

  private operator(): Item['next'] {
    this.skipBlank(false)
    const two = this.text.slice(this.at, this.at + 2)
    if (two === '&&' || two === '||') {
      this.at += 2
      return two
    }
    const one = this.text[this.at]
    if (one === '&') {
      this.at += 1
      return '&'
    }
    if (one === ';') this.at += two === ';;' ? 2 : 1
    return ';'
  }
}
