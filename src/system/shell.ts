// Which simple commands a shell script runs, with which words, redirections and here-documents. The grammar is unbash's;
// this file turns its syntax tree into the few kinds of nodes that the ledger and the permission rules reason about.
// Nothing here throws, whatever the script: a broken script is read as far as its first error.

import * as unbash from 'unbash'

/** A word is made of text and variables; anything else that the shell would fill in makes it opaque. */
export interface Word {
  readonly parts: readonly (string | { readonly name: string })[]
  readonly opaque: boolean
  /** Has an unquoted pattern or brace expansion: the shell may make several words of it. */
  readonly glob: boolean
}

export interface Redirect {
  readonly op: '<' | '>' | '>>' | '<<' | '<<<' | '>&' | '<&'
  readonly target: Word
  /** The text of a here-document. */
  readonly body?: string
}

interface Assign {
  readonly name: string
  readonly value: Word
}

export type Node =
  | {
      readonly kind: 'simple'
      readonly assigns: readonly Assign[]
      readonly words: readonly Word[]
      readonly redirects: readonly Redirect[]
    }
  | { readonly kind: 'pipeline'; readonly stages: readonly Node[] }
  | { readonly kind: 'subshell' | 'group'; readonly body: List; readonly redirects: readonly Redirect[] }
  | {
      readonly kind: 'for'
      readonly name: string
      readonly items: readonly Word[]
      readonly body: List
      readonly redirects: readonly Redirect[]
    }
  /** if, while, until, case, select: whether and how often the parts run is not known. */
  | { readonly kind: 'maybe'; readonly body: List; readonly redirects: readonly Redirect[] }

/** `next` is the operator behind an item. */
interface Item {
  readonly node: Node
  readonly next: '&&' | '||' | ';' | '&'
}
export type List = readonly Item[]

/** The script as a list of nodes, up to its first syntax error; empty if it is nested beyond what can be parsed. */
export function parseShell(script: string): List {
  try {
    const { source, restore } = prepare(script)
    return new Reader(restore).statements(unbash.parse(source).commands)
  } catch {
    // The stack of the parser has an end: what is nested thousands of levels deep cannot be read.
    return []
  }
}

/** A simple command as it is written, without what the shell would fill in. */
export interface SimpleCommand {
  readonly words: readonly string[]
  /** Targets of its redirections, and of those around the compound command that contains it. */
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  /** What it gets as its input, where that is written out: a here-document, or the text of an `echo` before the pipe. */
  readonly input?: string
}

export interface ShellCommands {
  /** Every simple command, also of those in substitutions, functions and here-documents. */
  readonly commands: readonly SimpleCommand[]
  /** The last value that the script gives to a variable, where it is written out. */
  readonly variables: ReadonlyMap<string, string>
  /** False where a part of the script could not be parsed: it may run more than `commands` lists. */
  readonly understood: boolean
}

/** Substitutions are parsed once for each level around them. */
const maxSubstitutions = 16

/** Every command that the script contains, whether or not it would be reached. */
export function commandsIn(script: string): ShellCommands {
  const commands: SimpleCommand[] = []
  const variables = new Map<string, string>()
  const { source, restore } = prepare(script)
  const reader = new Reader(restore)
  const piped = new Map<unbash.SyntaxNode, string>()
  // To some shells a carriage return ends a word, to others it is a letter.
  let understood = source === script && !script.includes('\r')
  const visit = (node: unbash.SyntaxNode, depth: number, text: string): void => {
    if (node.type === 'Script') {
      if ((node.errors?.length ?? 0) > 0 || depth > maxSubstitutions) understood = false
      if (depth > maxSubstitutions) return
      unbash.forEachChild(node, (child) => visit(child, depth + 1, node.source ?? text))
      return
    }
    if (node.type === 'Pipeline') {
      for (const [i, stage] of node.commands.entries()) {
        const spoken = stage.type === 'Command' ? spokenBy(reader.words(stage).map(wordText)) : undefined
        const next = node.commands[i + 1]
        if (spoken !== undefined && next !== undefined) piped.set(next, spoken)
      }
    }
    if (node.type === 'Command') {
      const { assigns, redirects } = reader.simple(node)
      for (const { name, value } of assigns) if (!value.opaque) variables.set(name, wordText(value))
      commands.push(commandOf(reader.words(node).map(wordText), redirects, piped.get(node)))
      if (hasStrayParenthesis(node, text)) understood = false
    }
    if (node.type === 'Redirected') {
      const redirects = node.redirects.map((redirect) => reader.redirect(redirect))
      commands.push(commandOf([], redirects, undefined))
    }
    // Outside of bash, and in a bash without `extglob`, it is no pattern.
    if (node.type === 'ExtendedGlob') understood = false
    unbash.forEachChild(node, (child) => visit(child, depth, text))
  }
  try {
    visit(unbash.parse(source), 0, source)
  } catch {
    understood = false
  }
  return { commands, variables, understood }
}

