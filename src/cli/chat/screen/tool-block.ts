// A tool call in the chat's log: one line that says what it does and how it went; its output unfolds below.

import { truncateToWidth, visibleWidth } from '@earendil-works/pi-tui'
import { outputText } from '../../../tape/index.ts'
import { Block, type Folding, hanging } from './blocks.ts'
import { sanitise } from './sanitise.ts'
import type { Theme } from './theme.ts'

const shownLines = 400
/** How many of its latest lines a running command shows. */
const liveLines = 5
/** Lines of a change that stay in sight while it is folded. */
const foldedChange = 16
/** How much of the streaming output is kept; all of it comes with the result. */
const keptCharacters = 200_000

export class ToolBlock extends Block {
  readonly #name: string
  readonly #input: unknown
  readonly #theme: Theme
  #state: 'running' | 'ok' | 'failed' = 'running'
  #output = ''

  constructor(name: string, input: unknown, folding: Folding, theme: Theme) {
    super(folding)
    this.#name = name
    this.#input = input
    this.#theme = theme
  }

  stream(chunk: string): void {
    this.#output = (this.#output + chunk).slice(-keptCharacters)
    this.invalidate()
  }

  end(output: unknown, isError: boolean): void {
    this.#output = outputText(output)
    this.#state = isError || failedCommand.test(this.#output) ? 'failed' : 'ok'
    this.invalidate()
  }

  protected draw(width: number, folded: boolean): string[] {
    const { dim, bold, good, bad, warn } = this.#theme
    const output = sanitise(this.#output).trimEnd()
    const lines = output === '' ? [] : output.split('\n')
    const mark = { running: warn('◌'), ok: good('●'), failed: bad('●') }[this.#state]
    const total = linesOf(lines)
    const count = total === undefined ? '' : ` · ${total} ${total === '1' ? 'line' : 'lines'}`
    const what = gist(this.#input)
    // The reason of a failure is worth more than the length of its output.
    const how = this.#state === 'failed' ? ` · ${failureIn(lines)}` : count
    const room = Math.max(8, width - 3 - this.#name.length - Math.min(visibleWidth(how), Math.floor(width / 2)))
    const about = `${mark} ${bold(sanitise(this.#name))} ${truncateToWidth(what, room, '…')}`
    const head = truncateToWidth(`${about}${dim(how)}`, width, '…')
    const change = this.#state === 'ok' ? this.#change(width, folded) : []
    if (folded && this.#state === 'running')
      return [head, ...lines.slice(-liveLines).flatMap((line) => hanging(line, '  ', width, dim).slice(-2))]
    if (folded) return [head, ...change]
    const shown = lines.slice(0, shownLines).flatMap((line) => hanging(line, '  ', width, dim))
    const left = lines.length - shownLines
    const more = left > 0 ? [dim(truncateToWidth(`  … ${left} more lines`, width, '…'))] : []
    return [head, ...change, ...shown, ...more]
  }

  /** What an edit has changed, as lines taken out and put in. */
  #change(width: number, folded: boolean): string[] {
    const { good, bad, dim } = this.#theme
    const changed = changeIn(this.#name, this.#input)
    const lines = [
      ...changed.before.map((line) => ({ line, mark: bad('  - '), paint: bad })),
      ...changed.after.map((line) => ({ line, mark: good('  + '), paint: good })),
    ]
    const shown = folded ? lines.slice(0, foldedChange) : lines.slice(0, shownLines)
    const left = lines.length - shown.length
    return [
      ...shown.flatMap(({ line, mark, paint }) => hanging(sanitise(line), mark, width, paint)),
      ...(left > 0
        ? [dim(truncateToWidth(`  … ${left} more lines${folded ? ' (ctrl+o shows them)' : ''}`, width, '…'))]
        : []),
    ]
  }
}

/** The lines that an edit took out and put in, without those at both ends that stayed; of a file that was written, its text. */
function changeIn(name: string, input: unknown): { before: string[]; after: string[] } {
  const fields = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
  const { old_string: old, new_string: fresh, content } = fields
  if (name === 'fs.write' && typeof content === 'string')
    return { before: [], after: content.replace(/\n$/, '').split('\n') }
  if (name !== 'fs.edit' || typeof old !== 'string' || typeof fresh !== 'string') return { before: [], after: [] }
  const before = old.split('\n')
  const after = fresh.split('\n')
  while (before.length > 0 && after.length > 0 && before[0] === after[0]) {
    before.shift()
    after.shift()
  }
  while (before.length > 0 && after.length > 0 && before.at(-1) === after.at(-1)) {
    before.pop()
    after.pop()
  }
  return { before, after }
}

/** How many lines the output has; unknown where its middle was left out. */
function linesOf(lines: readonly string[]): string | undefined {
  if (lines.length === 0) return undefined
  const isCommand = lines[0]!.startsWith('Exit code: ')
  if (lines.some((line) => /^\[… \d+ of \d+ bytes left out; /.test(line))) return `more than ${lines.length}`
  return String(isCommand ? Math.max(0, lines.length - (lines[3] === '(no output)' ? 4 : 3)) : lines.length)
}

/** How `bash` begins the result of a command that failed. To the model it is a result like any other. */
const failedCommand = /^Exit code: (?!0\n)(?:(\d+)|none \((\w+)\))\nWall time: .*\nOutput:(?:\n|$)/

/** The error in a few words: tools begin with the reason, commands end with it. */
function failureIn(lines: readonly string[]): string {
  const [, code, signal] = failedCommand.exec(lines.slice(0, 4).join('\n')) ?? []
  if (code === undefined && signal === undefined) return lines.length === 0 ? 'failed' : `failed: ${lines[0]!.trim()}`
  const said = lines.slice(3).filter((line) => line.trim() !== '' && !/^npm (?:notice|warn)/i.test(line))
  const last = said.findLast((line) => /error|fail|cannot|not found|denied/i.test(line)) ?? said.at(-1)
  return `${code === undefined ? `ended by ${signal}` : `exit ${code}`}${last === undefined ? '' : `: ${last.trim()}`}`
}

const telling = ['command', 'path', 'pattern', 'query', 'text', 'name', 'prompt', 'sha256']

/** What a call is about, in one line: the argument that says it, else all of them. */
export function gist(input: unknown): string {
  const fields = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
  const found = telling.map((field) => fields[field]).find((value) => typeof value === 'string' && value !== '')
  const text = typeof found === 'string' ? found : Object.keys(fields).length === 0 ? '' : JSON.stringify(input)
  return sanitise(text).replaceAll(/\s+/g, ' ').trim()
}
