// Side files: what is cut out of a tape is kept, durably, before it is cut.

import fs from 'node:fs'
import path from 'node:path'
import { syncFolder, writeAll } from './durable.ts'
import type { Layout } from './layout.ts'

/** Keeps the bytes of a file from one offset to another; returns where. */
export function keepCut(layout: Layout, tape: string, file: string, from: number, to: number, when: Date): string {
  const bytes = Buffer.alloc(to - from)
  const source = fs.openSync(file, 'r')
  try {
    for (let at = 0; at < bytes.length;) {
      const length = fs.readSync(source, bytes, at, bytes.length - at, from + at)
      if (length === 0) break
      at += length
    }
  } finally {
    fs.closeSync(source)
  }
  for (let n = 0; ; n++) {
    const target = layout.cut(tape, when, from, n)
    try {
      writeNew(target, bytes)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      fs.rmSync(target, { force: true })
      throw error
    }
    syncFolder(path.dirname(target))
    return target
  }
}

function writeNew(file: string, bytes: Buffer): void {
  const fd = fs.openSync(file, 'wx', 0o600)
  try {
    writeAll(fd, bytes)
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}
