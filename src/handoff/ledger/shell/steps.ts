// The simple commands of a script in the order in which they run, each with its folder and with what the script's exit
// status says about it.

import { joinPath } from '../files/paths.ts'
import { type List, type Node, parseShell, type Redirect, type Word } from '../../../system/index.ts'

/** `text` is undefined where the shell would fill something in that the script does not tell. */
export interface Arg {
  readonly text: string | undefined
  readonly glob: boolean
}

export interface Step {
  readonly program: string
  readonly args: readonly Arg[]
  readonly outputs: readonly { readonly path: string | undefined; readonly append: boolean }[]
  /** Text of a here-document or here-string. */
  readonly input: string | undefined
  /** `''`: where the script started; undefined: cannot be told. */
  readonly cwd: string | undefined
  /** Runs for certain, as long as what stands before it with `&&` succeeded. */
  readonly sure: boolean
  /** The script may end with 0 although this failed. */
  readonly hidden: boolean
  /** The script's failure may be this one's. */
  readonly decides: boolean
  readonly background: boolean
  /** Its output goes through a filter that may hold back a failure. */
  readonly filtered: boolean
}

export interface Script {
  readonly steps: readonly Step[]
  /** The folder a shell that stays open is in afterwards. */
  readonly cwd: string | undefined
}

const maxSteps = 200
const maxNesting = 4

export function readScript(script: string, cwd: string | undefined): Script {
  const walk = new Walk(cwd)
  walk.list(parseShell(script), {
    sure: true,
    hidden: false,
    decides: true,
    background: false,
    filtered: false,
  })
  return { steps: walk.steps, cwd: walk.cwd }
}

interface StepContext {
  sure: boolean
  hidden: boolean
  decides: boolean
  background: boolean
  filtered: boolean
}

class Walk {
  readonly steps: Step[] = []
  cwd: string | undefined
  #former: string | undefined
  #errexit = false
  #pipefail = false
  #nesting = 0
  readonly #variables = new Map<string, string | undefined>([['HOME', '~']])

  constructor(cwd: string | undefined) {
    this.cwd = cwd
    this.#former = cwd
  }

