// What the CLI prints: JSON for programs, aligned columns for people, colours only on a terminal.

import { styleText } from 'node:util'

export interface Globals {
  workspace?: string
  store?: string
  json?: boolean
  quiet?: boolean
  /** Set to false by `--no-color`. */
  color?: boolean
}

type Style = Parameters<typeof styleText>[0]

export class Output {
  readonly json: boolean
  readonly #quiet: boolean
  readonly #color: boolean

  constructor(globals: Globals) {
    this.json = globals.json === true
    this.#quiet = globals.quiet === true
    const plain = globals.color === false || (process.env.NO_COLOR ?? '') !== ''
    this.#color = !plain && process.stdout.isTTY
  }

  /** A record for programs, one line each. */
  data(value: unknown): void {
    write(`${JSON.stringify(value)}\n`)
  }

  /** What was asked for, for people. */
  line(text = ''): void {
    write(`${text}\n`)
  }

  /** A remark beside the answer; `--quiet` and `--json` leave it out. */
  note(text: string): void {
    if (!this.#quiet && !this.json) write(`${text}\n`)
  }

  /** Something the reader must know; never on stdout, where the data is. */
  warn(text: string): void {
    process.stderr.write(`${text}\n`)
  }

  style(style: Style, text: string): string {
    return this.#color ? styleText(style, text) : text
  }

  table(rows: readonly (readonly string[])[], right: readonly number[] = []): void {
    const widths: number[] = []
    for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, width(cell))))
    rows.forEach((row, n) => {
      const cells = row.map((cell, i) => {
        const pad = ' '.repeat(widths[i]! - width(cell))
        return right.includes(i) ? pad + cell : i === row.length - 1 ? cell : cell + pad
      })
      const text = cells.join('  ').trimEnd()
      this.line(n === 0 ? this.style('dim', text) : text)
    })
  }
}

/** A reader that has seen enough (`| head`) closes the pipe: that is no failure of ours. */
export function endQuietlyWithoutReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

function write(text: string): void {
  process.stdout.write(text)
}

/** Columns on a terminal: wide characters take two. */
export function width(text: string): number {
  let columns = 0
  for (const character of text) {
    const code = character.codePointAt(0)!
    const wide =
      (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) || (code >= 0xac00 && code <= 0xd7a3)
    const fullwidth =
      (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60)
    columns += wide || fullwidth || code >= 0x1f300 ? 2 : 1
  }
  return columns
}

export function age(date: string | undefined, now = Date.now()): string {
  if (date === undefined) return ''
  const seconds = Math.round((now - Date.parse(date)) / 1000)
  if (seconds < 0) return 'in the future'
  for (const [unit, size] of [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
  ] as const) {
    if (seconds >= size) return `${Math.floor(seconds / size)}${unit} ago`
  }
  return seconds < 5 ? 'now' : `${seconds}s ago`
}

/** Grouped by hand: loading a locale would take longer than the command. */
export function count(n: number): string {
  return String(n).replaceAll(/\B(?=(\d{3})+$)/g, ',')
}

export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes / 1_000
  let unit = 0
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1_000
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`
}

/** One line of a text, as much of it as fits. */
export function brief(text: string, columns: number): string {
  const flat = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
  if (width(flat) <= columns) return flat
  let cut = ''
  for (const character of flat) {
    if (width(cut + character) > columns - 1) break
    cut += character
  }
  return `${cut}…`
}
