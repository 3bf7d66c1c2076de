// Who holds something, such as a turn, a chat or a supervised session, and whether they still do. A process is described so that
// others can find out whether it still runs: process numbers are used again, and mean nothing after a reboot or in another
// container.

import fs from 'node:fs'
import os from 'node:os'
import * as z from 'zod'
import { processAt } from './processes.ts'

export const holderSchema = z.object({
  /** Tells holders within one process apart, such as two agents. */
  agent: z.string().optional(),
  pid: z.int(),
  /** When the process was started, as the system counts it; missing where the system does not report it. */
  started: z.string().optional(),
  host: z.string(),
  /** Changes with every boot. */
  boot: z.string(),
  /** The namespace within which process numbers mean something. */
  space: z.string(),
})
export type Holder = z.output<typeof holderSchema>

let own: Holder | undefined

export function thisProcess(agent?: string): Holder {
  const started = own === undefined ? processAt(process.pid)?.started : undefined
  own ??= {
    pid: process.pid,
    ...(started === undefined ? {} : { started }),
    host: os.hostname(),
    boot: boot(),
    space: space(),
  }
  return agent === undefined ? own : { agent, ...own }
}

/** How long a holder that is out of sight, on another machine or in another container, may be silent. It should speak three times as often. */
export const silentMs = 180_000

/**
 * A holder on this machine holds what it has as long as it lives; one that is out of sight, until its time is up. What `me` holds is
 * no obstacle to itself.
 */
export function isHolding(holder: Holder, until: number, now = Date.now(), me?: Holder): boolean {
  if (me?.agent !== undefined && holder.agent === me.agent) return false
  const life = lifeOf(holder)
  return life === 'alive' || (life === 'unknown' && now < until)
}

/** `unknown`: the process is out of sight, on another machine or in another container. */
export function lifeOf(holder: Holder): 'alive' | 'dead' | 'unknown' {
  const here = thisProcess()
  if (holder.host !== here.host) return 'unknown'
  if (holder.boot !== here.boot) return 'dead'
  if (holder.space !== here.space) return 'unknown'
  const found = processAt(holder.pid)
  if (found === undefined) return isHidden(holder.pid) ? 'alive' : 'dead'
  return holder.started === undefined || holder.started === found.started ? 'alive' : 'dead'
}

/** Whether the process runs as another user, on a system that shows only one's own. */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function boot(): string {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // The minute of the boot. The clock may be set in between: then a dead holder is only waited for longer.
    return String(Math.round((Date.now() / 1000 - os.uptime()) / 60))
  }
}

function space(): string {
  try {
    return fs.readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}
