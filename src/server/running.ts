// The one server of a workspace on this machine. A kernel lock says whether it runs, and is free the moment it dies; the file
// beside it says where to find it.

import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { asStorageError, Lock, makeFolder, replaceFile } from '../system/index.ts'
import { serverFolder } from './access/tokens.ts'

const runningSchema = z.object({ url: z.string(), pid: z.int(), started: z.string() })

export type RunningServer = z.output<typeof runningSchema>

const stateMs = 5_000

export class ServerPlace {
  readonly #file: string
  readonly #lock: Lock

  constructor(folder: string) {
    const own = serverFolder(folder)
    makeFolder(own)
    this.#file = path.join(own, 'server.json')
    this.#lock = new Lock(path.join(own, 'server.lock'), 0)
  }

  /** True if this process is the server now. */
  take(): boolean {
    if (!this.#lock.tryNow()) return false
    // A dead one's process number may be another program's by now: nobody is to be told of it, nor to end it.
    fs.rmSync(this.#file, { force: true })
    return true
  }

  announce(running: RunningServer): void {
    try {
      replaceFile(this.#file, JSON.stringify(running))
    } catch (error) {
      throw asStorageError(error, this.#file)
    }
  }

  /** Where the running server is; undefined if none runs. What a dead one left behind is ignored. */
  async find(): Promise<RunningServer | undefined> {
    const deadline = Date.now() + stateMs
    for (;;) {
      if (this.#lock.tryNow()) {
        this.#lock.release()
        return undefined
      }
      const found = this.#read()
      // One that is just starting has taken the lock and not told its address yet.
      if (found !== undefined || Date.now() > deadline) return found
      await sleep(50)
    }
  }

  #read(): RunningServer | undefined {
    try {
      return runningSchema.parse(JSON.parse(fs.readFileSync(this.#file, 'utf8')))
    } catch {
      return undefined // not written yet
    }
  }

  leave(): void {
    fs.rmSync(this.#file, { force: true })
    this.#lock.release()
    this.#lock.close()
  }
}
