// What ends an unattended run: a command that succeeds, or so many dollars, hours, cycles, or minutes without a change.

import { runCommand } from '../../system/index.ts'
import type { Bounds } from '../settings.ts'
import type { Bound } from './bound-stop.ts'
import { withoutTimes } from './progress.ts'

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

export interface CheckResult {
  /** Undefined: it was stopped, or could not be started. */
  readonly code: number | undefined
  /** The end of what it printed. */
  readonly output: string
  /** The same for two checks that differ in nothing but how long something took. */
  readonly plain: string
}

const keptCharacters = 4_000
const timeoutMs = 600_000

/** Runs the command of `until` in the project. It is a person's own command line, so a shell reads it. */
export async function runCheck(command: string, cwd: string, signal: AbortSignal): Promise<CheckResult> {
  try {
    const { end, code, output } = await runCommand(['/bin/sh', '-c', command], {
      cwd,
      timeoutMs,
      signal,
      keptBytes: 16 * keptCharacters,
      leftovers: 'end-group',
    })
    const text = output.whole().toString('utf8')
    return {
      code: end === 'exit' && typeof code === 'number' ? code : undefined,
      output: text.slice(-keptCharacters),
      // Cut last: where a text is cut from its end must not depend on how many digits a time has.
      plain: withoutTimes(text).slice(-keptCharacters),
    }
  } catch (error) {
    const { message } = error as Error
    return { code: undefined, output: message, plain: message }
  }
}
