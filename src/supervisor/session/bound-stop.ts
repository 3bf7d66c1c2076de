// How a run ends at a bound without losing what a command prints. A command that runs at that moment may end first, for a
// while; then it is interrupted, so that the agent writes down what there was. Nothing else is begun meanwhile.

import { mayRunCommand, type Observation } from '../observe/observation.ts'
import type { Ended } from '../run.ts'

export type Bound = Extract<Ended, { why: 'bound' }>

type BoundStep =
  /** Look again then, at the latest. */
  { readonly do: 'wait' | 'interrupt'; readonly until: number } | { readonly do: 'end'; readonly ended: Bound }

interface BoundStopRules {
  /** Whether the agent's transcript shows a call before it has ended. */
  readonly callsShow: boolean
  /** How long a command may take to end. */
  readonly commandMs: number
}

/** A reply is written in several lines: its call may come after the reading that reached the bound. */
const replyMs = 1_000
/** How long a turn may take to end after an interrupt. */
const interruptMs = 5_000

export class BoundStop {
  #reached: { readonly bound: Bound; readonly at: number } | undefined
  #hasWaited = false
  #interrupted: number | undefined

  /** The bound that was reached: it counts even if what was waited for makes it look different. */
  get bound(): Bound | undefined {
    return this.#reached?.bound
  }

  step(reached: Bound, observation: Observation, { callsShow, commandMs }: BoundStopRules, now: number): BoundStep {
    const { bound, at } = (this.#reached ??= { bound: reached, at: now })
    const { alive, turn, dialog, state } = observation
    const isAtWork = alive && (turn === 'asked' || turn === 'working') && state.state !== 'limited'
    if (!isAtWork || dialog !== undefined) return this.#end(bound, commandMs)
    if (this.#interrupted !== undefined) {
      const until = this.#interrupted + interruptMs
      return now < until ? { do: 'wait', until } : this.#end(bound, commandMs)
    }
    if (mayRunCommand(observation, callsShow, at)) {
      this.#hasWaited = true
      if (now < at + commandMs) return { do: 'wait', until: at + commandMs }
      this.#interrupted = now
      return { do: 'interrupt', until: now + interruptMs }
    }
    return this.#hasWaited || now >= at + replyMs ? this.#end(bound, commandMs) : { do: 'wait', until: at + replyMs }
  }

  #end(bound: Bound, commandMs: number): BoundStep {
    const seconds = Math.round(commandMs / 1000)
    const how =
      this.#interrupted !== undefined
        ? `; Baton interrupted a command that had not ended after ${seconds} more seconds`
        : this.#hasWaited
          ? '; Baton waited for the end of the command that was running'
          : ''
    return { do: 'end', ended: { ...bound, details: `${bound.details}${how}` } }
  }
}
