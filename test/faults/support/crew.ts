// Processes for fault tests, and folders to let them loose in.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { program } from '../../support/program.ts'

export type Said = Record<string, unknown>

/** A new folder, removed when the test is over; in memory where there is one and no disk is needed. */
export function newFolder({ inMemory = false } = {}): string {
  const base = inMemory && fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir()
  const folder = fs.mkdtempSync(path.join(base, 'baton-faults-'))
  onTestFinished(() => {
    makeWritable(folder)
    fs.rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

function makeWritable(folder: string): void {
  fs.chmodSync(folder, 0o700)
  for (const each of fs.readdirSync(folder, { withFileTypes: true })) {
    if (each.isDirectory()) makeWritable(path.join(folder, each.name))
  }
}

export interface WorkerOptions {
  /** Preloads the shim, noting what is durable in that file. */
  readonly log?: string
  readonly skip?: 'fdatasync' | 'fsync'
  /** A command to run Node in, such as `bash -c 'ulimit -n 256; exec "$0" "$@"'`. */
  readonly within?: readonly string[]
}

export class Worker {
  readonly said: Said[] = []
  readonly process: ChildProcessByStdio<Writable, Readable, null>
  readonly ended: Promise<number | NodeJS.Signals>
  readonly #listeners = new Set<() => void>()

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.process = child
    child.stdin.on('error', () => {})
    const lines = createInterface(child.stdout)
    lines.on('line', (line) => {
      // A process killed while it speaks leaves half a line.
      if (line.endsWith('}')) this.said.push(JSON.parse(line) as Said)
      for (const listener of this.#listeners) listener()
    })
    this.ended = Promise.all([once(child, 'exit'), once(lines, 'close')]).then(([[code, signal]]) => {
      for (const listener of this.#listeners) listener()
      return (signal ?? code) as number | NodeJS.Signals
    })
  }

  static async start(work: string, job: object, options: WorkerOptions = {}): Promise<Worker> {
    const worker = await program(new URL('./worker.ts', import.meta.url))
    const shim = options.log === undefined ? [] : ['--import', await program(new URL('./shim.ts', import.meta.url))]
    const node = [process.execPath, ...shim, worker, work, JSON.stringify(job)]
    const [command, ...rest] = [...(options.within ?? []), ...node]
    const env = { ...process.env, SHIM_LOG: options.log, SHIM_SKIP: options.skip }
    const child = spawn(command!, rest, { stdio: ['pipe', 'pipe', 'inherit'], env })
    onTestFinished(() => void child.kill('SIGKILL'))
    return new Worker(child)
  }

  /** Resolves with the first line that has that field, said before or from now on. */
  async hears(field: string, isIt: (said: Said) => boolean = () => true): Promise<Said> {
    for (;;) {
      const found = this.said.find((said) => field in said && isIt(said))
      if (found !== undefined) return found
      if (this.process.exitCode !== null || this.process.signalCode !== null) await this.ended
      await new Promise<void>((resolve, reject) => {
        const listener = () => {
          this.#listeners.delete(listener)
          resolve()
        }
        this.#listeners.add(listener)
        if (this.process.exitCode !== null && !this.said.some((said) => field in said && isIt(said))) {
          reject(new Error(`ended without "${field}": ${JSON.stringify(this.said.at(-1))}`))
        }
      })
    }
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL')
    await this.ended
  }

  /** The entries it was promised, as id and content. */
  get acked(): [number, string][] {
    return this.said.flatMap((said) => (said['acked'] as [number, string][] | undefined) ?? [])
  }
}
