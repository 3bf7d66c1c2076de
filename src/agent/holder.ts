// Who is running a turn, and whether they still live. A process on this machine is asked for by its number and the moment
// it started; one elsewhere counts as alive as long as its tape moves.

import fs from 'node:fs'
import os from 'node:os'
import * as z from 'zod'

export const holderSchema = z.object({
  /** Two agents of one process are two holders. */
  agent: z.string(),
  host: z.string(),
  /** Of the running kernel; empty where it has none. */
  boot: z.string(),
  /** The namespace that `pid` counts in: containers of one machine differ in it. */
  space: z.string(),
  pid: z.number(),
  started: z.string(),
})

export type Holder = z.infer<typeof holderSchema>

/** A turn elsewhere says that it runs at least this often; three times as long in silence, and it is dead. */
export const pulseSeconds = 60

export function thisProcess(agent: string): Holder {
  return {
    agent,
    host: os.hostname(),
    boot: readOr(() => fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    space: readOr(() => fs.readlinkSync('/proc/self/ns/pid')),
    pid: process.pid,
    started: startOf(process.pid) ?? '',
  }
}

/** `silence`: seconds since the tape was last written to. */
export function isAlive(holder: Holder, me: Holder, silence: number): boolean {
  if (holder.agent === me.agent) return false
  if (holder.host !== me.host) return silence < 3 * pulseSeconds
  if (holder.boot !== me.boot) return false
  if (holder.space !== me.space) return silence < 3 * pulseSeconds
  return exists(holder.pid) && startOf(holder.pid) === (holder.started === '' ? undefined : holder.started)
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** In ticks since boot; undefined where the system does not say, or for a process that has ended and is only waited for. */
function startOf(pid: number): string | undefined {
  const stat = readOr(() => fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))
  // The name of the program, in brackets, may hold spaces and brackets of its own.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}

function readOr(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
