// The supervised sessions of a workspace, a row each.

import * as z from 'zod'
import type { Store } from '../../../store/index.ts'
import { isRunning, thisProcess } from '../../../system/index.ts'
import { holderOf } from './lease.ts'
import { sessionTape } from '../../run.ts'

/** A supervised session as lists show it. */
export interface SessionRow {
  readonly name: string
  readonly agent: string
  readonly project: string
  readonly state:
    | 'starting'
    | 'working'
    | 'waiting'
    | 'limited'
    | 'dialog'
    | 'cycling'
    | 'paused'
    | 'restarting'
    /** Nobody supervises it: its agent works on by itself. */
    | 'unsupervised'
    /** Nobody supervises it, and its agent is gone. */
    | 'dead'
    /** Nobody supervises it, and it ran on another machine: only that one can tell more. */
    | 'lost'
    | 'ended'
  /** The step of the cycle, and what is waited for, in words. */
  readonly step?: string
  readonly until?: string
  /** 0 to 1; missing: unknown. */
  readonly context_usage?: number
  readonly tokens?: number
  readonly window?: number
  readonly threshold?: number
  readonly last_check: string
  /** The agent's own id of what it writes now. */
  readonly session?: string
  readonly cycles: number
  readonly lastCycle?: string
  /** Turns until the next cycle, by its growth. */
  readonly nextCycleTurns?: number
  readonly usd?: number
  readonly started: string
  /** The machine that it runs on. */
  readonly host?: string
  /** The supervisor's process; missing: nobody supervises it now. */
  readonly supervisor?: { readonly pid: number; readonly host: string }
  readonly place?: unknown
  /** Why it ended. */
  readonly ended?: string
}

/** The sessions of a workspace, those that have ended too. */
export async function* sessionRows(store: Store): AsyncGenerator<SessionRow> {
  for await (const name of sessionNames(store)) {
    const entry = await store.latest(sessionTape(name), 'row')
    if (entry === undefined) continue
    const { data: row } = entry.payload as { data: SessionRow }
    const holder = await holderOf(store, sessionTape(name), leaseKey)
    if (holder !== undefined) yield { ...row, supervisor: { pid: holder.pid, host: holder.host } }
    // What its last supervisor saw need not be so any more.
    else yield row.state === 'ended' ? row : { ...row, state: unattended(row) }
  }
}

function unattended({ host, place }: SessionRow): SessionRow['state'] {
  if (isElsewhere(host)) return 'lost'
  return isAgentThere(place) ? 'unsupervised' : 'dead'
}

/** Sessions of another machine are not this one's to judge or to drive. */
export function isElsewhere(host: string | undefined): boolean {
  return host !== undefined && host !== thisProcess().host
}

/** Without a screen an agent is a process for each turn, so that none is missing between two. */
function isAgentThere(place: unknown): boolean {
  const { data } = placeSchema.safeParse(place)
  if (data === undefined) return false
  return data.pid === undefined ? data.driver === 'headless' : isRunning(data.pid, data.started)
}

const placeSchema = z.object({ driver: z.string(), pid: z.int().optional(), started: z.string().optional() })

export const leaseKey = 'lease'

export async function* sessionNames(store: Store): AsyncGenerator<string> {
  for await (const { tape } of store.list(sessionTape(''))) {
    const name = tape.slice(sessionTape('').length)
    if (!name.startsWith('~')) yield name
  }
}
