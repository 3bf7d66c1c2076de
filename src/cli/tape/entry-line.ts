// Entries as the commands print them: as they are for programs, in one line each for people.

import type { Entry } from '../../store/index.ts'
import { type Item, itemsOf, outputText, pieceText } from '../../tape/index.ts'
import { age, brief, type Output } from '../base/output.ts'

export function entryRow(entry: Entry, columns = 100): string[] {
  return [`#${entry.id}`, entry.kind, age(entry.date), brief(gist(entry), columns)]
}

export function printEntry(entry: Entry, out: Output): void {
  out.record(entry, () => entryLine(entry, out))
}

/** Has columns of fixed width, because a stream of entries cannot be measured ahead. */
export function entryLine(entry: Entry, out: Output, columns = textColumns(out)): string {
  const [id, kind, when, text] = entryRow(entry, columns) as [string, string, string, string]
  return `${id.padEnd(7)} ${out.style('cyan', kind.padEnd(11))} ${out.style('dim', when.padEnd(8))} ${text}`
}

/** What is left of the terminal beside the other columns. */
function textColumns(out: Output): number {
  return out.columns === undefined ? 100 : Math.max(20, out.columns - 29)
}

function gist(entry: Entry): string {
  const payload = entry.payload as Record<string, unknown> | null
  switch (entry.kind) {
    case 'anchor':
      return `${String(payload?.name)} ${JSON.stringify(payload?.state === undefined ? {} : payload.state)}`
    case 'event':
      return `${String(payload?.name)} ${JSON.stringify(payload?.data ?? {})}`
    case 'error':
      return `${String(payload?.kind)}: ${String(payload?.message)}`
    default: {
      const items = itemsOf({ ...entry, meta: {} })
      return items.length > 0 ? items.map(itemText).join(' ') : JSON.stringify(payload)
    }
  }
}

function itemText(item: Item): string {
  if (item.type === 'calls')
    return item.calls.map((call) => `${call.name} ${JSON.stringify(call.arguments)}`).join('; ')
  if (item.type === 'results') {
    return item.results
      .map((result) => `${result.name}${result.isError ? ' failed' : ''}: ${outputText(result.output)}`)
      .join('; ')
  }
  return `${item.type}: ${item.pieces.map(pieceText).join(' ')}`
}
