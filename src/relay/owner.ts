// Who has a trace. Every call is a frame; the newest whose call is still open has it. A call that was answered gives the
// trace back to its caller, unless control was passed and the target took it.

import { ConflictError, InvalidError, NotFoundError } from '../errors.ts'
import { checked } from '../config/checked.ts'
import type { Desk } from './desk.ts'
import type { Owner } from './outcome.ts'
import type { Fact } from './record.ts'
import { checkAgent } from './routes.ts'
import { human, requestSchema } from './schema.ts'
import { bounded, type Frame } from './trace.ts'
import type { TraceHead, Traces } from './traces.ts'

/** The trace went on while its frames were looked at: they are looked at again. */
const moved = new Error('The trace has moved on')

export class Owners {
  readonly #desk: Desk
  readonly #traces: Traces

  constructor(desk: Desk, traces: Traces) {
    this.#desk = desk
    this.#traces = traces
  }

  async owner(traceId: string): Promise<Owner> {
    const id = parseTraceId(traceId)
    const { entry, state } = await this.#traces.head(id)
    if (entry === 0) throw unknownTrace(id)
    return ownerOf(id, await this.#live(state.frames))
  }

  /** Gives a trace to another agent for good; only its owner can. */
  async pass(traceId: string, { from, to, reason }: { from: string; to: string; reason: string }): Promise<Owner> {
    checkAgent(this.#desk.settings, from, 'from')
    if (to !== human) checkAgent(this.#desk.settings, to, 'to')
    return this.#change(traceId, from, reason, (frames) => [...frames, { agent: to, mode: 'pass_control' }])
  }

  /** Gives a trace back to whoever called; only its owner can. */
  async giveBack(traceId: string, { from, reason }: { from: string; reason: string }): Promise<Owner> {
    checkAgent(this.#desk.settings, from, 'from')
    return this.#change(traceId, from, reason, (frames) => {
      if (frames.length > 1) return frames.slice(0, -1)
      throw new InvalidError(`${from} was not called by anyone, so there is no one to return to`, { path: 'from' })
    })
  }

  async #change(
    traceId: string,
    from: string,
    reason: string,
    next: (frames: readonly Frame[]) => readonly Frame[],
  ): Promise<Owner> {
    const id = parseTraceId(traceId)
    for (;;) {
      const head = await this.#traces.head(id)
      if (head.entry === 0) throw unknownTrace(id)
      const live = await this.#live(head.state.frames)
      const { agent } = ownerOf(id, live)
      if (agent !== from) {
        throw new ConflictError(`Trace ${id} is ${agent}'s, not ${from}'s`, { actual: head.entry })
      }
      const frames = bounded(next(live))
      const owner = ownerOf(id, frames)
      const write = ({ entry, state }: TraceHead): Fact[] => {
        if (entry !== head.entry) throw moved
        return [{ type: 'owner', traceId: id, owner: owner.agent, reason, trace: { ...state, frames }, prev: entry }]
      }
      try {
        await this.#traces.update(id, write)
        return owner
      } catch (error) {
        if (error !== moved) throw error
      }
    }
  }

  /** The frames whose calls are still open, with the one who began. */
  async #live(frames: readonly Frame[]): Promise<readonly Frame[]> {
    const open = (await this.#desk.journal.current()).open
    const live = [...frames]
    while (live.length > 1 && (await this.#isOver(live.at(-1)!, open))) live.pop()
    return live
  }

  async #isOver({ requestId, mode }: Frame, open: ReadonlyMap<string, unknown>): Promise<boolean> {
    if (requestId === undefined || open.has(requestId)) return false
    const newest = (await this.#desk.journal.newestOf(requestId))?.fact
    if (newest?.type !== 'answered') return false
    return mode === 'return_to_caller' || newest.response.status === 'failed'
  }
}

function ownerOf(traceId: string, frames: readonly Frame[]): Owner {
  const { agent, mode, requestId } = frames.at(-1)!
  const caller = frames.at(-2)?.agent
  return {
    traceId,
    agent,
    ...(mode === undefined ? {} : { mode }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(mode === 'return_to_caller' && caller !== undefined ? { returnsTo: caller } : {}),
  }
}

export function parseTraceId(traceId: string): string {
  return checked(requestSchema.shape.traceId, traceId, 'traceId')
}

function unknownTrace(traceId: string): NotFoundError {
  return new NotFoundError(`There is no trace ${traceId} in this workspace`)
}
