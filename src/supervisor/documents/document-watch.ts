// The folder documents/ is about the handoff documents of a session. This file watches the folder where they arrive, so that one
// is noticed at once, and one that arrives late is still found.

import path from 'node:path'
import { watchFolder } from '../../system/index.ts'
import { examineFile } from './document-file.ts'
import type { Promised } from '../session/records/journal.ts'

/** Events of file systems are not to be relied on, and a file must be quiet for a moment before it is taken. */
const lookMs = 200

export class DocumentWatch {
  readonly #cwd: string
  readonly #onChange: () => void
  #folder: string | undefined
  #stopWatching: (() => void) | undefined
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
    this.#stopWatching?.()
    this.#folder = folder
    // Where the folder cannot be watched, the runner looks now and then anyway.
    this.#stopWatching = folder === undefined ? undefined : watchFolder(folder, () => this.#announce())
  }

  #announce(): void {
    this.#onChange()
    // Check again when the file has not changed for a moment.
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#onChange(), lookMs)
  }

  /** A document was not waited for any longer: it may still come. */
  promise({ path: file, since }: Promised): void {
    this.#late = { path: file, since }
    this.attend(undefined)
    // It may have come before its folder was watched.
    this.#announce()
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
    return examineFile({ path: file, since, cwd: this.#cwd }, now).is === 'valid' ? file : undefined
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#stopWatching?.()
  }
}
