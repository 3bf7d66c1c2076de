// `state/<task>.json`: the newest state as a file, for people and for agents that read files. The tape is the truth, and the file
// is made from it: replaced as a whole, never by an older version, and written again whenever it differs from the state.
//
// A small file is written before the handoff returns. Writing a large one would take longer than the handoff itself, so it is
// written right afterwards, and during many handoffs only so often that this stays a small part of the work; `settle` waits
// for it.

import fs from 'node:fs'
import path from 'node:path'
import { Lock, makeFolder, replaceFile } from '../system/index.ts'
import type { TaskState } from './schema.ts'
import { encodeTaskId } from './versions.ts'

const smallBytes = 64 * 1024
/** The pause between two writes of large files: `least` milliseconds, or `times` as long as the last write took. */
const apart = { least: 250, times: 10 }
/** How long to wait for another process that is writing, in milliseconds. */
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

  /** `newest` returns the newest version of a task on its tape. */
  constructor(folder: string, newest: (task: string) => Promise<number | undefined>) {
    this.#folder = folder
    this.#newest = newest
  }

  path(task: string): string {
    return path.join(this.#folder, `${encodeTaskId(task)}.json`)
  }

  /** Writes the file, or schedules it when it is large. Returns a problem instead of throwing, because the state is stored. */
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

  /** Writes the file again if it is missing, stale, damaged or edited. */
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

  /** Resolves when every scheduled file is written; returns the problem of the last one that could not be. */
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
    // Lets the caller's own work go first.
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
          // The process that made a newer version writes it, or has already; under the lock, the file never goes back.
          if (((await this.#newest(state.task_id)) ?? 0) > state.version) return undefined
          // Without a sync, because the file is written again from the tape whenever it differs.
          replaceFile(file, bytes, { durable: false })
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
