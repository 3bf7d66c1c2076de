// Runs a gate's command in a process group of its own, so that a test runner that hangs goes with all that it started.

import { spawn } from 'node:child_process'
import { CancelledError } from '../errors.ts'
import { killGroup, killTree } from '../system/process-tree.ts'

/** Of the output, as much is kept from its beginning and from its end. */
const keptBytes = 2 * 1024 * 1024
/** After the command has ended: for output that is still in the pipe. */
const graceMs = 500

export interface CommandOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export interface CommandRun {
  readonly ok: boolean
  readonly end: 'exit' | 'signal' | 'timeout'
  readonly code: number | string
  readonly output: Buffer
  readonly seconds: number
}

export async function runCommand(command: string, options: CommandOptions): Promise<CommandRun> {
  const { cwd, env, timeoutMs, signal } = options
  const isCancelled = () => signal?.aborted === true
  if (isCancelled()) throw new CancelledError('The handoff was cancelled')
  const start = performance.now()
  const child = spawn(command, {
    cwd,
    env: { ...process.env, ...env },
    shell: true,
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = new Kept()
  child.stdout.on('data', (chunk: Buffer) => output.add(chunk))
  child.stderr.on('data', (chunk: Buffer) => output.add(chunk))
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    killTree(child)
  }, timeoutMs)
  const cancel = () => killTree(child)
  signal?.addEventListener('abort', cancel)
  try {
    const [code, killedBy] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.once('exit', (code, by) => resolve([code, by])).once('error', reject)
    })
    // What it left behind holds the pipes, and would go on without anybody knowing.
    killGroup(child)
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, graceMs))])
    if (isCancelled()) throw new CancelledError('The handoff was cancelled')
    const end = timedOut ? 'timeout' : killedBy === null ? 'exit' : 'signal'
    const seconds = Math.round(performance.now() - start) / 1000
    return {
      ok: end === 'exit' && code === 0,
      end,
      code: killedBy ?? code ?? 'nothing',
      output: output.bytes(),
      seconds,
    }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', cancel)
    child.stdout.destroy()
    child.stderr.destroy()
  }
}

/** The beginning and the end of a stream, however long it is. */
class Kept {
  readonly #head: Buffer[] = []
  readonly #tail: Buffer[] = []
  #headBytes = 0
  #tailBytes = 0
  #left = 0

  add(chunk: Buffer): void {
    if (this.#headBytes < keptBytes) {
      this.#head.push(chunk)
      this.#headBytes += chunk.length
      return
    }
    this.#tail.push(chunk)
    this.#tailBytes += chunk.length
    while (this.#tailBytes - this.#tail[0]!.length > keptBytes) {
      const { length } = this.#tail.shift()!
      this.#tailBytes -= length
      this.#left += length
    }
  }

  bytes(): Buffer {
    const gap = this.#left === 0 ? [] : [Buffer.from(`\n[${this.#left} bytes left out]\n`)]
    return Buffer.concat([...this.#head, ...gap, ...this.#tail])
  }
}
