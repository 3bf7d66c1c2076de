// What the CLI prints: JSON for programs, aligned columns for people, colours only on a terminal.

import { eastAsianWidth } from 'get-east-asian-width'
import { styleText } from 'node:util'
import { NotFoundError } from '../../errors.ts'
import type { Io } from './io.ts'

/** What every command is given beside its own options. */
export interface Globals {
  readonly io: Io
  workspace?: string
  store?: string
  json?: boolean
  quiet?: boolean
  /** Set to false by `--no-color`. */
  color?: boolean
}

type Style = Parameters<typeof styleText>[0]

/** How records are shown to people. */
type ListShape<T> = {
  /** Said instead of an empty list. */
  readonly none?: string
} & (
  | { readonly line: (record: T) => string }
  | {
      readonly line?: undefined
      readonly head: readonly string[]
      readonly row: (record: T) => readonly string[]
      /** The columns that are aligned to the right. */
      readonly right?: readonly number[]
    }
)

export class Output {
  readonly io: Io
  readonly json: boolean
  readonly #quiet: boolean
  readonly #color: boolean

  constructor(globals: Globals) {
    this.io = globals.io
    this.json = globals.json === true
    this.#quiet = globals.quiet === true
    this.#color = mayColor(globals) && (this.io.stdout.isTTY === true || isForced(this.io.env.FORCE_COLOR))
  }

  /** Prints a text as it is. */
  write(text: string): void {
    this.io.stdout.write(text)
  }

  /** Prints a record for programs, on one line. */
  data(value: unknown): void {
    this.write(`${JSON.stringify(value)}\n`)
  }

  /** Prints a line of the answer for people. */
  line(text = ''): void {
    this.write(`${text}\n`)
  }

  /** Prints a remark beside the answer, but not with `--quiet` or `--json`. */
  note(text: string | undefined): void {
    if (text !== undefined && !this.#quiet && !this.json) this.write(`${text}\n`)
  }

  /** Prints a warning, never on stdout, where the data is. */
  warn(text: string): void {
    this.io.stderr.write(`${text}\n`)
  }

  style(style: Style, text: string): string {
    return this.#color ? styleText(style, text, { validateStream: false }) : text
  }

  /** Prints a record for programs, or its text for people. */
  record(value: unknown, text: string | (() => string)): void {
    if (this.json) this.data(value)
    else this.line(typeof text === 'string' ? text : text())
  }

  /** Prints records for programs; for people a table or lines, or a remark if there are none. */
  list<T>(records: readonly T[], shape: ListShape<T>): void {
    if (this.json) for (const record of records) this.data(record)
    else if (records.length === 0) this.note(shape.none)
    else if (shape.line !== undefined) for (const record of records) this.line(shape.line(record))
    else this.table([shape.head, ...records.map((record) => shape.row(record))], shape.right)
  }

  /**
   * Columns side by side. On a terminal that is too narrow for them, cells of the widest columns continue below themselves, so that
   * nothing is cut and columns stay columns; in a pipe, a record is one line.
   */
  table(rows: readonly (readonly string[])[], right: readonly number[] = []): void {
    const natural: number[] = []
    for (const row of rows) row.forEach((cell, i) => (natural[i] = Math.max(natural[i] ?? 0, width(cell))))
    const widths = this.columns === undefined ? natural : fitted(natural, this.columns, right)
    rows.forEach((row, n) => {
      const cells = row.map((cell, i) => (width(cell) > widths[i]! ? wrapped(cell, widths[i]!) : [cell]))
      const height = Math.max(...cells.map((lines) => lines.length))
      for (let at = 0; at < height; at++) {
        const parts = cells.map((lines, i) => {
          const part = lines[at] ?? ''
          const pad = ' '.repeat(Math.max(0, widths[i]! - width(part)))
          return right.includes(i) ? pad + part : part + pad
        })
        const text = parts.join('  ').trimEnd()
        this.line(n === 0 ? this.style('dim', text) : text)
      }
    })
  }

  /** How wide the terminal is; undefined in a pipe. */
  get columns(): number | undefined {
    return this.io.stdout.isTTY === true ? this.io.stdout.columns : undefined
  }
}

/** Prints one of the JSON schemas that a noun has, by its name. */
export function printSchema<Name extends string>(
  globals: Globals,
  name: string,
  names: readonly Name[],
  schemaOf: (name: Name) => unknown,
): void {
  const known = names.find((each) => each === name)
  if (known === undefined) {
    throw new NotFoundError(`There is no schema "${name}"`, { hint: `There are ${names.join(', ')}.` })
  }
  const schema = schemaOf(known)
  new Output(globals).record(schema, () => JSON.stringify(schema, null, 2))
}

/** A column is made no narrower than this: words would fall apart. */
const leastWidth = 12

/** Takes room from the widest columns until all fit; numbers, which are aligned to the right, keep theirs. */
function fitted(natural: readonly number[], room: number, right: readonly number[]): number[] {
  const widths = [...natural]
  let over = widths.reduce((sum, each) => sum + each + 2, -2) - room
  for (; over > 0; over--) {
    const candidates = widths.flatMap((each, i) => (each > leastWidth && !right.includes(i) ? [i] : []))
    if (candidates.length === 0) return widths
    const widest = candidates.reduce((best, i) => (widths[i]! > widths[best]! ? i : best))
    widths[widest] = widths[widest]! - 1
  }
  return widths
}

/** The text in lines of at most so many columns, broken at spaces where there are some. */
function wrapped(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (width(longer) <= columns) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = ''
    for (const character of word) {
      if (width(line + character) > columns) {
        lines.push(line)
        line = ''
      }
      line += character
    }
  }
  return line === '' ? lines : [...lines, line]
}

/** Whether the person allows colours. */
export function mayColor({ color, io }: Globals): boolean {
  return color !== false && (io.env.NO_COLOR ?? '') === ''
}

/** Whoever sets FORCE_COLOR wants colours in a pipe, too. */
function isForced(value: string | undefined): boolean {
  return value !== undefined && value !== '0' && value !== 'false'
}

/** Columns on a terminal: wide characters take two. */
export function width(text: string): number {
  let columns = 0
  for (const character of text) columns += eastAsianWidth(character.codePointAt(0)!)
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

/** Groups digits by hand, because loading a locale would take longer than the command. */
export function count(n: number): string {
  return String(n).replaceAll(/\B(?=(\d{3})+$)/g, ',')
}

/** `1 tape`, `12 tapes`. */
export function many(n: number, what: string): string {
  return `${count(n)} ${what}${n === 1 ? '' : 's'}`
}

/** `1 entry`, `12 entries`. */
export function entryCount(n: number): string {
  return `${count(n)} ${n === 1 ? 'entry' : 'entries'}`
}

export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes / 1_000
  let unit = 0
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1_000
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`
}

/** Puts a text on one line and cuts it to that width. */
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