  list(items: List, context: StepContext): void {
    let reached = context.sure
    // No later command can hide the failure of these, with or without `set -e`.
    const strict = items.findLastIndex(({ next }, index) => index < items.length - 1 && next !== '&&')
    const exiting = items.findLastIndex(({ next }, index) => index < items.length - 1 && next !== '&&' && next !== ';')
    for (const [index, item] of items.entries()) {
      const vouched = item.next !== '&' && index > (this.#errexit ? exiting : strict)
      this.#node(item.node, {
        sure: reached,
        hidden: context.hidden || !vouched,
        decides: context.decides && vouched,
        background: context.background || item.next === '&',
        filtered: context.filtered,
      })
      if (item.next === '||') reached = false
      else if (item.next !== '&&') reached = context.sure
    }
  }

  #node(node: Node, context: StepContext): void {
    if (this.steps.length >= maxSteps) return
    switch (node.kind) {
      case 'simple':
        this.#simple(node, context)
        return
      case 'pipeline':
        const filter = node.stages.findLastIndex((stage) => holdsBack(stage))
        for (const [index, stage] of node.stages.entries()) {
          const last = index === node.stages.length - 1
          const seen = last || this.#pipefail
          this.#inOwnFolder(() =>
            this.#node(stage, {
              ...context,
              hidden: context.hidden || !seen,
              decides: context.decides && seen,
              filtered: context.filtered || index < filter,
            }),
          )
        }
        return
      case 'subshell':
        this.#inOwnFolder(() => this.list(node.body, context))
        this.#loose(node.redirects, context)
        return
      case 'group':
        this.list(node.body, context)
        this.#loose(node.redirects, context)
        return
      case 'for':
        for (const item of node.items.flatMap((word) => this.#expand(word))) {
          this.#variables.set(node.name, item.glob ? undefined : item.text)
          this.list(node.body, { ...context, hidden: true })
        }
        this.#variables.delete(node.name)
        this.#loose(node.redirects, context)
        return
      case 'maybe':
        this.list(node.body, { ...context, sure: false, hidden: true })
        this.#loose(node.redirects, context)
    }
  }

  #simple(node: Node & { kind: 'simple' }, context: StepContext): void {
    if (node.words.length === 0) {
      for (const { name, value } of node.assigns) this.#variables.set(name, this.#value(value))
      this.#loose(node.redirects, context)
      return
    }
    const all: Arg[] = []
    for (const word of node.words) {
      const [only] = word.parts
      // Nearly all words are plain text, which needs no expansion.
      if (word.parts.length === 1 && !word.opaque && !word.glob && typeof only === 'string')
        all.push({ text: only, glob: false })
      else all.push(...this.#expand(word))
    }
    const words = unwrap(all)
    const program = words[0]?.text
    const args = words.slice(1)
    const base = program === undefined ? '' : program.slice(program.lastIndexOf('/') + 1)
    if (this.#changesShell(base, args, context)) return
    const inner = base === 'eval' ? args.map(({ text }) => text ?? '').join(' ') : innerScript(base, args)
    if (inner !== undefined && this.#nesting < maxNesting) {
      this.#nesting += 1
      const run = (): void => this.list(parseShell(inner), context)
      if (base === 'eval') run()
      else this.#inOwnFolder(run)
      this.#nesting -= 1
      this.#loose(node.redirects, context)
      return
    }
    this.#push(program ?? '', args, node.redirects, context)
  }

  /** Commands that change the shell itself rather than the world. */
  #changesShell(program: string, args: readonly Arg[], context: StepContext): boolean {
    if (program === 'cd' || program === 'pushd') {
      const to = args.find(({ text }) => text !== '--' && text !== '-P' && text !== '-L')
      const here = this.cwd
      if (!context.sure) this.cwd = undefined
      else if (args.length === 0) this.cwd = '~'
      else if (to?.text === '-') this.cwd = this.#former
      else if (to?.text === undefined || to.glob) this.cwd = undefined
      else this.cwd = here === undefined && !/^[/~]/.test(to.text) ? undefined : joinPath(here ?? '', to.text)
      this.#former = here
      return true
    }
    if (program === 'popd') {
      this.cwd = this.#former
      return true
    }
    if (program === 'export' || program === 'declare' || program === 'local' || program === 'readonly') {
      for (const { text } of args) {
        const equals = text?.indexOf('=') ?? -1
        if (text && equals > 0) this.#variables.set(text.slice(0, equals), text.slice(equals + 1))
      }
      return true
    }
    if (program === 'set') {
      const options = args.map(({ text }) => text ?? '')
      if (options.some((option) => /^-[a-z]*e/.test(option))) this.#errexit = true
      if (options.includes('pipefail')) this.#pipefail = true
      return true
    }
    return false
  }

  #push(program: string, args: readonly Arg[], redirects: readonly Redirect[], context: StepContext): void {
    const outputs: { path: string | undefined; append: boolean }[] = []
    let input: string | undefined
    for (const { op, target, body } of redirects) {
      if (body !== undefined) input = body
      else if (op === '<<<') input = this.#value(target)
      else if (op === '>' || op === '>>' || (op === '>&' && !/^[\d-]+$/.test(this.#value(target) ?? '1'))) {
        outputs.push({ path: target.glob ? undefined : this.#value(target), append: op === '>>' })
      }
    }
    this.steps.push({ program, args, outputs, input, cwd: this.cwd, ...context })
  }

  /** Redirections of a group are a step of their own, which runs no program. */
  #loose(redirects: readonly Redirect[], context: StepContext): void {
    if (redirects.length > 0) this.#push('', [], redirects, context)
  }

  #inOwnFolder(run: () => void): void {
    const { cwd } = this
    const former = this.#former
    run()
    this.cwd = cwd
    this.#former = former
  }

  #value(word: Word): string | undefined {
    if (word.opaque) return undefined
    let text = ''
    for (const part of word.parts) {
      if (typeof part === 'string') text += part
      else if (part.name === 'PWD') {
        if (this.cwd === undefined) return undefined
        text += this.cwd === '' ? '.' : this.cwd
      } else {
        const value = this.#variables.get(part.name)
        if (value === undefined) return undefined
        text += value
      }
    }
    return text
  }

  #expand(word: Word): Arg[] {
    const text = this.#value(word)
    if (!word.glob || text === undefined) return [{ text, glob: word.glob }]
    return expandBraces(text).map((text) => ({ text, glob: /[*?[]/.test(text) }))
  }
}

