// The list of sessions as it was last seen, in the user's cache folder: what a file amounted to, by its size and time of
// change. What has not changed is not opened again; what has grown is read on from where it ended. May be deleted.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fields, isFields } from './fields.ts'
import type { Cursor } from './reading.ts'
import type { Tally } from './tally.ts'

export interface Known {
  readonly bytes: number
  readonly changed: number
  readonly tally: Tally
  /** Only its ends were read: what is summed up over all of it is not known. */
  readonly partial?: boolean
  /** Why it could not be read. */
  readonly unread?: string
}

/** Changes when what a tally holds changes. */
const version = 2

export class Cache {
  readonly #folder: string
  readonly #known: Map<string, Known>
  #cursors: Map<string, Cursor> | undefined
  #changed = false

  constructor(env: NodeJS.ProcessEnv) {
    this.#folder = path.join(env.XDG_CACHE_HOME || path.join(env.HOME || os.homedir(), '.cache'), 'baton')
    this.#known = read<Known>(path.join(this.#folder, 'sessions.json'))
  }

  get(key: string): Known | undefined {
    return this.#known.get(key)
  }

  /** Where the last reading of a file ended. Kept apart: most of the time nobody asks. */
  cursor(key: string): Cursor | undefined {
    return this.#allCursors().get(key)
  }

  set(key: string, known: Known, cursor: Cursor | undefined): void {
    this.#changed = true
    this.#known.set(key, known)
    if (cursor === undefined) this.#allCursors().delete(key)
    else this.#allCursors().set(key, cursor)
  }

  #allCursors(): Map<string, Cursor> {
    this.#cursors ??= read<Cursor>(path.join(this.#folder, 'cursors.json'))
    return this.#cursors
  }

  /** Writes what is new, and forgets what is no longer there. */
  save(present: ReadonlySet<string>): void {
    for (const key of this.#known.keys()) {
      if (present.has(key)) continue
      this.#changed = true
      this.#known.delete(key)
      this.#allCursors().delete(key)
    }
    if (!this.#changed) return
    try {
      fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      // The cursors first: a list without them is read anew, cursors without their list are never used.
      this.#write('cursors.json', this.#allCursors())
      this.#write('sessions.json', this.#known)
    } catch {
      // A cache that cannot be written costs time, nothing else.
    }
  }

  #write(name: string, values: ReadonlyMap<string, unknown>): void {
    const file = path.join(this.#folder, name)
    // Beside it first, so that no reader sees half of it; without a sync, since it may be lost.
    const next = `${file}.${process.pid}`
    fs.writeFileSync(next, JSON.stringify({ version, values: Object.fromEntries(values) }), { mode: 0o600 })
    fs.renameSync(next, file)
  }
}

function read<T>(file: string): Map<string, T> {
  try {
    const stored: unknown = JSON.parse(fs.readFileSync(file, 'utf8'))
    if (!isFields(stored) || stored.version !== version) return new Map()
    return new Map(Object.entries(fields(stored.values)) as [string, T][])
  } catch {
    return new Map() // not there yet, or damaged: everything is looked at anew
  }
}
