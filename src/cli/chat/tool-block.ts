// A tool call: one line that says what and how it went; its output unfolds below it.

import { truncateToWidth, visibleWidth } from '@earendil-works/pi-tui'
import { outputText } from '../../tape/pieces.ts'
import { Block, type Folding, hanging } from './blocks.ts'
import { neutral } from './neutral.ts'
import type { Theme } from './theme.ts'

const shownLines = 400
/** Of the output that streams in; the whole of it comes with the result. */
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
    const output = neutral(this.#output).trimEnd()
    const lines = output === '' ? [] : output.split('\n')
    const mark = { running: warn('◌'), ok: good('●'), failed: bad('●') }[this.#state]
    const count = lines.length === 0 ? '' : ` · ${lines.length} ${lines.length === 1 ? 'line' : 'lines'}`
    const what = gist(this.#input)
    // Why it failed is worth more than how much it said about it.
    const how = this.#state === 'failed' ? ` · ${failureIn(lines)}` : count
    const room = Math.max(8, width - 3 - this.#name.length - Math.min(visibleWidth(how), Math.floor(width / 2)))
    const about = `${mark} ${bold(neutral(this.#name))} ${truncateToWidth(what, room, '…')}`
    const head = truncateToWidth(`${about}${dim(how)}`, width, '…')
    if (folded) return [head]
    const shown = lines.slice(0, shownLines).flatMap((line) => hanging(line, '  ', width, dim))
    const left = lines.length - shownLines
    return left > 0 ? [head, ...shown, dim(truncateToWidth(`  … ${left} more lines`, width, '…'))] : [head, ...shown]
  }
}

/** How `bash` begins the result of a command that failed. To the model it is a result like any other. */
const failedCommand = /^Exit code: (?!0\n)(?:(\d+)|none \((\w+)\))\nWall time: .*\nOutput:(?:\n|$)/

/** In a few words: a tool says first why it gave up, a command last. */
function failureIn(lines: readonly string[]): string {
  const [, code, signal] = failedCommand.exec(lines.slice(0, 4).join('\n')) ?? []
  if (code === undefined && signal === undefined) return lines.length === 0 ? 'failed' : `failed: ${lines[0]!.trim()}`
  const last = lines.slice(3).findLast((line) => line.trim() !== '')
  return `${code === undefined ? `ended by ${signal}` : `exit ${code}`}${last === undefined ? '' : `: ${last.trim()}`}`
}

const telling = ['command', 'path', 'pattern', 'query', 'text', 'name', 'prompt', 'sha256']

/** What a call is about, in one line: the argument that says it, else all of them. */
export function gist(input: unknown): string {
  const fields = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
  const found = telling.map((field) => fields[field]).find((value) => typeof value === 'string' && value !== '')
  const text = typeof found === 'string' ? found : Object.keys(fields).length === 0 ? '' : JSON.stringify(input)
  return neutral(text).replaceAll(/\s+/g, ' ').trim()
}
