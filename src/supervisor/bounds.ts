// What ends an unattended run: a command that succeeds, or so many dollars, hours, cycles, or minutes without a change.

import { spawn } from 'node:child_process'
import type { Ended } from './run.ts'
import type { Bounds } from './settings.ts'

export interface Spent {
  /** In dollars; undefined: the agent does not tell. */
  readonly usd: number | undefined
  readonly startedAt: number
  readonly cycles: number
  /** When anything changed last. */
  readonly changedAt: number
}

export function boundReached(
  bounds: Bounds,
  { usd, startedAt, cycles, changedAt }: Spent,
  now: number,
): Ended | undefined {
  const { maxUsd, maxHours, maxCycles, stallMinutes } = bounds
  if (maxUsd !== undefined && usd !== undefined && usd >= maxUsd) {
    return { why: 'bound', bound: 'usd', details: `$${usd.toFixed(2)} of $${maxUsd.toFixed(2)} are spent` }
  }
  if (maxHours !== undefined && now - startedAt >= maxHours * 3_600_000) {
    return { why: 'bound', bound: 'hours', details: `${maxHours} hours are over` }
  }
  if (maxCycles !== undefined && cycles >= maxCycles) {
    return { why: 'bound', bound: 'cycles', details: `${cycles} cycles are done` }
  }
  if (stallMinutes !== undefined && now - changedAt >= stallMinutes * 60_000) {
    return { why: 'bound', bound: 'stalled', details: `nothing has changed for ${stallMinutes} minutes` }
  }
  return undefined
}

/** When the next bound of time is reached; undefined: none. */
export function nextBound({ maxHours, stallMinutes }: Bounds, { startedAt, changedAt }: Spent): number | undefined {
  const times = [
    ...(maxHours === undefined ? [] : [startedAt + maxHours * 3_600_000]),
    ...(stallMinutes === undefined ? [] : [changedAt + stallMinutes * 60_000]),
  ]
  return times.length === 0 ? undefined : Math.min(...times)
}

export interface Outcome {
  /** Undefined: it was stopped, or could not be started. */
  readonly code: number | undefined
  /** The end of what it printed. */
  readonly output: string
}

const kept = 4_000
const patience = 600_000

/** Runs the command of `until` in the project. It is a person's own command line, so a shell reads it. */
export function runCheck(command: string, cwd: string, signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(command, { cwd, shell: true, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let output = ''
    const hear = (bytes: Buffer) => {
      output = (output + bytes.toString()).slice(-kept)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    const stop = () => {
      // The shell and what it started.
      if (child.pid !== undefined) {
        try {
          process.kill(-child.pid, 'SIGKILL')
        } catch {
          // It is gone already.
        }
      }
    }
    const timer = setTimeout(stop, patience)
    signal.addEventListener('abort', stop, { once: true })
    const end = (code: number | undefined) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      resolve({ code, output })
    }
    child.on('error', (error) => {
      output += error.message
      end(undefined)
    })
    // What it left running behind it would keep its output open.
    child.on('exit', stop)
    child.on('close', (code) => end(code ?? undefined))
  })
}
