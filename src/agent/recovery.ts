// After a crash: the turn that was cut is closed on the tape, not repeated. Calls without a result get one that says so:
// whether they took effect is for the model to look up, never for us to guess.

import { BatonError } from '../errors.ts'
import type { Draft } from '../store/index.ts'
import type { Tape, ToolCall, ToolResult } from '../tape/index.ts'
import type { Holder } from './holder.ts'
import { closeTurn, isHeld, type OpenTurn, openTurn } from './turn.ts'

export interface Recovered {
  /** The last anchor and its state: where the work stands. */
  readonly anchor: string
  readonly state: unknown
  /** The names of the calls that were cut. */
  readonly closed: readonly string[]
}

const crashed =
  'interrupted: the process ended while this ran. It may have taken effect in part; look before you run it again.'

/** Undefined if there was nothing to close, or if the turn belongs to a process that lives. */
export async function recover(tape: Tape, me: Holder, now: Date): Promise<Recovered | undefined> {
  const open = await openTurn(tape)
  if (open === undefined || (await isHeld(tape, open, me, now))) return undefined
  const calls = await unanswered(tape, open)
  const results = calls.map(({ id, name }): ToolResult => ({ call_id: id, name, output: crashed, is_error: true }))
  const meta = { run_id: open.runId }
  const owed: Draft[] = results.length === 0 ? [] : [{ kind: 'tool_result', payload: { results }, meta }]
  try {
    await closeTurn(tape, open, owed)
  } catch (error) {
    // Another process was faster.
    if (BatonError.is(error) && error.code === 'conflict') return undefined
    throw error
  }
  const [anchor] = await tape.anchors({ limit: 1 })
  return { anchor: anchor?.name ?? '', state: anchor?.state ?? {}, closed: calls.map(({ name }) => name) }
}

async function unanswered(tape: Tape, open: OpenTurn): Promise<ToolCall[]> {
  const calls = new Map<string, ToolCall>()
  for await (const entry of tape.entries({ after: open.since, kinds: ['tool_call', 'tool_result'] })) {
    const { calls: made = [], results = [] } = entry.payload as { calls?: ToolCall[]; results?: ToolResult[] }
    for (const call of made) calls.set(call.id, call)
    for (const result of results) calls.delete(result.call_id)
  }
  return [...calls.values()]
}
