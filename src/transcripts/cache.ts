// The list of sessions as it was last seen, in the user's cache folder: what a file amounted to, by its size and time of
// change. What has not changed is not opened again; what has grown is read on from where it ended. May be deleted.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { makeFolder } from '../system/folder.ts'
import { given, isFields, list } from './fields.ts'
import { glanceOf, type Row, rowOf } from './glance-row.ts'
import type { Meter } from './meter.ts'
import type { Cursor } from './reading.ts'
import type { Tally } from './tally.ts'

/** What a list needs of a session. */
export interface Glance {
  readonly bytes: number
  readonly changed: number
  readonly about: About
  /** Reckoned with the tables alone. */
  readonly meter: Meter
  /** Only its ends were read: what is summed up over all of it is not known. */
  readonly partial?: boolean
  /** Why it could not be read. */
  readonly unread?: string
}

export type About = Pick<
  Tally,
  | 'session'
  | 'cwd'
  | 'branch'
  | 'model'
  | 'title'
  | 'parent'
  | 'kind'
  | 'clearedFrom'
  | 'cleared'
  | 'first'
  | 'last'
  | 'turns'
  | 'turn'
  | 'limit'
  | 'quotas'
  | 'compactions'
  | 'damaged'
>

/** What reading on needs: kept apart, since most of the time nobody asks for it. */
export interface Depth {
  readonly tally: Tally
  readonly cursor?: Cursor
}

/** Changes when what is kept changes. */
const version = 4

export class Cache {
  readonly #folder: string
  /** As stored: a glance is made when it is asked for. */
  readonly #rows: Map<string, Row>
  #depths: Map<string, Depth> | undefined
  #changed = false

  constructor(env: NodeJS.ProcessEnv) {
    this.#folder = path.join(env.XDG_CACHE_HOME || path.join(env.HOME || os.homedir(), '.cache'), 'baton')
    this.#rows = read<Row>(path.join(this.#folder, 'sessions.json'))
  }

  get(key: string): Glance | undefined {
    const row = this.#rows.get(key)
    return row === undefined ? undefined : glanceOf(row)
  }

  depth(key: string): Depth | undefined {
    return this.#allDepths().get(key)
  }

  set(key: string, glance: Glance, depth: Depth): void {
    this.#changed = true
    this.#rows.set(key, rowOf(glance))
    this.#allDepths().set(key, depth)
  }

  #allDepths(): Map<string, Depth> {
    this.#depths ??= read<Depth>(path.join(this.#folder, 'tallies.json'))
    return this.#depths
  }

  /** Writes what is new, and forgets what is no longer there. */
  save(present: ReadonlySet<string>): void {
    for (const key of this.#rows.keys()) {
      if (present.has(key)) continue
      this.#changed = true
      this.#rows.delete(key)
      this.#allDepths().delete(key)
    }
    if (!this.#changed) return
    try {
      makeFolder(this.#folder)
      // The depths first: a list without them is read anew, depths without their list are never used.
      this.#write('tallies.json', this.#allDepths())
      this.#write('sessions.json', this.#rows)
    } catch {
      // A cache that cannot be written costs time, nothing else.
    }
  }

  #write(name: string, values: ReadonlyMap<string, unknown>): void {
    const file = path.join(this.#folder, name)
    // Beside it first, so that no reader sees half of it; without a sync, since it may be lost.
    const next = `${file}.${process.pid}`
    fs.writeFileSync(next, JSON.stringify({ version, values: [...values] }), { mode: 0o600 })
    fs.renameSync(next, file)
  }
}

/** The part of a tally that a list needs. */
export function aboutOf(tally: Tally): About {
  const { session, cwd, branch, model, title, parent, kind, clearedFrom, cleared, first, last, limit, quotas } = tally
  const { turns, compactions, damaged, turn } = tally
  const optional = {
    session,
    cwd,
    branch,
    model,
    title,
    parent,
    kind,
    clearedFrom,
    cleared,
    first,
    last,
    limit,
    quotas,
  }
  return { turns, compactions, damaged, ...given({ ...optional, turn: turn && { to: turn.to } }) }
}

function read<T>(file: string): Map<string, T> {
  try {
    const stored: unknown = JSON.parse(fs.readFileSync(file, 'utf8'))
    if (!isFields(stored) || stored.version !== version) return new Map()
    return new Map(list(stored.values) as [string, T][])
  } catch {
    return new Map() // not there yet, or damaged: everything is looked at anew
  }
}
