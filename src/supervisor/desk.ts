// Where documents arrive: the folder is watched, so that one is noticed at once; and one that was not waited for any longer
// is still found.

import fs from 'node:fs'
import path from 'node:path'
import { examine } from './document-file.ts'
import type { Promised } from './journal.ts'

/** Events of file systems are not to be relied on, and a file must be quiet for a moment before it is taken. */
const lookMs = 200

export class Desk {
  readonly #cwd: string
  readonly #onChange: () => void
  #folder: string | undefined
  #watcher: fs.FSWatcher | undefined
  #timer: NodeJS.Timeout | undefined
  #late: { path: string; since: number } | undefined

  constructor(cwd: string, onChange: () => void) {
    this.#cwd = cwd
    this.#onChange = onChange
  }

  /** Watches the folder of that file; undefined: none, unless one may still come late. */
  attend(file: string | undefined): void {
    const wanted = file ?? this.#late?.path
    const folder = wanted === undefined ? undefined : path.dirname(wanted)
    if (folder === this.#folder) return
    this.#watcher?.close()
    this.#watcher = undefined
    this.#folder = folder
    if (folder === undefined) return
    try {
      this.#watcher = fs.watch(folder, () => this.#ring())
      this.#watcher.on('error', () => this.#watcher?.close())
    } catch {
      // The folder is not there, or there are too many watches: the runner looks now and then anyway.
    }
  }

  #ring(): void {
    this.#onChange()
    // Once more when the file has been quiet.
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#onChange(), lookMs)
  }

  /** A document was not waited for any longer: it may still come. */
  promise({ path: file, since }: Promised): void {
    this.#late = { path: file, since }
    this.attend(undefined)
    // It may have come before its folder was watched.
    this.#ring()
  }

  /** It has been told of, or another takes its place. */
  forget(): void {
    this.#late = undefined
    this.attend(undefined)
  }

  /** The late document, once it is there. */
  arrived(now: number): string | undefined {
    if (this.#late === undefined) return undefined
    const { path: file, since } = this.#late
    return examine({ path: file, since, cwd: this.#cwd }, now).is === 'valid' ? file : undefined
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#watcher?.close()
  }
}