/** A `grep` that does not ask for errors, or a count: silence behind it says nothing. */
function holdsBack(node: Node): boolean {
  if (node.kind !== 'simple') return true
  const [program = '', ...words] = node.words.map(({ parts }) =>
    parts.map((part) => (typeof part === 'string' ? part : '')).join(''),
  )
  if (/^(?:wc|jq|yq|awk|cut|uniq|xargs|column)$/.test(program)) return true
  return /^(?:[ef]?grep|rg|ag)$/.test(program) && !words.some((word) => /err|fail|warn|panic|✗|✘|×/i.test(word))
}

/** Programs that run the command behind them, with their options that take a value. */
const wrapperPrograms: Record<string, RegExp> = {
  env: /^-[uSC]$/,
  sudo: /^-[ugpC]$/,
  time: /^-[fo]$/,
  timeout: /^-[ks]$/,
  nice: /^-n$/,
  nohup: /^$/,
  command: /^$/,
  exec: /^-a$/,
  builtin: /^$/,
  stdbuf: /^-[ioe]$/,
  ionice: /^-[cn]$/,
  setsid: /^$/,
  'xvfb-run': /^-[ns]$/,
  'cross-env': /^$/,
  dotenv: /^-e$/,
  unbuffer: /^$/,
  caffeinate: /^$/,
}

function unwrap(words: readonly Arg[]): readonly Arg[] {
  let rest = words
  for (let rounds = 0; rounds < 5; rounds += 1) {
    const name = rest[0]?.text ?? ''
    const base = name.slice(name.lastIndexOf('/') + 1)
    const valued = Object.hasOwn(wrapperPrograms, base) ? wrapperPrograms[base] : undefined
    if (!valued || rest.length < 2) return rest
    // `command -v x` asks, it does not run.
    if (base === 'command' && /^-[vV]$/.test(rest[1]?.text ?? '')) return rest
    let at = 1
    for (; at < rest.length; at += 1) {
      const text = rest[at]?.text
      if (text === '--') {
        at += 1
        break
      }
      if (text === undefined || /^[A-Za-z_]\w*=/.test(text)) continue
      if (!text.startsWith('-')) break
      if (valued.test(text)) at += 1
    }
    if (base === 'timeout') at += 1
    if (at >= rest.length) return rest
    rest = rest.slice(at)
  }
  return rest
}

/** The script of `bash -lc '…'`. */
function innerScript(program: string, args: readonly Arg[]): string | undefined {
  if (!/^(?:ba|z|da|k|a)?sh$/.test(program)) return undefined
  const at = args.findIndex(({ text }) => text !== undefined && /^-[a-z]*c[a-z]*$/.test(text))
  return at < 0 ? undefined : args[at + 1]?.text
}

function expandBraces(text: string): string[] {
  let words = [text]
  for (let rounds = 0; rounds < 4 && words.some((word) => bracePattern.test(word)); rounds += 1) {
    words = words
      .flatMap((word) => {
        const match = bracePattern.exec(word)
        if (!match) return [word]
        const [whole, choices = ''] = match
        const before = word.slice(0, match.index)
        const after = word.slice(match.index + whole.length)
        return choices.split(',').map((choice) => before + choice + after)
      })
      .slice(0, 64)
  }
  return words
}

const bracePattern = /\{([^{}]*,[^{}]*)\}/
