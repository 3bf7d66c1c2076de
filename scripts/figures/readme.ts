// The figures in the README: the few that say most, and how many targets were missed, taken from the same results as the page of
// figures, so that the two always agree.

import { figure } from './plot.ts'
import { type Results, resultsOf, targetsIn } from './page.ts'

const begin = '<!-- Figures, made by "npm run bench page": run a bench instead of changing them. -->'
const end = '<!-- End of the figures. -->'

/** The README with its figures made anew from the results in that folder. */
export function withFigures(readme: string, folder: string): string {
  const [before, rest] = readme.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`The README lacks "${begin}" … "${end}"`)
  return `${before}${begin}\n\n${figures(folder).join('\n')}\n\n${end}${after}`
}

function figures(folder: string): string[] {
  const [tape, fidelity, agent] = ['tape', 'fidelity', 'agent'].map((name) => resultsOf(folder, name))
  return [
    ...part(tape, (results) => [
      ...chosen(results, 'Append, messages a second', 'durable appends of 300-byte messages'),
      '',
      ...chosen(results, 'Context from a tape of so many entries', 'a context from a tape of so many entries', [
        'open',
        'context after the last anchor',
        "pi's SessionManager (no sync)",
        "LangGraph's SQLite checkpointer (WAL, no sync per commit)",
      ]),
    ]),
    ...part(fidelity, ({ tables: [facts] }) => {
      const documents = facts!.rows.filter(({ name }) => name.endsWith(' turns'))
      const worst = facts!.columns.map((_, at) => Math.min(...documents.map(({ values }) => values[at] ?? 0)))
      return table([
        ['share of known facts in the document (1.00 = an oracle that only lists facts)', ...facts!.columns],
        ['worst of six tool dialects, 20 to 5,000 turns', ...worst.map((value) => figure(value, '×'))],
      ])
    }),
    ...part(agent, (results) =>
      chosen(
        results,
        'A turn apart from its model, by messages kept',
        'agent overhead per turn, without model time, by messages kept',
      ),
    ),
    ...missed(folder),
  ]
}

function part(results: Results | undefined, lines: (results: Results) => string[]): string[] {
  if (results === undefined) return []
  return [
    ...lines(results),
    '',
    `Measured on ${results.date.slice(0, 10)} with \`npm run bench ${results.bench}\`.`,
    '',
  ]
}

/** Rows of a table of the results; all of them unless named. */
function chosen({ tables, bench }: Results, title: string, heading: string, names?: readonly string[]): string[] {
  const found = tables.find((each) => each.title === title)
  if (found === undefined) throw new Error(`The results of ${bench} have no table "${title}"`)
  const rows = found.rows.filter(({ name }) => names === undefined || names.includes(name))
  return table([
    [heading, ...found.columns],
    ...rows.map(({ name, unit, values }) => [name, ...found.columns.map((_, at) => figure(values[at], unit))]),
  ])
}

function missed(folder: string): string[] {
  const all = targetsIn(folder)
  const count = all.filter(({ ok }) => !ok).length
  const met = `${all.length - count} of ${all.length} targets are met.`
  if (count === 0) return [met]
  return [`${met} The ${count} that were missed [stand at the head of the page](docs/bench/figures.md#missed-targets).`]
}

/** Padded as the formatter of the repository pads tables. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)))
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`
  return [line(rows[0]!), line(widths.map((width) => '-'.repeat(width))), ...rows.slice(1).map(line)]
}
