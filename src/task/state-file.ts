// `state/<task>.json`: the newest state as a file, for people and for agents that read files. The tape is the truth and
// this its projection: replaced whole, never by an older version, and made anew whenever it is not what it should be.
//
// A small file is there before the handoff returns. A large one would take longer than the handoff itself, so it
// follows right after, and in a burst of handoffs only so often that writing it stays a small part of the work;
// `settle` waits for it.

import fs from 'node:fs'
import path from 'node:path'
import { Lock } from '../store/file/lock.ts'
import { makeFolder } from '../system/folder.ts'
import type { TaskState } from './schema.ts'
import { encodeTaskId } from './task-id.ts'

const smallBytes = 64 * 1024
/** Between two writes of large files: at least so many milliseconds, and so many times what the last one took. */
const apart = { least: 250, times: 10 }
/** For somebody else who is writing, in milliseconds. */
const patience = 5_000

export class StateFiles {
  readonly #folder: string
  readonly #newest: (task: string) => Promise<number | undefined>
  readonly #sizes = new Map<string, number>()
  readonly #waiting = new Map<string, TaskState>()
  #writing: Promise<void> = Promise.resolve()
  #wake: (() => void) | undefined
  #isWriting = false
  #settling = 0
  #nextAt = 0
  #problem: string | undefined

  /** `newest` tells the newest version of a task on its tape. */
  constructor(folder: string, newest: (task: string) => Promise<number | undefined>) {
    this.#folder = folder
    this.#newest = newest
  }

  path(task: string): string {
    return path.join(this.#folder, `${encodeTaskId(task)}.json`)
  }

  /** Brings the file up to a version, or promises to. Says what is in the way, for the state itself is safe by now. */
  async follow(state: TaskState): Promise<string | undefined> {
    const isSmall = (this.#sizes.get(state.task_id) ?? state.artifacts.length * 200) <= smallBytes
    if (isSmall) return this.#write(state)
    this.#waiting.set(state.task_id, state)
    if (!this.#isWriting) {
      this.#isWriting = true
      this.#writing = this.#writeWaiting()
    }
    return undefined
  }

  /** Makes the file anew if it is missing, stale, damaged or edited. */
  async ensure(state: TaskState): Promise<string | undefined> {
    await this.settle()
    const text = renderState(state)
    let found: string | undefined
    try {
      found = fs.readFileSync(this.path(state.task_id), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return String(error)
    }
    return found === text ? undefined : this.#write(state, text)
  }

  /** Resolves when every promised file is written; says what was in the way of the last one that could not be. */
  async settle(): Promise<string | undefined> {
    this.#settling++
    this.#wake?.()
    await this.#writing
    this.#settling--
    const problem = this.#problem
    this.#problem = undefined
    return problem
  }

  async #writeWaiting(): Promise<void> {
    // The caller's own work comes first.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.size > 0) {
      await this.#pause(this.#nextAt - performance.now())
      const states = [...this.#waiting.values()]
      this.#waiting.clear()
      const start = performance.now()
      for (const state of states) this.#problem = (await this.#write(state)) ?? this.#problem
      const now = performance.now()
      this.#nextAt = now + Math.max(apart.least, apart.times * (now - start))
    }
    this.#isWriting = false
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0 || this.#settling > 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = undefined
  }

  async #write(state: TaskState, text = renderState(state)): Promise<string | undefined> {
    const file = this.path(state.task_id)
    const bytes = Buffer.from(text)
    this.#sizes.set(state.task_id, bytes.length)
    try {
      makeFolder(this.#folder)
      const lock = new Lock(path.join(this.#folder, '.lock'), patience)
      try {
        await lock.take()
        try {
          // Whoever made a newer version writes it, or has; under the lock, the file only moves forward.
          if (((await this.#newest(state.task_id)) ?? 0) > state.version) return undefined
          const temporary = path.join(this.#folder, `.${path.basename(file)}.tmp`)
          fs.writeFileSync(temporary, bytes, { mode: 0o600 })
          fs.renameSync(temporary, file)
        } finally {
          lock.release()
        }
      } finally {
        lock.close()
      }
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
}

export function renderState(state: TaskState): string {
  return `${JSON.stringify(state, null, 2)}\n`
}