function spokenBy([program, ...rest]: readonly string[]): string | undefined {
  if (program !== 'echo' && program !== 'printf') return undefined
  return rest.filter((word, i) => i > 0 || !/^-[neE]+$/.test(word)).join(' ')
}

function commandOf(words: readonly string[], redirects: readonly Redirect[], piped: string | undefined): SimpleCommand {
  const targets = (ops: readonly string[]) =>
    redirects.filter(({ op }) => ops.includes(op)).map(({ target }) => wordText(target))
  const here = redirects.flatMap(({ op, body, target }) =>
    op === '<<' ? [body ?? ''] : op === '<<<' ? [wordText(target)] : [],
  )
  const input = here.length > 0 ? here.join('\n') : piped
  return { words, reads: targets(['<']), writes: targets(['>', '>>']), ...(input === undefined ? {} : { input }) }
}

/** unbash passes over the parenthesis of `a (b c`, which is an error to a shell. */
function hasStrayParenthesis({ name, args }: unbash.Command, text: string): boolean {
  let end = name?.end
  for (const arg of args) {
    if (end !== undefined && /[()]/.test(text.slice(end, arg.pos))) return true
    end = arg.end
  }
  return false
}

/** The word as far as it is written out; variables appear by their name. */
function wordText(word: Word): string {
  return word.parts.map((part) => (typeof part === 'string' ? part : `$${part.name}`)).join('')
}

/** unbash searches the end of a brace expansion and of a here-document anew from each one, so their number is limited. */
const maxOpeners = 250
const braceMask = '\u{e000}'
const hereDocMask = '\u{e001}\u{e001}'

interface Prepared {
  /** What is given to the parser; of the same length as the script, with the line ends of Windows aside. */
  readonly source: string
  readonly restore: (text: string) => string
}

