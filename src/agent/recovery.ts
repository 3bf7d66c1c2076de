// After a crash, the turn that was cut short is closed on the tape, not repeated. Calls without a result get one that says so:
// the model has to find out whether they took effect, Baton never guesses.

import * as z from 'zod'
import { BatonError } from '../errors.ts'
import type { Draft, Entry } from '../store/index.ts'
import { type Tape, type ToolCall, type ToolResult, usageKey } from '../tape/index.ts'
import { type Holder, killTree, markVariable } from '../system/index.ts'
import { callMark, strayNames } from './tools/bash.ts'
import { closeTurn, isHeld, openTurn, type OpenTurn } from './turn.ts'
import type { AgentEvent } from './event.ts'

export interface Recovered {
  /** The last anchor and its state: where the work stands. */
  readonly anchor: string
  readonly state: unknown
  /** The names of the calls that got the result `interrupted`. */
  readonly closed: readonly string[]
  /** The processes of those calls that were still running, and were ended now. */
  readonly ended: readonly string[]
}

const crashed =
  'interrupted: the process ended while this ran. It may have taken effect in part; look before you run it again.'

/** A command outlives a process that is killed; its call is over, so it ends here. */
async function endOrphans(runId: string, calls: readonly ToolCall[]): Promise<Map<string, string>> {
  const ended = new Map<string, string>()
  for (const { id } of calls) {
    const mark = callMark(runId, id)
    // Whoever was started by that very command must not end it.
    if (process.env[markVariable]?.includes(mark) === true) continue
    const { found, alive } = await killTree(undefined, mark)
    const gone = found.filter(({ pid }) => !alive.some((each) => each.pid === pid))
    const said = [
      ...(gone.length > 0 ? [`was still running and was ended now: ${strayNames(gone)}`] : []),
      ...(alive.length > 0 ? [`is still running and could not be ended: ${strayNames(alive)}`] : []),
    ]
    if (said.length > 0) ended.set(id, said.join('; '))
  }
  return ended
}

/** Undefined if there was nothing to close, or if the turn belongs to a process that lives. */
export async function recover(tape: Tape, me: Holder, now: Date): Promise<Recovered | undefined> {
  const open = await openTurn(tape)
  if (open === undefined || (await isHeld(tape, open, me, now))) return undefined
  const entries = await entriesOf(tape, open)
  const calls = unanswered(entries)
  const ended = await endOrphans(open.runId, calls)
  const results = calls.map(({ id, name }): ToolResult => {
    const output = ended.has(id) ? `${crashed} Its command ${ended.get(id)}.` : crashed
    return { call_id: id, name, output, is_error: true }
  })
  const meta = { run_id: open.runId }
  const owed: Draft[] = results.length === 0 ? [] : [{ kind: 'tool_result', payload: { results }, meta }]
  const said = unfinishedAnswer(entries)
  if (said.trim() !== '') owed.push(partialDraft(said, open.runId))
  try {
    await closeTurn(tape, open, owed)
  } catch (error) {
    // Another process was faster.
    if (BatonError.is(error) && error.code === 'conflict') return undefined
    throw error
  }
  const [anchor] = await tape.anchors({ limit: 1 })
  return {
    anchor: anchor?.name ?? '',
    state: anchor === undefined ? {} : anchor.state,
    closed: calls.map(({ name }) => name),
    ended: [...ended.values()],
  }
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

const noteMs = 2_000
const partialKey = 'speaking'
const noteSchema = z.object({ from: z.number(), text: z.string() })

/**
 * The model's answer while it is still streaming. It becomes a message when it is complete; until then, its text so far is saved on the
 * tape every few seconds, as events that never appear in a context. A process that dies loses no more than those seconds.
 */
export class PartialAnswer {
  readonly #tape: Tape
  readonly #runId: string
  #text = ''
  #noted = 0
  #timer: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(tape: Tape, runId: string) {
    this.#tape = tape
    this.#runId = runId
  }

  hear(event: AgentEvent): void {
    if (event.type === 'text') {
      this.#text += event.delta
      this.#timer ??= setTimeout(() => this.#note(), noteMs).unref()
    } else if (event.type === 'retry') {
      // The call is made again: its text so far is void, and the next note replaces the earlier ones.
      this.#text = ''
      this.#noted = 0
    }
  }

  /** Resolves when no note is being written any more, because none may follow the complete answer. */
  async end(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#last
  }

  #note(): void {
    this.#timer = undefined
    const data = { from: this.#noted, text: this.#text.slice(this.#noted) }
    if (data.text === '') return
    this.#noted = this.#text.length
    const meta = { key: partialKey, context: false, run_id: this.#runId }
    // A disk that refuses this note will refuse the answer too, and that failure is reported.
    const noted = this.#tape.append([{ kind: 'event', payload: { name: partialKey, data }, meta }]).catch(() => {})
    this.#last = Promise.all([this.#last, noted])
  }
}

/** The text of an answer that was streaming when these entries of a turn end: all notes since the last complete answer. */
function unfinishedAnswer(entries: readonly Entry[]): string {
  let text = ''
  for (const { meta, payload } of entries) {
    if (meta.key === usageKey) text = ''
    const note = meta.key === partialKey ? noteSchema.safeParse((payload as { data?: unknown }).data).data : undefined
    if (note !== undefined) text = text.slice(0, note.from) + note.text
  }
  return text
}

/** The message for an answer that was cut short. */
export function partialDraft(content: string, runId: string): Draft {
  return { kind: 'message', payload: { role: 'assistant', content }, meta: { run_id: runId, partial: true } }
}
