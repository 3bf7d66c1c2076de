// The facts of a stretch of tape, all of one kind: what a handoff document had no room for.

import type { Entry } from '../store/index.ts'
import type { Ledger } from '../handoff/ledger/facts.ts'
import { ledger } from '../handoff/ledger/ledger.ts'
import type { Output } from './output.ts'

export const factKinds = ['files', 'commands', 'failures', 'todos', 'instructions', 'decisions'] as const

export type FactKind = (typeof factKinds)[number]

export async function showFacts(entries: AsyncIterable<Entry>, kind: FactKind, out: Output): Promise<void> {
  const found = await ledger(entries)
  if (out.json) for (const fact of found[kind]) out.data(fact)
  else if (found[kind].length === 0) out.note(`No ${kind} here.`)
  else for (const line of lines[kind](found)) out.line(line)
}

const lines: Record<FactKind, (found: Ledger) => string[]> = {
  files: ({ files }) =>
    files.map((file) => {
      const counts = file.added === undefined ? '' : ` +${file.added} -${file.removed ?? 0}`
      const from = file.from === undefined ? '' : ` from ${file.from}`
      const state = file.state === 'undone' || file.state === 'scratch' ? ` (${file.state})` : ''
      return `${file.action} ${file.path}${from}${counts}${state}${at(file.lastId)}`
    }),
  commands: ({ commands }) =>
    commands.map((each) => {
      const verdict =
        each.ok === undefined ? 'unknown' : each.ok ? 'ok' : `failed${each.exit === undefined ? '' : ` (${each.exit})`}`
      return `${verdict}, ${each.times}x: ${each.command}${at(each.lastId)}`
    }),
  failures: ({ failures }) =>
    failures.map((each) => {
      const state = each.resolvedBy === undefined ? 'open' : `resolved by #${each.resolvedBy}`
      return `${state}: ${each.what}: ${each.message}${at(each.lastId)}`
    }),
  todos: ({ todos }) => todos.map((todo) => `${todo.status}: ${todo.text}${at(todo.id)}`),
  instructions: ({ instructions }) =>
    instructions.map((each) => {
      const over = each.supersededBy === undefined ? '' : ` (superseded by #${each.supersededBy})`
      return `#${each.id} ${each.kind}${over}: ${each.text}`
    }),
  decisions: ({ decisions }) =>
    decisions.map((each) => `${each.text}${each.why === undefined ? '' : `; why: ${each.why}`}${at(each.id)}`),
}

function at(id: number | undefined): string {
  return id === undefined ? '' : ` #${id}`
}
