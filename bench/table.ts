// Results as people read them (plain or Markdown) and as they are kept: docs/bench/results, of which the page of figures is made.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export interface Section {
  readonly title: string
  readonly note: string
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
  readonly bars: readonly Bar[]
}

export interface Row {
  readonly name: string
  readonly unit: string
  /** One a column; undefined where it was not measured. */
  readonly values: readonly (number | undefined)[]
}

/** A promise about speed or size, and what this run says of it. */
export interface Bar {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly atLeast?: number
  readonly atMost?: number
}

export const isMet = ({ value, atLeast = -Infinity, atMost = Infinity }: Bar) => value >= atLeast && value <= atMost

export function machine(folder: string) {
  return {
    cpu: os.cpus()[0]?.model ?? 'unknown',
    cores: os.cpus().length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    node: process.version,
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    fileSystem: fileSystemOf(folder),
  }
}

function fileSystemOf(folder: string): string {
  try {
    const mounts = fs
      .readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
    const real = path.join(fs.realpathSync(folder), '/')
    const over = mounts.filter(([, at]) => at !== undefined && real.startsWith(path.join(at, '/')))
    return over.sort((a, b) => a[1]!.length - b[1]!.length).at(-1)?.[2] ?? 'unknown'
  } catch {
    return 'unknown' // no /proc on this system
  }
}

export function render(machineLine: string, sections: readonly Section[], markdown: boolean): string {
  const table = markdown ? markdownTable : plainTable
  const title = (text: string) => (markdown ? `**${text}**` : `${text}\n${'-'.repeat(text.length)}`)
  const parts = sections.flatMap(({ title: text, note, columns, rows }) => [
    title(text),
    note,
    table([
      ['', ...columns],
      ...rows.map(({ name, unit, values }) => [name, ...columns.map((_, i) => figure(values[i], unit))]),
    ]),
  ])
  const bars = sections.flatMap((section) => section.bars)
  const verdicts = bars.map((bar) => [bar.name, figure(bar.value, bar.unit), target(bar), isMet(bar) ? 'ok' : 'MISSED'])
  parts.push(title('Targets'), table([['', 'this run', 'target', ''], ...verdicts]), machineLine)
  return `${parts.join('\n\n')}\n`
}

/** Keeps the results of a full run. */
export function keepResults(name: string, folder: string, sections: readonly Section[], { quick = false } = {}): void {
  if (quick) return
  const bars = sections.flatMap((section) => section.bars.map((bar) => ({ ...bar, ok: isMet(bar) })))
  const tables = sections.map(({ title, note, columns, rows }) => ({ title, note, columns, rows }))
  const results = { bench: name, date: new Date().toISOString(), machine: machine(folder), bars, tables }
  const digits = (_key: string, value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
  const file = new URL(`../docs/bench/results/${name}.json`, import.meta.url)
  fs.writeFileSync(file, `${JSON.stringify(results, digits, 2)}\n`)
}

function target({ atLeast, atMost, unit }: Bar): string {
  return atLeast === undefined ? `≤ ${figure(atMost, unit)}` : `≥ ${figure(atLeast, unit)}`
}

function figure(value: number | undefined, unit: string): string {
  if (value === undefined) return ''
  if (unit === '×') return `${value.toFixed(2)} ×`
  const text = value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
  return `${text} ${unit}`
}

function plainTable(lines: readonly string[][]): string {
  const widths = lines[0]!.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)))
  const pad = (cell: string, i: number) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))
  return lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n')
}

function markdownTable([head, ...lines]: readonly string[][]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = head!.map((_, i) => (i === 0 ? '---' : '---:'))
  return [row(head!), row(rule), ...lines.map(row)].join('\n')
}
