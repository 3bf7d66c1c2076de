// A process as others can tell whether it still lives: its number alone is used again, and means nothing after a reboot or
// in another container.

import fs from 'node:fs'
import os from 'node:os'
import * as z from 'zod'

export const holderSchema = z.object({
  pid: z.int(),
  /** When the process was started, as the system counts it; missing where the system does not tell. */
  started: z.string().optional(),
  host: z.string(),
  /** Changes with every boot. */
  boot: z.string(),
  /** Numbers of processes mean something within it only. */
  space: z.string(),
})
export type Holder = z.output<typeof holderSchema>

let own: Holder | undefined

export function thisProcess(): Holder {
  return (own ??= { pid: process.pid, ...startOf(process.pid), host: os.hostname(), boot: boot(), space: space() })
}

/** `unknown`: it is out of sight, in another machine or container. */
export function lifeOf(holder: Holder): 'alive' | 'dead' | 'unknown' {
  const here = thisProcess()
  if (holder.host !== here.host || holder.space !== here.space) return 'unknown'
  if (holder.boot !== here.boot || !isRunning(holder.pid)) return 'dead'
  const { started } = startOf(holder.pid)
  return holder.started !== undefined && started !== undefined && started !== holder.started ? 'dead' : 'alive'
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function startOf(pid: number): { started?: string } {
  // The name in the second field may hold anything, so what is counted comes behind its bracket.
  const stat = read(`/proc/${pid}/stat`)
  const started = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  return started === undefined ? {} : { started }
}

function boot(): string {
  // Without a boot id, the minute of the boot: the clock may be set in between, then a dead holder is only waited for longer.
  return read('/proc/sys/kernel/random/boot_id')?.trim() ?? String(Math.round((Date.now() / 1000 - os.uptime()) / 60))
}

function space(): string {
  try {
    return fs.readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

function read(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
