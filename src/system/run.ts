// Runs a program, keeps what it prints, and ends it with everything it started when its time is up. Whoever needs a child
// process that outlives the call, or a conversation with one, spawns it alone.

import { type ChildProcess, execFile, spawn, type StdioOptions } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { killTree, markVariable, send, type Stray } from './processes.ts'

const drainMs = 1_000

export interface ProgramOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** No limit without it. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal | undefined
  /** What the program can read on its standard input; without it, nothing. */
  readonly input?: string
  /**
   * What is kept of the program's output. `both` keeps standard output and error in the order they were written; with `stdout`, errors
   * only go to `onErrors`; with `stderr`, standard output is thrown away.
   */
  readonly keep?: 'both' | 'stdout' | 'stderr'
  /** Half of it from the beginning of the output, half from the end. */
  readonly keptBytes?: number
  readonly onOutput?: (chunk: Buffer) => void
  /** Standard error, with `keep: 'stdout'`: all of it where the program fails; what a process left behind prints there is not waited for. */
  readonly onErrors?: (chunk: Buffer) => void
  /** The time between asking the program to end (SIGTERM) and killing it; 0 kills it at once. */
  readonly graceMs?: { readonly timeout: number; readonly aborted: number }
  /**
   * What happens to processes that the program leaves running when it ends by itself: `keep` lets them run, `end-group` ends those in its
   * process group, `end-all` also finds daemons that have left the group and the session.
   */
  readonly leftovers: 'keep' | 'end-group' | 'end-all'
  /** The mark by which `end-all` finds the processes, also after a crash; no other program may use it. */
  readonly mark?: string
  /** How long to wait for output that a process left behind is still writing, such as a `tee` in a pipeline. */
  readonly drainMs?: number
}

export interface Run {
  readonly end: 'exit' | 'signal' | 'timeout' | 'aborted'
  readonly code: number | NodeJS.Signals
  readonly output: Output
  readonly seconds: number
  /** What the program had left running and `end-all` found, whether or not it could be ended. */
  readonly left: readonly Stray[]
  /** What could not be ended, such as a program that runs as another user. */
  readonly alive: readonly Stray[]
}

/** Rejects with the system's error where the program cannot be started. */
export async function runCommand(command: readonly string[], options: ProgramOptions): Promise<Run> {
  const { cwd, timeoutMs, signal, input, leftovers, graceMs = { timeout: 0, aborted: 0 } } = options
  const [program, ...args] = command
  const mark = leftovers === 'end-all' ? (options.mark ?? randomUUID()) : undefined
  const env = mark === undefined ? (options.env ?? process.env) : marked(options.env ?? process.env, mark)
  const started = performance.now()
  const pipe = (options.keep ?? 'both') === 'both' ? await openPipe() : undefined
  let child: ChildProcess
  try {
    // A new process group and session, so that all of it can be ended at once.
    child = spawn(program!, args, { cwd, env, stdio: stdioOf(options, pipe), detached: true })
  } catch (error) {
    pipe?.readEnd.destroy()
    throw error
  } finally {
    if (pipe !== undefined) fs.closeSync(pipe.writeEnd)
  }
  const output = new Output(options.keptBytes)
  const errors = options.keep === 'stdout' ? child.stderr : null
  const sources = [pipe?.readEnd, child.stdout, errors === null ? child.stderr : null].filter(
    (stream) => stream instanceof Readable,
  )
  const drained = Promise.all(sources.map((source) => drain(source, output, options.onOutput)))
  const allErrors = errors === null ? undefined : flow(errors, options.onErrors)
  // A program may end without reading its input.
  child.stdin?.on('error', () => {}).end(input)
  let end: Run['end'] | undefined
  let stopping: Promise<unknown> | undefined
  const stop = (reason: 'timeout' | 'aborted') => {
    end ??= reason
    stopping ??= stopTree(child, mark, graceMs[reason])
  }
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => stop('timeout'), timeoutMs)
  const abort = () => stop('aborted')
  signal?.addEventListener('abort', abort)
  if (signal?.aborted === true) abort()
  try {
    const code = await ended(child)
    await stopping
    await within(drained, options.drainMs ?? drainMs)
    if (code !== 0 && allErrors !== undefined) await within(allErrors, drainMs)
    const { found: left, alive } = await endLeftovers(child.pid!, leftovers, mark)
    if (leftovers !== 'keep') await within(drained, options.drainMs ?? drainMs)
    const seconds = Math.round(performance.now() - started) / 1000
    return { end: end ?? (typeof code === 'number' ? 'exit' : 'signal'), code, output, seconds, left, alive }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
    for (const source of sources) source.destroy()
  }
}

