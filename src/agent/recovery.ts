// After a crash: the turn that was cut is closed on the tape, not repeated. Calls without a result get one that says so:
// whether they took effect is for the model to look up, never for us to guess.

import { BatonError } from '../errors.ts'
import type { Draft, Entry } from '../store/index.ts'
import type { Tape, ToolCall, ToolResult } from '../tape/index.ts'
import type { Holder } from './holder.ts'
import { unfinishedSpeech } from './speech.ts'
import { partialDraft } from './steps.ts'
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
  const entries = await entriesOf(tape, open)
  const calls = unanswered(entries)
  const results = calls.map(({ id, name }): ToolResult => ({ call_id: id, name, output: crashed, is_error: true }))
  const meta = { run_id: open.runId }
  const owed: Draft[] = results.length === 0 ? [] : [{ kind: 'tool_result', payload: { results }, meta }]
  const said = unfinishedSpeech(entries)
  if (said.trim() !== '') owed.push(partialDraft(said, open.runId))
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

async function entriesOf(tape: Tape, { since }: OpenTurn): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of tape.entries({ after: since, kinds: ['tool_call', 'tool_result', 'event'] })) {
    entries.push(entry)
  }
  return entries
}

function unanswered(entries: readonly Entry[]): ToolCall[] {
  const calls = new Map<string, ToolCall>()
  for (const { payload } of entries) {
    const { calls: made = [], results = [] } = payload as { calls?: ToolCall[]; results?: ToolResult[] }
    for (const call of made) calls.set(call.id, call)
    for (const result of results) calls.delete(result.call_id)
  }
  return [...calls.values()]
}
