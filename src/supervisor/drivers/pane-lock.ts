// One at a time at a pane, in this process and in others: kept by the kernel, so that it ends with whoever held it.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { LockedError, StorageError } from '../../errors.ts'
import { Lock, pause } from '../../system/index.ts'

const patience = 15_000
const nap = 10

/** Whoever waits in this process, in the order in which they came. */
const queues = new Map<string, Promise<unknown>>()

export function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  const before = queues.get(name) ?? Promise.resolve()
  const mine = before.then(() => alone(name, work))
  const settled = mine.then(nothing, nothing)
  queues.set(name, settled)
  void settled.then(() => queues.get(name) === settled && queues.delete(name))
  return mine
}

async function alone<T>(name: string, work: () => Promise<T>): Promise<T> {
  const file = lockFile(name)
  const lock = new Lock(file, 0)
  const deadline = performance.now() + patience
  try {
    while (!lock.tryNow()) {
      if (performance.now() > deadline) {
        throw new LockedError(`Another process has been typing for ${patience / 1000} s`, {
          hint: `Find it with "fuser ${file}". Nothing was typed.`,
        })
      }
      await pause(nap)
    }
    return await work()
  } finally {
    lock.close()
  }
}

function nothing(): void {
  // How it went is told to whoever asked for it.
}

/** Held until it is closed; undefined if somebody else holds it. */
export function tryHold(name: string): { close(): void } | undefined {
  const lock = new Lock(lockFile(name), 0)
  if (lock.tryNow()) return lock
  lock.close()
  return undefined
}

function lockFile(name: string): string {
  return path.join(folder(), `${createHash('sha256').update(name).digest('hex').slice(0, 24)}.lock`)
}

/** Of this user alone; the files in it are empty and stay. */
function folder(): string {
  const { uid } = os.userInfo()
  const at = path.join(process.env.XDG_RUNTIME_DIR || os.tmpdir(), `baton-${uid}`)
  fs.mkdirSync(at, { recursive: true, mode: 0o700 })
  const stat = fs.statSync(at)
  if (uid >= 0 && stat.uid !== uid)
    throw new StorageError(`${at} belongs to somebody else`, { hint: 'Set XDG_RUNTIME_DIR to a folder of your own.' })
  return at
}
