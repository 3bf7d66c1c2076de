// Preloaded below the engine: notes what a power cut would leave, that is, how much of each file has been synced and
// which names of each folder. `SHIM_LOG` is where; `SHIM_SKIP=fdatasync` (or fsync) makes that call do nothing, as if the
// engine had forgotten it.

import fs from 'node:fs'
import path from 'node:path'

const log = fs.openSync(process.env['SHIM_LOG']!, 'a')
const skip = process.env['SHIM_SKIP']
const { fdatasyncSync, fsyncSync, fdatasync, writeSync, openSync } = fs
const paths = new Map<number, string>()

fs.openSync = (file, ...rest) => {
  const fd = openSync(file, ...rest)
  paths.set(fd, String(file))
  return fd
}

/** Taken before the sync: what comes in while it runs is not promised. The times of all processes are of one clock. */
function note(fd: number): () => void {
  const at = Number(process.hrtime.bigint())
  const stat = fs.fstatSync(fd)
  const line = { at, ...(stat.isDirectory() ? folder(paths.get(fd)!) : { ino: stat.ino, size: stat.size }) }
  return () => writeSync(log, `${JSON.stringify(line)}\n`)
}

function folder(name: string): object {
  const names = fs.readdirSync(name).map((each) => [each, fs.lstatSync(path.join(name, each)).ino])
  return { folder: name, names: Object.fromEntries(names) as object }
}

fs.fdatasyncSync = (fd) => {
  if (skip === 'fdatasync') return
  const done = note(fd)
  fdatasyncSync(fd)
  done()
}
fs.fsyncSync = (fd) => {
  if (skip === 'fsync') return
  const done = note(fd)
  fsyncSync(fd)
  done()
}
fs.fdatasync = ((fd: number, callback: (error: NodeJS.ErrnoException | null) => void) => {
  if (skip === 'fdatasync') return void setImmediate(() => callback(null))
  const done = note(fd)
  fdatasync(fd, (error) => {
    if (error === null) done()
    callback(error)
  })
}) as typeof fs.fdatasync
