// Reads a session while an agent writes it: each time only what is new.

import fs from 'node:fs'
import { agentNamed, type Fact, type SessionFile } from '../agents/index.ts'
import { type Meter, meterOf } from './meter.ts'
import type { Models } from '../config/index.ts'
import { TranscriptReader } from './transcript-reader.ts'
import { hinted } from './sessions.ts'
import { addFact, emptyStats, type SessionStats } from './session-stats.ts'

export class LiveSession {
  readonly file: SessionFile
  #reader: TranscriptReader | undefined
  #stats: SessionStats = emptyStats()
  #inode = -1
  #bytes = -1
  #stamp = ''

  constructor(file: SessionFile) {
    this.file = file
  }

  /** The facts that were written since the last call. `anew`: the file was replaced, and these are all its facts. */
  read(): { readonly facts: readonly Fact[]; readonly anew: boolean } {
    const now = this.#look()
    if (now === undefined || now.stamp === this.#stamp) return { facts: [], anew: false }
    const replaced = this.#reader !== undefined && (now.inode !== this.#inode || now.bytes < this.#bytes)
    // A database may shrink and is still the same session.
    if (replaced && !now.hasLog) this.#forget()
    this.#inode = now.inode
    this.#bytes = now.bytes
    const before = this.#reader
    const reader = (this.#reader ??= new TranscriptReader(agentNamed(this.file.agent), this.file))
    const facts: Fact[] = []
    for (const step of reader.steps()) facts.push(...step.facts)
    for (const fact of facts) addFact(this.#stats, fact)
    // Remembered only after a successful read, so that a failed one is tried again.
    this.#stamp = now.stamp
    return { facts, anew: before === undefined }
  }

  /** Whether `read` would return anything; this only looks at the size and time of the file. */
  hasNews(): boolean {
    const now = this.#look()
    return now !== undefined && now.stamp !== this.#stamp
  }

  get stats(): Readonly<SessionStats> {
    return this.#stats
  }

  meter(models: Models = {}): Meter {
    this.#stats = hinted(agentNamed(this.file.agent), this.file, this.#stats)
    return meterOf(this.file.agent, this.#stats, models)
  }

  close(): void {
    this.#reader?.close()
    this.#reader = undefined
  }

  #look(): { inode: number; bytes: number; hasLog: boolean; stamp: string } | undefined {
    const stat = fs.statSync(this.file.path, { throwIfNoEntry: false })
    if (stat === undefined) return undefined
    // The newest rows of a database are in its log.
    const logFile = agentNamed(this.file.agent).logOf?.(this.file.path)
    const log = logFile === undefined ? undefined : fs.statSync(logFile, { throwIfNoEntry: false })
    const stamp = `${stat.ino} ${stat.size} ${stat.mtimeMs} ${log?.size} ${log?.mtimeMs}`
    return { inode: stat.ino, bytes: stat.size, hasLog: log !== undefined, stamp }
  }

  #forget(): void {
    this.close()
    this.#stats = emptyStats()
  }
}
