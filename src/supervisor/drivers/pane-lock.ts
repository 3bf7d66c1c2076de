// One at a time at a pane, in this process and in others: kept by the kernel, so that it ends with whoever held it.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { StorageError } from '../../errors.ts'
import { Lock } from '../../store/file/lock.ts'

const patience = 15_000

export async function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  const lock = new Lock(lockFile(name), patience)
  try {
    await lock.take()
    return await work()
  } finally {
    lock.close()
  }
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
