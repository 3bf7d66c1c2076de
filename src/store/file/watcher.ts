// Tells when a tape may have grown: at once for writes of this process, by file events for those of others, and once a
// second in any case, for file events are not to be relied on (network mounts, exhausted watches).

import fs from 'node:fs'
import path from 'node:path'

const fallback = 1_000

export class Watcher {
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #folders = new Map<string, fs.FSWatcher | undefined>()
  #timer: NodeJS.Timeout | undefined

  /** Calls `listener` whenever the file may have changed, until the returned function is called. */
  subscribe(file: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(file) ?? new Set()
    this.#listeners.set(file, listeners.add(listener))
    this.#timer ??= setInterval(() => this.#tellAll(), fallback)
    this.#observe(path.dirname(file))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(file)
      if (this.#listeners.size === 0) this.close()
    }
  }

  changed(file: string): void {
    for (const listener of this.#listeners.get(file) ?? []) listener()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    for (const watcher of this.#folders.values()) watcher?.close()
    this.#folders.clear()
  }

  #observe(folder: string): void {
    if (this.#folders.has(folder)) return
    let watcher: fs.FSWatcher | undefined
    try {
      watcher = fs.watch(folder, (_event, name) => name !== null && this.changed(path.join(folder, name)))
      // A watch that breaks leaves the timer, which is slower but sure.
      watcher.on('error', () => watcher?.close())
    } catch {
      watcher = undefined
    }
    this.#folders.set(folder, watcher)
  }

  #tellAll(): void {
    for (const file of this.#listeners.keys()) this.changed(file)
  }
}
