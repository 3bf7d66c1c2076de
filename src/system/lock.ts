// A kernel lock on a file that is never removed: freed the moment its holder dies, never stolen from one that is only
// paused. Waiting is done by asking again rather than by a blocking call, which would occupy the thread pool that the
// holder, when it is this same process, needs for its sync.

import fs from 'node:fs'
import { createRequire, Module } from 'node:module'
import path from 'node:path'
import { LockedError, UnsupportedError } from '../errors.ts'

interface Binding {
  tryLock(fd: number): boolean
  unlock(fd: number): void
}

let binding: Binding | undefined

/** Loaded when a lock is first needed: reading a tape does without. */
function native(): Binding {
  if (binding !== undefined) return binding
  try {
    const require = createRequire(import.meta.url)
    findBinary(require)
    binding = require('fs-native-extensions') as Binding
  } catch (cause) {
    throw new UnsupportedError(`No kernel file locks on this platform (${String(cause)})`, {
      hint: 'Reading works; to write, use a platform that fs-native-extensions has a binary for.',
    })
  }
  return binding
}

/** The package finds its binary with a dozen files of JavaScript, which takes longer than many a command: it is given the usual one. */
function findBinary(require: NodeJS.Require): void {
  const folder = path.dirname(require.resolve('fs-native-extensions'))
  const finder = path.join(folder, 'binding.js')
  const binary = path.join(folder, 'prebuilds', `${process.platform}-${process.arch}`, 'fs-native-extensions.node')
  if (require.cache[finder] !== undefined || !fs.existsSync(finder) || !fs.existsSync(binary)) return
  const found = new Module(finder)
  try {
    found.exports = require(binary) as unknown
  } catch {
    return // one for another C library: the package knows where to look next
  }
  found.loaded = true
  require.cache[finder] = found
}

const asleep = new Int32Array(new SharedArrayBuffer(4))

export class Lock {
  readonly path: string
  readonly #patience: number
  readonly #flags: 'a' | 'r+'
  #fd: number | undefined

  /** `patience` is how long to wait for another holder, in milliseconds; `r+` does not make the file. */
  constructor(path: string, patience: number, flags: 'a' | 'r+' = 'a') {
    this.path = path
    this.#patience = patience
    this.#flags = flags
  }

  /** True when taken at once. */
  tryNow(): boolean {
    for (;;) {
      this.#fd ??= fs.openSync(this.path, this.#flags, 0o600)
      if (!native().tryLock(this.#fd)) return false
      // Somebody may have removed the file for a stale one: then this is a lock that nobody else looks at.
      if (fs.fstatSync(this.#fd).nlink > 0) return true
      this.close()
      if (this.#flags === 'r+' && !fs.existsSync(this.path)) return false
    }
  }

  async take(): Promise<void> {
    const deadline = performance.now() + this.#patience
    for (;;) {
      // Holders are done within a write, so a few short naps usually suffice. Between them other work of this process gets its turn.
      for (let nap = 0; nap < 20; nap++) {
        if (this.tryNow()) return
        Atomics.wait(asleep, 0, 0, 0.05)
        if (this.tryNow()) return
        await new Promise((resolve) => setImmediate(resolve))
      }
      if (performance.now() > deadline) {
        throw new LockedError(`${this.path} has been held by another process for ${this.#patience / 1000} s`, {
          hint: `Find it with "fuser ${this.path}"; it may be stopped or hung. Nothing was written.`,
        })
      }
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 4))
    }
  }

  release(): void {
    if (this.#fd !== undefined) native().unlock(this.#fd)
  }

  close(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
    this.#fd = undefined
  }
}