/** Hides all openers beyond the limit, so that a hostile script takes no more than linear time. */
function prepare(script: string): Prepared {
  const unix = script.includes('\r\n') ? script.replaceAll('\r\n', '\n') : script
  let braces = 0
  let hereDocs = 0
  let isMasked = false
  const source = unix.replaceAll(/(?<!\$)\{|<<(?!<)/g, (opener) => {
    const seen = opener === '{' ? (braces += 1) : (hereDocs += 1)
    if (seen <= maxOpeners) return opener
    isMasked = true
    return opener === '{' ? braceMask : hereDocMask
  })
  if (!isMasked) return { source, restore: (text) => text }
  return { source, restore: (text) => text.replaceAll(braceMask, '{').replaceAll(hereDocMask, '<<') }
}

const nothing: Word = { parts: [], opaque: false, glob: false }
const unknown: Word = { parts: [], opaque: true, glob: false }

class Reader {
  readonly #restore: (text: string) => string

  constructor(restore: (text: string) => string) {
    this.#restore = restore
  }

  statements(statements: readonly unbash.Statement[]): List {
    const items: Item[] = []
    for (const { command, background } of statements) {
      const nodes = command.type === 'AndOr' ? command.commands : [command]
      const operators = command.type === 'AndOr' ? command.operators : []
      for (const [i, node] of nodes.entries())
        items.push({ node: this.#pipeline(node), next: operators[i] ?? (background === true ? '&' : ';') })
    }
    return items
  }

  #pipeline(node: unbash.PipelineNode): Node {
    if (node.type !== 'Pipeline') return this.#command(node, [])
    const stages = node.commands.map((stage) => this.#command(stage, []))
    return stages.length === 1 ? stages[0]! : { kind: 'pipeline', stages }
  }

  #command(node: unbash.CommandNode, redirects: readonly Redirect[]): Node {
    switch (node.type) {
      case 'Command':
        return this.simple(node)
      case 'Redirected':
        return this.#command(
          node.command,
          node.redirects.map((redirect) => this.redirect(redirect)),
        )
      case 'Subshell':
        return { kind: 'subshell', body: this.#list(node.body), redirects }
      case 'BraceGroup':
        return { kind: 'group', body: this.#list(node.body), redirects }
      case 'For': {
        const items = (node.wordlist ?? []).map((word) => this.word(word))
        return { kind: 'for', name: node.name.value, items, body: this.#list(node.body), redirects }
      }
      case 'If': {
        const branches = node.elif.flatMap(({ clause, then }) => [clause, then])
        const last = node.else === undefined ? [] : [node.else]
        return this.#maybe([node.clause, node.then, ...branches, ...last], redirects)
      }
      case 'While':
        return this.#maybe([node.clause, node.body], redirects)
      case 'Case':
        return this.#maybe(
          node.items.map(({ body }) => body),
          redirects,
        )
      case 'Select':
      case 'ArithmeticFor':
        return this.#maybe([node.body], redirects)
      case 'Coproc': {
        const body: List =
          node.body.type === 'CompoundList'
            ? this.#list(node.body)
            : [{ node: this.#command(node.body, []), next: '&' }]
        return { kind: 'group', body, redirects }
      }
      case 'TestCommand':
        return { kind: 'simple', assigns: [], words: [{ parts: ['[['], opaque: false, glob: false }], redirects }
      case 'ArithmeticCommand':
      // A function's body runs when it is called, if ever.
      case 'Function':
        return { kind: 'simple', assigns: [], words: [], redirects }
    }
  }

  #list({ commands }: unbash.CompoundList): List {
    return this.statements(commands)
  }

  #maybe(lists: readonly unbash.CompoundList[], redirects: readonly Redirect[]): Node {
    return { kind: 'maybe', body: lists.flatMap((list) => this.#list(list)), redirects }
  }

  simple(node: unbash.Command): Extract<Node, { kind: 'simple' }> {
    const assigns: Assign[] = []
    for (const prefix of node.prefix)
      if (prefix.type === 'Assignment') assigns.push({ name: prefix.name, value: this.#assigned(prefix) })
    const redirects = node.redirects.map((redirect) => this.redirect(redirect))
    return { kind: 'simple', assigns, words: this.words(node), redirects }
  }

  words({ name, args }: unbash.Command): Word[] {
    const all = name === undefined ? args : [name, ...args]
    return all.map((arg) => (arg.type === 'Word' ? this.word(arg) : this.#declaration(arg)))
  }

  /** An argument such as `A=b` of `export`. */
  #declaration(assignment: unbash.Assignment): Word {
    const value = this.#assigned(assignment)
    return { ...value, parts: [`${assignment.name}=`, ...value.parts] }
  }

  #assigned({ value, append, index }: unbash.Assignment): Word {
    if (value.type === 'ArrayValue' || index !== undefined) return unknown
    const word = this.word(value)
    return append === true ? { ...word, opaque: true } : word
  }

  redirect(redirect: unbash.Redirection): Redirect {
    if (redirect.type === 'HereDoc') {
      const target = { parts: [redirect.delimiter?.value ?? ''], opaque: false, glob: false }
      return { op: '<<', target, body: this.#restore(redirect.body.text) }
    }
    const target = redirect.target === undefined ? nothing : this.word(redirect.target)
    switch (redirect.operator) {
      case '>|':
      case '&>':
      case '<>':
        return { op: '>', target }
      case '&>>':
        return { op: '>>', target }
      default:
        return { op: redirect.operator, target }
    }
  }

  word({ value, parts }: unbash.Word): Word {
    if (parts === undefined) return { parts: [this.#restore(value)], opaque: false, glob: false }
    const word = new WordBuilder(this.#restore)
    word.add(parts)
    return word.build()
  }
}

class WordBuilder {
  readonly #restore: (text: string) => string
  readonly #parts: (string | { readonly name: string })[] = []
  #text = ''
  #opaque = false
  #glob = false

  constructor(restore: (text: string) => string) {
    this.#restore = restore
  }

  build(): Word {
    return { parts: [...this.#parts, this.#restore(this.#text)], opaque: this.#opaque, glob: this.#glob }
  }

  add(parts: readonly unbash.WordPart[]): void {
    for (const part of parts) this.#add(part)
  }

  #add(part: unbash.WordPart): void {
    switch (part.type) {
      case 'Literal':
      case 'SingleQuoted':
      case 'AnsiCQuoted':
        this.#text += part.value
        return
      case 'DoubleQuoted':
      case 'LocaleString':
        this.add(part.parts)
        return
      case 'SimpleExpansion':
        this.#variable(part.text.slice(1))
        return
      case 'ParameterExpansion':
        if (part.text === `\${${part.parameter}}`) this.#variable(part.parameter)
        else this.#opaque = true
        return
      case 'Glob':
      case 'BraceExpansion':
        this.#glob = true
        if (part.parts === undefined) this.#text += part.text
        else {
          this.#text += part.text.slice(0, 1)
          this.add(part.parts)
          this.#text += part.text.slice(-1)
        }
        return
      case 'ExtendedGlob':
        this.#glob = true
        this.#opaque = true
        return
      case 'CommandExpansion':
      case 'ArithmeticExpansion':
      case 'ProcessSubstitution':
        this.#opaque = true
    }
  }

  #variable(name: string): void {
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      this.#opaque = true
      return
    }
    this.#parts.push(this.#restore(this.#text), { name })
    this.#text = ''
  }
}

/** A word as it can be pasted into a POSIX shell; for the commands that messages and documents name. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./#-]+$/.test(word) && !word.startsWith('#') ? word : `'${word.replaceAll("'", "'\\''")}'`
}
