// Who owns a trace. Every open request is a frame on the trace's stack. A request of mode `return_to_caller` only lends the
// trace: with the answer it belongs to the caller again. With `pass_control` the target keeps it, and other agents may no
// longer make requests in it. A trace with no open request, whose control was never passed, belongs to the next agent that
// makes one.

import { isDeepStrictEqual } from 'node:util'
import { ConflictError, InvalidError, NotFoundError } from '../../errors.ts'
import type { RelayContext } from '../context.ts'
import type { RelayEvent } from '../journal/events.ts'
import { checkAgent, type RequestRefusal } from './routes.ts'
import { type HandoffMode, type HandoffRequest, human, requestSchema } from '../schema.ts'
import { bounded, type Frame } from './trace-rules.ts'
import type { TraceHead, TraceLog } from './trace-log.ts'

/** The agent that owns a trace now. */
export interface Owner {
  readonly traceId: string
  readonly agent: string
  /** How the owner got it; undefined for the agent that began the trace. */
  readonly mode?: HandoffMode | undefined
  /** The agent that gets it back, when the owner was only called. */
  readonly returnsTo?: string | undefined
  readonly requestId?: string | undefined
}

/** Thrown when the trace has a newer state than the one whose frames were read; they are read again. */
const moved = new Error('The trace has moved on')

export class TraceOwners {
  readonly #context: RelayContext
  readonly #traces: TraceLog
  readonly #sweep: () => Promise<void>

  /** `sweep` ends overdue requests, which no longer hold a trace. */
  constructor(context: RelayContext, traces: TraceLog, sweep: () => Promise<void>) {
    this.#context = context
    this.#traces = traces
    this.#sweep = sweep
  }

  async owner(traceId: string): Promise<Owner> {
    const id = parseTraceId(traceId)
    const { state } = await this.#traces.head(id)
    if (state.frames.length === 0) throw unknownTrace(id)
    return ownerOf(id, await this.live(state.frames, { swept: true }))
  }

  /** Gives a trace to another agent for good; only its owner can. */
  async pass(traceId: string, { from, to, reason }: { from: string; to: string; reason: string }): Promise<Owner> {
    checkAgent(this.#context.settings, from, 'from')
    if (to !== human) checkAgent(this.#context.settings, to, 'to')
    return this.#change(traceId, from, reason, (frames) => [...frames, { agent: to, by: from, mode: 'pass_control' }])
  }

  /** Gives a trace back to the caller; only its owner can. */
  async giveBack(traceId: string, { from, reason }: { from: string; reason: string }): Promise<Owner> {
    checkAgent(this.#context.settings, from, 'from')
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
      if (head.state.frames.length === 0) throw unknownTrace(id)
      const live = await this.live(head.state.frames, { swept: true })
      const { agent } = ownerOf(id, live)
      if (agent !== from) {
        throw new ConflictError(`Trace ${id} is ${agent}'s, not ${from}'s`, { actual: head.entry })
      }
      const frames = bounded(next(live))
      const owner = ownerOf(id, frames)
      const write = ({ entry, state }: TraceHead): RelayEvent[] => {
        // Behind an archive only the state shows whether somebody was faster.
        if (entry !== head.entry || !isDeepStrictEqual(state, head.state)) throw moved
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

  /** The frames that still count: the agent that began, the open requests, and agents that control was passed to. */
  async live(frames: readonly Frame[], { swept = false } = {}): Promise<readonly Frame[]> {
    if (frames.length <= 1) return frames
    if (swept) await this.#sweep()
    const over = await Promise.all(frames.map((frame) => this.#isOver(frame)))
    return frames.filter((_, i) => !over[i])
  }

  async #isOver({ requestId, mode }: Frame): Promise<boolean> {
    if (requestId === undefined) return false
    const newest = (await this.#context.journal.newestOf(requestId))?.event
    if (newest?.type !== 'answered') return false
    return mode === 'return_to_caller' || newest.response.status === 'failed'
  }
}

/**
 * Why an agent cannot make requests in a trace with these live frames; undefined when it can. An open request does not prevent
 * others, because the agents of a pipeline work side by side in one trace; control that was passed does.
 */
export function notOwner(frames: readonly Frame[], { sourceAgent }: HandoffRequest): RequestRefusal | undefined {
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
  const { success, data } = requestSchema.shape.traceId.safeParse(traceId)
  if (success) return data
  throw new InvalidError(`"${traceId}" is not the id of a trace, and no trace begins like that`, {
    path: 'traceId',
    hint: '"baton relay history --json" has the ids of traces.',
  })
}

function unknownTrace(traceId: string): NotFoundError {
  return new NotFoundError(`There is no trace ${traceId} in this workspace, or nothing was handed over in it`)
}
