// Supervised sessions as rows for people: state, last cycle, and when to expect the next one.

import path from 'node:path'
import type { SessionRow } from '../../supervisor/index.ts'
import { percent, stateWord } from './event-lines.ts'
import { age, brief, type Output } from '../base/output.ts'
import { gauge } from '../sessions/table.ts'

export function supervisedRows(rows: readonly SessionRow[], out: Output, now: number): string[] {
  const cells = rows.map((row) => [
    row.name,
    row.agent,
    brief(path.basename(row.project), 20),
    row.step === undefined ? stateWord(row) : `${row.state}: ${brief(row.step, 40)}`,
    row.context_usage === undefined
      ? '?'
      : gauge({ tokens: row.tokens ?? 0, percent: row.context_usage * 100, quotas: [] }),
    row.lastCycle === undefined ? `${row.cycles}` : `${row.cycles}, ${age(row.lastCycle, now)}`,
    nextOf(row),
    row.usd === undefined ? '' : `$${row.usd.toFixed(2)}`,
  ])
  const head = ['SUPERVISED', 'AGENT', 'PROJECT', 'STATE', 'CONTEXT', 'CYCLES', 'NEXT', 'COST']
  const widths = head.map((title, i) => Math.max(title.length, ...cells.map((row) => row[i]!.length)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd()
  return [out.style('dim', line(head)), ...cells.map((row, i) => styled(line(row), rows[i]!, out))]
}

function styled(text: string, { state }: SessionRow, out: Output): string {
  if (state === 'dialog' || state === 'limited' || state === 'restarting') return out.style('yellow', text)
  return state === 'ended' ? out.style('dim', text) : text
}

/** Says when to expect the next cycle. */
function nextOf({ nextCycleTurns, threshold, state }: SessionRow): string {
  if (state === 'ended' || state === 'cycling') return ''
  if (nextCycleTurns !== undefined) return `~${nextCycleTurns} turn${nextCycleTurns === 1 ? '' : 's'}`
  return threshold === undefined ? '' : `at ${percent(threshold)}`
}
