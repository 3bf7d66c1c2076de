// Faults of the disk in this very process: the calls below the engine answer as told until the test is over.

import fs from 'node:fs'
import { onTestFinished } from 'vitest'

export function failure(code: string, syscall: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: injected, ${syscall}`), { code, syscall })
}

type Call = 'writeSync' | 'fdatasyncSync' | 'fdatasync' | 'fsyncSync' | 'ftruncateSync' | 'linkSync' | 'openSync'

/** Puts `replacement` in the place of a call of `node:fs`; it is given the original. */
export function replace<K extends Call>(call: K, replacement: (original: (typeof fs)[K]) => unknown): () => void {
  const original = fs[call]
  Object.assign(fs, { [call]: replacement(original) })
  const restore = () => void Object.assign(fs, { [call]: original })
  onTestFinished(restore)
  return restore
}

/** The disk takes only so many bytes more; a write in which it fills up is cut short, the next one fails. */
export function fillDiskAfter(bytes: number): () => void {
  let left = bytes
  return replace('writeSync', (original) => (fd: number, data: Buffer, from = 0) => {
    if (left <= 0) throw failure('ENOSPC', 'write')
    const written = original(fd, data, from, Math.min(left, data.length - from))
    left -= written
    return written
  })
}

export function failSync(code = 'EIO'): () => void {
  const one = replace('fdatasyncSync', () => () => {
    throw failure(code, 'fdatasync')
  })
  const other = replace('fdatasync', () => (_fd: number, callback: (error: Error) => void) => {
    setImmediate(() => callback(failure(code, 'fdatasync')))
  })
  return () => {
    one()
    other()
  }
}
