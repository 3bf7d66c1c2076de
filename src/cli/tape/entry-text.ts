// One entry in full, for people: what was said, called and answered as text with its own line breaks, and everything else as fields.

import type { Entry } from '../../store/index.ts'
import { type Item, itemsOf, outputText, pieceText } from '../../tape/index.ts'
import { sanitise } from '../chat/sanitise.ts'

/** Nothing of it is left out; `--json` shows how it is stored. */
export function entryText(entry: Entry): string {
  return sanitise(linesOf(entry).join('\n'))
}

function linesOf(entry: Entry): string[] {
  const payload = entry.payload as Record<string, unknown> | null
  switch (entry.kind) {
    case 'anchor':
      return [`anchor ${entry.payload.name}`, ...fields(without(payload, 'name'), 1)]
    case 'event':
      return [`event ${entry.payload.name}`, ...fields(payload?.data, 1)]
    case 'error':
      return [
        `error ${entry.payload.kind}: ${entry.payload.message}`,
        ...fields(without(payload, 'kind', 'message'), 1),
      ]
    default: {
      const items = itemsOf({ ...entry, meta: {} })
      return items.length > 0 ? items.flatMap(itemLines) : fields(payload, 0)
    }
  }
}

function itemLines(item: Item): string[] {
  if (item.type === 'calls') return item.calls.flatMap((call) => [`call ${call.name}`, ...fields(call.arguments, 1)])
  if (item.type === 'results') {
    return item.results.flatMap((result) => [
      `${result.name === '' ? 'result' : `result of ${result.name}`}${result.isError ? ', failed' : ''}:`,
      outputText(result.output),
    ])
  }
  return [`${item.type}:`, item.pieces.map(pieceText).join('\n')]
}

function without(payload: Record<string, unknown> | null, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(payload ?? {}).filter(([name]) => !names.includes(name)))
}

/** `name: value`, one a line; what has fields or lines of its own follows below its name, further to the right. */
function fields(value: unknown, depth: number): string[] {
  const indent = '  '.repeat(depth)
  if (Array.isArray(value)) return value.flatMap((each: unknown) => field('-', each, depth))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, each]) => field(`${name}:`, each, depth))
  return value === undefined ? [] : scalar(value).map((line) => `${indent}${line}`)
}

function field(name: string, value: unknown, depth: number): string[] {
  const indent = '  '.repeat(depth)
  if (value === undefined) return []
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
  if (isEmpty) return [`${indent}${name} ${JSON.stringify(value)}`]
  if (typeof value === 'object' && value !== null) return [`${indent}${name}`, ...fields(value, depth + 1)]
  const [first = '', ...more] = scalar(value)
  return more.length === 0 ? [`${indent}${name} ${first}`] : [`${indent}${name}`, ...fields(value, depth + 1)]
}

function scalar(value: unknown): string[] {
  return typeof value === 'string' ? value.split('\n') : [JSON.stringify(value)]
}
