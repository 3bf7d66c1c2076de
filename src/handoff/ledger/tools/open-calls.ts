// Calls that have no result yet. A call is booked when its result arrives; until then it is in flight.

import type { InFlight } from '../facts.ts'
import type { Script } from '../shell/shell-book.ts'
import { line, type Call } from './tool-calls.ts'

export interface OpenCall {
  readonly id: number
  readonly callId: string
  readonly name: string
  readonly call: Call
  /** A subagent made it. */
  readonly aside: boolean
  /** It is not about the work. */
  readonly beside?: boolean
  readonly script?: Script
}

/** Entries that tell how much a call without a result still matters. */
export interface Standpoint {
  /** The user's message before the last one: what was cut off before it is of no concern any more. */
  readonly settledId: number
  /** The user's last message. */
  readonly answeredId: number
  readonly lastSpokenId: number
  /** Where a supervisor last interrupted the agent. */
  readonly cutId: number
}

export class OpenCalls {
  readonly #calls = new Map<string, OpenCall[]>()
  /** Calls without a result that only wrap others. */
  readonly #wrapping = new Map<string, { readonly id: number; readonly name: string; readonly what: string }>()

  add(call: OpenCall): void {
    const queue = this.#calls.get(call.callId)
    if (queue) queue.push(call)
    else this.#calls.set(call.callId, [call])
  }

  /** What a call that only wraps others did is told by those; until they are told, it is all that is known. */
  addWrapping(callId: string, name: string, wraps: unknown, id: number): void {
    this.#wrapping.set(callId, { id, name, what: typeof wraps === 'string' ? line(wraps) : name })
  }

  /** The call that a result answers, which is open no longer. */
  answer(callId: string): OpenCall | undefined {
    this.#wrapping.delete(callId)
    const queue = this.#calls.get(callId)
    const call = queue?.shift()
    if (queue?.length === 0) this.#calls.delete(callId)
    return call
  }

  turnEnded(): void {
    this.#wrapping.clear()
  }

  /** The calls of the agent itself since that entry, for the work. */
  since(id: number): OpenCall[] {
    return [...this.#calls.values()].flat().filter((call) => !call.aside && call.beside !== true && call.id > id)
  }

  /** What the end of the work waits for. */
  waitedFor({ settledId, answeredId }: Standpoint): { id: number; what: string; isQuestion: boolean }[] {
    return [
      ...this.since(settledId).map(({ id, call, name }) => ({
        id,
        what: line(call.what || name),
        isQuestion: isAsking(call),
      })),
      ...[...this.#wrapping.values()].map(({ id, what }) => ({ id, what, isQuestion: false })),
    ].filter(({ id }) => id > answeredId)
  }

  inFlight({ settledId, answeredId, lastSpokenId, cutId }: Standpoint): InFlight[] {
    return [
      // A dialog that waits for the user is a question, unless the work went on without its answer.
      ...this.since(settledId)
        .filter(({ call, id }) => !isAsking(call) || id <= answeredId)
        .map(({ callId, name, call, id }) => ({
          callId,
          tool: name,
          what: line(call.what),
          id,
          interrupted: id < Math.max(lastSpokenId, cutId),
          ...(id < cutId && { by: 'baton' as const }),
        })),
      ...[...this.#wrapping]
        .filter(([, { id }]) => id > settledId)
        .map(([callId, { name, what, id }]) => ({ callId, tool: name, what, id, interrupted: id < lastSpokenId })),
    ]
  }
}

function isAsking({ kind }: Call): boolean {
  return kind === 'questions' || kind === 'plan'
}
