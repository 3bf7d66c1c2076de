// What ends an unattended run: so many dollars, hours, cycles, turns, or minutes without a change; and how it ends then.

import { mayRunCommand, type Observation } from '../../observe/observation.ts'
import type { Ended } from '../../run.ts'
import type { Bounds } from '../../settings.ts'

export type Bound = Extract<Ended, { why: 'bound' }>

export interface Spent {
  /** In dollars; undefined: the agent does not tell. */
  readonly usd: number | undefined
  /** How long it has been open, in milliseconds. */
  readonly ms: number
  readonly cycles: number
  readonly turns: number
  /** When anything changed last. */
  readonly changedAt: number
}

export function boundReached(
  bounds: Bounds,
  { usd, ms, cycles, turns, changedAt }: Spent,
  now: number,
): Bound | undefined {
  const { maxUsd, maxHours, maxCycles, maxTurns, stallMinutes } = bounds
  if (maxUsd !== undefined && usd !== undefined && usd >= maxUsd) {
    return { why: 'bound', bound: 'usd', details: `$${usd.toFixed(2)} of $${maxUsd.toFixed(2)} spent` }
  }
  if (maxHours !== undefined && ms >= maxHours * 3_600_000) {
    return { why: 'bound', bound: 'hours', details: `${maxHours} hours have passed` }
  }
  if (maxCycles !== undefined && cycles >= maxCycles) {
    return { why: 'bound', bound: 'cycles', details: `${count(cycles, 'cycle')} done` }
  }
  if (maxTurns !== undefined && turns >= maxTurns) {
    return { why: 'bound', bound: 'turns', details: `${count(turns, 'turn')} done` }
  }
  if (stallMinutes !== undefined && now - changedAt >= stallMinutes * 60_000) {
    return { why: 'bound', bound: 'stalled', details: `nothing has changed for ${stallMinutes} minutes` }
  }
  return undefined
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}

/** When the next bound of time is reached; undefined: none. */
export function nextBound(
  { maxHours, stallMinutes }: Bounds,
  { ms, changedAt }: Spent,
  now: number,
): number | undefined {
  const times = [
    ...(maxHours === undefined ? [] : [now + maxHours * 3_600_000 - ms]),
    ...(stallMinutes === undefined ? [] : [changedAt + stallMinutes * 60_000]),
  ]
  return times.length === 0 ? undefined : Math.min(...times)
}

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
/** And after the result of one call, the next call of the same reply. A new reply takes longer: none is waited for. */
const nextCallMs = 200
/** How long a turn may take to end after an interrupt. */
const interruptMs = 5_000

/**
 * Ends a run at a bound without losing what a command prints. A command that runs at that moment may end first, for a while;
 * then it is interrupted, so that the agent writes down what there was. Nothing else is begun meanwhile.
 */
export class BoundStop {
  #reached: { readonly bound: Bound; readonly at: number } | undefined
  #hasWaited = false
  /** Since when no command runs. */
  #quietSince: number | undefined
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
      this.#quietSince = undefined
      if (now < at + commandMs) return { do: 'wait', until: at + commandMs }
      this.#interrupted = now
      return { do: 'interrupt', until: now + interruptMs }
    }
    this.#quietSince ??= now
    const until = this.#hasWaited ? this.#quietSince + nextCallMs : at + replyMs
    return now >= until ? this.#end(bound, commandMs) : { do: 'wait', until }
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
