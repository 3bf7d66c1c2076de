// Time that processes must agree on without agreeing on what time it is. A wall clock may jump, and those of two machines differ;
// the other clock of a machine does neither, and all of its processes read the same.

import { hash } from 'node:crypto'
import { thisProcess } from '../system/index.ts'

export interface RelayClock {
  /** Milliseconds since 1970 by the wall clock. */
  readonly now: () => number
  /** Milliseconds of a clock that never jumps; it begins again when the machine is started. */
  readonly monotonic: () => number
  /** Identifies the machine since it was started: processes with the same one read the same `monotonic`. */
  readonly machine: string
}

/** When something began, by the clocks of the process that began it. */
export interface Beginning {
  /** In milliseconds since 1970. */
  readonly at: number
  readonly steady?: { readonly machine: string; readonly ms: number } | undefined
}

/** How far the wall clocks of two machines may be apart. */
export const clockTolerance = 120_000

export function relayClock(given: { [K in keyof RelayClock]?: RelayClock[K] | undefined } = {}): RelayClock {
  return {
    now: given.now ?? Date.now,
    monotonic: given.monotonic ?? (() => performance.now() + sinceBoot),
    machine: given.machine ?? thisMachine(),
  }
}

/** `performance.now` runs like the clock of the machine, but begins with the process. */
const sinceBoot = Number(process.hrtime.bigint()) / 1e6 - performance.now()

let known: string | undefined

function thisMachine(): string {
  const { host, boot } = thisProcess()
  known ??= hash('sha256', `${host} ${boot}`, 'base64url').slice(0, 10)
  return known
}

export function beginning({ now, monotonic, machine }: RelayClock): Required<Beginning> {
  return { at: now(), steady: { machine, ms: Math.round(monotonic()) } }
}

/**
 * How much is left of a span of so many milliseconds that this process has known of since `seen`. Nothing is left when this process has
 * seen it for that long, or when it began that long ago: by the clock that never jumps, if it began on this machine, otherwise
 * by the wall clock, with room for one that is wrong.
 */
export function timeLeft(
  { now, monotonic, machine }: RelayClock,
  { at, steady, seen }: Beginning & { readonly seen: number },
  ms: number,
): number {
  const here = monotonic()
  const sinceBegin = steady?.machine === machine ? here - steady.ms : now() - at - clockTolerance
  return ms - Math.max(here - seen, sinceBegin)
}
