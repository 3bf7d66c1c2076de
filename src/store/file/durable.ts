// The few steps that make files outlive a power cut.

import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

export function syncFolder(folder: string): void {
  const fd = fs.openSync(folder, 'r')
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Writes all of the bytes, however many calls that takes. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += fs.writeSync(fd, bytes, at)
}

/** The file has the new content, whole and durable, or it is as it was. */
export function replaceFile(file: string, content: string | Uint8Array, mode = 0o600): void {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
  const fd = fs.openSync(temporary, 'wx', mode)
  try {
    writeAll(fd, typeof content === 'string' ? Buffer.from(content) : content)
    fs.fsyncSync(fd)
  } catch (error) {
    fs.rmSync(temporary, { force: true })
    throw error
  } finally {
    fs.closeSync(fd)
  }
  fs.renameSync(temporary, file)
  syncFolder(path.dirname(file))
}
