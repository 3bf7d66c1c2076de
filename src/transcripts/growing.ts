// A session that is read while it grows: each time only what is new.

import fs from 'node:fs'
import type { SessionFile } from './agent.ts'
import { agentNamed } from './agents.ts'
import type { Fact } from './fact.ts'
import { type Meter, meterOf } from './meter.ts'
import type { Models } from '../config/models.ts'
import { Reading } from './reading.ts'
import { hinted } from './sessions.ts'
import { count, emptyTally, type Tally } from './tally.ts'

export class GrowingSession {
  readonly file: SessionFile
  #reading: Reading | undefined
  #tally: Tally = emptyTally()
  #inode = -1
  #bytes = -1
  #stamp = ''

  constructor(file: SessionFile) {
    this.file = file
  }

  /** What was written since the last time. `anew`: the file was replaced, and this is all of it. */
  read(): { readonly facts: readonly Fact[]; readonly anew: boolean } {
    const now = this.#look()
    if (now === undefined || now.stamp === this.#stamp) return { facts: [], anew: false }
    const replaced = this.#reading !== undefined && (now.inode !== this.#inode || now.bytes < this.#bytes)
    // A database shrinks and is still the same.
    if (replaced && !now.hasLog) this.#forget()
    this.#inode = now.inode
    this.#bytes = now.bytes
    const before = this.#reading
    const reading = (this.#reading ??= new Reading(agentNamed(this.file.agent), this.file))
    const facts: Fact[] = []
    for (const step of reading.steps()) facts.push(...step.facts)
    for (const fact of facts) count(this.#tally, fact)
    // Only now: what could not be read is tried again.
    this.#stamp = now.stamp
    return { facts, anew: before === undefined }
  }

  /** Whether reading would bring something: cheap. */
  hasNews(): boolean {
    const now = this.#look()
    return now !== undefined && now.stamp !== this.#stamp
  }

  get tally(): Readonly<Tally> {
    return this.#tally
  }

  meter(models: Models = {}): Meter {
    this.#tally = hinted(agentNamed(this.file.agent), this.file, this.#tally)
    return meterOf(this.file.agent, this.#tally, models)
  }

  close(): void {
    this.#reading?.close()
    this.#reading = undefined
  }

  #look(): { inode: number; bytes: number; hasLog: boolean; stamp: string } | undefined {
    const stat = fs.statSync(this.file.path, { throwIfNoEntry: false })
    if (stat === undefined) return undefined
    // Of a database, where its newest rows are.
    const log =
      this.file.agent === 'opencode' ? fs.statSync(`${this.file.path}-wal`, { throwIfNoEntry: false }) : undefined
    const stamp = `${stat.ino} ${stat.size} ${stat.mtimeMs} ${log?.size} ${log?.mtimeMs}`
    return { inode: stat.ino, bytes: stat.size, hasLog: log !== undefined, stamp }
  }

  #forget(): void {
    this.close()
    this.#tally = emptyTally()
  }
}