/** A command that runs inside another one carries the marks of both, so that each can find it. */
function marked(env: NodeJS.ProcessEnv, mark: string): NodeJS.ProcessEnv {
  const outer = process.env[markVariable]
  return { ...env, [markVariable]: outer === undefined ? mark : `${outer} ${mark}` }
}

function stdioOf({ input, keep = 'both' }: ProgramOptions, pipe: Pipe | undefined): StdioOptions {
  const stdin = input === undefined ? 'ignore' : 'pipe'
  if (keep === 'stdout') return [stdin, 'pipe', 'pipe']
  if (keep === 'stderr') return [stdin, 'ignore', 'pipe']
  return pipe === undefined ? [stdin, 'pipe', 'pipe'] : [stdin, pipe.writeEnd, pipe.writeEnd]
}

function ended(child: ChildProcess): Promise<number | NodeJS.Signals> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code, by) => resolve(by ?? code ?? 0)).once('error', reject)
  })
}

async function endLeftovers(
  pid: number,
  leftovers: ProgramOptions['leftovers'],
  mark: string | undefined,
): Promise<{ found: readonly Stray[]; alive: readonly Stray[] }> {
  if (leftovers === 'end-all') return killTree(pid, mark)
  if (leftovers === 'end-group') send(-pid, 'SIGKILL')
  return { found: [], alive: [] }
}

async function stopTree(child: ChildProcess, mark: string | undefined, graceMs: number): Promise<void> {
  if (child.pid === undefined) return
  if (graceMs > 0) {
    send(-child.pid, 'SIGTERM')
    if (child.exitCode === null && child.signalCode === null) {
      await within(new Promise((resolve) => child.once('exit', resolve)), graceMs)
    }
  }
  await killTree(child.pid, mark)
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  if (ms === Infinity) return void (await work)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}

function drain(source: Readable, output: Output, onOutput: ProgramOptions['onOutput']): Promise<void> {
  return flow(source, (chunk) => {
    output.add(chunk)
    onOutput?.(chunk)
  })
}

/** Resolves when the source has ended. */
function flow(source: Readable, onChunk: (chunk: Buffer) => void = () => {}): Promise<void> {
  source.on('data', onChunk)
  return new Promise((resolve) => {
    source.once('close', () => resolve()).once('error', () => resolve())
  })
}

interface Pipe {
  readonly readEnd: Readable
  readonly writeEnd: number
}

/**
 * One pipe for both outputs, so that they keep their order. Node would make one socket pair for each output; those also cannot be
 * opened as `/dev/stderr`. Undefined where no named pipe can be made: then the socket pairs have to do.
 */
async function openPipe(): Promise<Pipe | undefined> {
  let folder: string | undefined
  try {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-pipe-'))
    const file = path.join(folder, 'out')
    await promisify(execFile)('mkfifo', ['-m', '600', file])
    // The reader is opened first: a writer would wait for one.
    const readEnd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
    const writeEnd = fs.openSync(file, fs.constants.O_WRONLY)
    return { readEnd: new net.Socket({ fd: readEnd, readable: true, writable: false }), writeEnd }
  } catch {
    return undefined
  } finally {
    if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** The output of a program, however long: all of it up to a limit, beyond that its beginning and its end. */
export class Output {
  readonly #head: Buffer[] = []
  readonly #tail: Buffer[] = []
  readonly #half: number
  #headBytes = 0
  #tailBytes = 0
  /** How many bytes were printed, kept or not. */
  bytes = 0

  constructor(keptBytes = 64 * 1024 * 1024) {
    this.#half = keptBytes / 2
  }

  add(chunk: Buffer): void {
    this.bytes += chunk.length
    const room = this.#half - this.#headBytes
    if (room > 0) {
      this.#head.push(chunk.subarray(0, room))
      this.#headBytes += Math.min(room, chunk.length)
    }
    const rest = chunk.subarray(Math.max(0, room))
    if (rest.length === 0) return
    this.#tail.push(rest)
    this.#tailBytes += rest.length
    while (this.#tailBytes - this.#tail[0]!.length >= this.#half) this.#tailBytes -= this.#tail.shift()!.length
  }

  /** How many bytes between the beginning and the end were not kept. */
  get missing(): number {
    return this.bytes - this.#headBytes - this.#tailBytes
  }

  /** What was kept, with a line in the gap that says how much is missing. */
  whole(): Buffer {
    const gap = this.missing === 0 ? [] : [Buffer.from(`\n[${this.missing} bytes were not kept]\n`)]
    return Buffer.concat([...this.#head, ...gap, ...this.#tail])
  }
}
