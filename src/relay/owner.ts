// Who has a trace. Every call is a frame, for as long as it is open; with the answer the trace is the caller's again,
// unless control was passed and the target took it. A call only lends the trace; control that was passed is gone, and
// with it the right to ask in it. A trace with no call open, whose control was never passed, is at rest: the next to ask
// has it.

import { ConflictError, InvalidError, NotFoundError } from '../errors.ts'
import { checked } from '../config/checked.ts'
import type { Desk } from './desk.ts'
import type { Owner } from './outcome.ts'
import type { Fact } from './record.ts'
import { checkAgent, type Refusal } from './routes.ts'
import { type HandoffRequest, human, requestSchema } from './schema.ts'
import { bounded, type Frame } from './trace.ts'
import type { TraceHead, Traces } from './traces.ts'

/** The trace went on while its frames were looked at: they are looked at again. */
const moved = new Error('The trace has moved on')

export class Owners {
  readonly #desk: Desk
  readonly #traces: Traces
  readonly #sweep: () => Promise<void>

  /** `sweep` ends the requests whose time is up: they hold a trace no longer. */
  constructor(desk: Desk, traces: Traces, sweep: () => Promise<void>) {
    this.#desk = desk
    this.#traces = traces
    this.#sweep = sweep
  }

  async owner(traceId: string): Promise<Owner> {
    const id = parseTraceId(traceId)
    const { entry, state } = await this.#traces.head(id)
    if (entry === 0 || state.frames.length === 0) throw unknownTrace(id)
    return ownerOf(id, await this.live(state.frames, { swept: true }))
  }

  /** Gives a trace to another agent for good; only its owner can. */
  async pass(traceId: string, { from, to, reason }: { from: string; to: string; reason: string }): Promise<Owner> {
    checkAgent(this.#desk.settings, from, 'from')
    if (to !== human) checkAgent(this.#desk.settings, to, 'to')
    return this.#change(traceId, from, reason, (frames) => [...frames, { agent: to, by: from, mode: 'pass_control' }])
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
      if (head.entry === 0 || head.state.frames.length === 0) throw unknownTrace(id)
      const live = await this.live(head.state.frames, { swept: true })
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

  /** Those that still have something of the trace: the one who began, the open calls, and whoever was given control. */
  async live(frames: readonly Frame[], { swept = false } = {}): Promise<readonly Frame[]> {
    if (frames.length <= 1) return frames
    if (swept) await this.#sweep()
    const over = await Promise.all(frames.map((frame) => this.#isOver(frame)))
    return frames.filter((_, i) => !over[i])
  }

  async #isOver({ requestId, mode }: Frame): Promise<boolean> {
    if (requestId === undefined) return false
    const newest = (await this.#desk.journal.newestOf(requestId))?.fact
    if (newest?.type !== 'answered') return false
    return mode === 'return_to_caller' || newest.response.status === 'failed'
  }
}

/**
 * Why an agent cannot ask in a trace with these live frames; undefined where it can. A call that is open keeps nobody else
 * from asking, for the agents of a pipeline work side by side in one trace; control that was passed does.
 */
export function notOwner(frames: readonly Frame[], { sourceAgent }: HandoffRequest): Refusal | undefined {
  const passed = frames.findLastIndex(({ mode }) => mode === 'pass_control')
  if (passed < 0 || frames.some(({ agent }, i) => i >= passed && agent === sourceAgent)) return undefined
  const reason = `Control of the trace was passed to ${frames[passed]!.agent}, so ${sourceAgent} cannot hand over in it; a trace of its own is free`
  return { code: 'not_owner', reason }
}

function ownerOf(traceId: string, frames: readonly Frame[]): Owner {
  const { agent, by, mode, requestId } = frames.at(-1)!
  return {
    traceId,
    agent,
    ...(mode === undefined ? {} : { mode }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(mode === 'return_to_caller' && by !== undefined ? { returnsTo: by } : {}),
  }
}

export function parseTraceId(traceId: string): string {
  return checked(requestSchema.shape.traceId, traceId, 'traceId')
}

function unknownTrace(traceId: string): NotFoundError {
  return new NotFoundError(`There is no trace ${traceId} in this workspace, or nothing was handed over in it`)
}
