// A process as others can tell whether it still lives: its number alone is used again, and means nothing after a reboot or
// in another container.

import fs from 'node:fs'
import os from 'node:os'
import * as z from 'zod'
import { processAt } from './processes.ts'

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
  const started = own === undefined ? processAt(process.pid)?.started : undefined
  own ??= {
    pid: process.pid,
    ...(started === undefined ? {} : { started }),
    host: os.hostname(),
    boot: boot(),
    space: space(),
  }
  return own
}

/** `unknown`: it is out of sight, in another machine or container. */
export function lifeOf(holder: Holder): 'alive' | 'dead' | 'unknown' {
  const here = thisProcess()
  if (holder.host !== here.host) return 'unknown'
  if (holder.boot !== here.boot) return 'dead'
  if (holder.space !== here.space) return 'unknown'
  const found = processAt(holder.pid)
  if (found === undefined) return isHidden(holder.pid) ? 'alive' : 'dead'
  return holder.started === undefined || holder.started === found.started ? 'alive' : 'dead'
}

/** It runs as somebody else, where the system shows only one's own. */
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
    // Its minute: the clock may be set in between, then a dead holder is only waited for longer.
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
