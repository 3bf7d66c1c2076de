// Runs a shell command for the agent. It gets a session and a pipe of its own, no input and no terminal; nothing that it
// starts outlives the call, however the call ends.

import { type ChildProcess, execFile, spawn, type StdioOptions } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { InvalidError, StorageError } from '../errors.ts'
import { Output } from './process-output.ts'
import { send } from '../system/processes.ts'
import { killTree, markVariable, type Stray } from './process-tree.ts'

/** What a command is given to end by itself after SIGTERM; whoever cancels does not want to wait. */
const termMs = { timeout: 2_000, aborted: 300 }
/** For what still holds the output when the command has ended, such as a `tee` it did not wait for. */
const drainMs = 1_000

export interface CommandOptions {
  readonly cwd: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly env?: NodeJS.ProcessEnv
  readonly onOutput?: (chunk: Buffer) => void
}

export interface CommandRun {
  readonly end: 'exit' | 'signal' | 'timeout' | 'aborted'
  readonly code: number | NodeJS.Signals
  /** Standard output and error, in the order they were written. */
  readonly output: Output
  readonly seconds: number
  /** What the command had left running; it was ended with it, but for what is still alive. */
  readonly left: readonly Stray[]
  /** What could not be ended, such as a program that runs as somebody else. */
  readonly alive: readonly Stray[]
}

export async function runCommand(command: string, options: CommandOptions): Promise<CommandRun> {
  const { cwd, timeoutMs, signal, onOutput } = options
  if (command.includes('\0')) throw new InvalidError('The command holds a null byte', { path: 'command' })
  if (!fs.existsSync(cwd)) throw new InvalidError(`The folder ${cwd} is not there any more`)
  const mark = randomUUID()
  const outer = process.env[markVariable]
  const env = {
    ...withoutModelKeys(options.env ?? process.env),
    // Nobody is there to page, or to ask for a password.
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    [markVariable]: outer === undefined ? mark : `${outer} ${mark}`,
  }
  const started = performance.now()
  const pipe = await openPipe()
  const stdio: StdioOptions = pipe === undefined ? ['ignore', 'pipe', 'pipe'] : ['ignore', pipe.writeEnd, pipe.writeEnd]
  let child: ChildProcess
  try {
    child = spawn(shell(), ['-c', '--', command], { cwd, env, stdio, detached: true })
  } catch (error) {
    pipe?.readEnd.destroy()
    throw explained(error as NodeJS.ErrnoException)
  } finally {
    if (pipe !== undefined) fs.closeSync(pipe.writeEnd)
  }
  const output = new Output()
  const sources = [pipe?.readEnd, child.stdout, child.stderr].filter((stream) => stream instanceof Readable)
  const drained = Promise.all(sources.map((source) => drain(source, output, onOutput)))
  let end: CommandRun['end'] | undefined
  let killing: Promise<unknown> | undefined
  const stop = (why: 'timeout' | 'aborted') => {
    end ??= why
    killing ??= stopTree(child, mark, termMs[why])
  }
  const timer = setTimeout(() => stop('timeout'), timeoutMs)
  const abort = () => stop('aborted')
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    const code = await ended(child)
    await killing
    await within(drained, drainMs)
    const { found: left, alive } = await killTree(child.pid!, mark)
    await within(drained, drainMs)
    const seconds = Math.round(performance.now() - started) / 1000
    return { end: end ?? (typeof code === 'number' ? 'exit' : 'signal'), code, output, seconds, left, alive }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    for (const source of sources) source.destroy()
  }
}

async function ended(child: ChildProcess): Promise<number | NodeJS.Signals> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code, by) => resolve(by ?? code ?? 0))
    child.once('error', (error: NodeJS.ErrnoException) => reject(explained(error)))
  })
}

function explained(error: NodeJS.ErrnoException): Error {
  if (error.code === 'EAGAIN' || error.code === 'ENOMEM')
    return new StorageError('The system has no room for another process', {
      hint: 'See ulimit -u and the free memory.',
      cause: error,
    })
  if (error.code === 'E2BIG')
    return new InvalidError('The command is too long for the system', { hint: 'Write it to a file, and run that.' })
  return error
}

/** Asks it to end, then ends it, with all that it started. */
async function stopTree(child: ChildProcess, mark: string, graceMs: number): Promise<void> {
  if (child.pid === undefined) return
  send(-child.pid, 'SIGTERM')
  if (child.exitCode === null && child.signalCode === null) {
    await within(new Promise((resolve) => child.once('exit', resolve)), graceMs)
  }
  await killTree(child.pid, mark)
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}

function drain(source: Readable, output: Output, onOutput: ((chunk: Buffer) => void) | undefined): Promise<void> {
  source.on('data', (chunk: Buffer) => {
    output.add(chunk)
    onOutput?.(chunk)
  })
  return new Promise((resolve) => {
    source.once('close', () => resolve()).once('error', () => resolve())
  })
}

interface Pipe {
  readonly readEnd: Readable
  readonly writeEnd: number
}

/**
 * One pipe for both outputs, so that they keep their order. Node makes socket pairs, one for each output, which also cannot be opened
 * as `/dev/stderr`. Undefined where there is no place for one: then those have to do.
 */
async function openPipe(): Promise<Pipe | undefined> {
  let folder: string | undefined
  try {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-pipe-'))
    const file = path.join(folder, 'out')
    await promisify(execFile)('mkfifo', ['-m', '600', file])
    // The reader first: a writer would wait for one.
    const readEnd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
    const writeEnd = fs.openSync(file, fs.constants.O_WRONLY)
    return { readEnd: new net.Socket({ fd: readEnd, readable: true, writable: false }), writeEnd }
  } catch {
    return undefined
  } finally {
    if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true })
  }
}

function shell(): string {
  return ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].find((file) => fs.existsSync(file)) ?? '/bin/sh'
}

const modelKeys =
  /^(?:(?:ANTHROPIC|OPENAI|AZURE_OPENAI|GEMINI|GOOGLE|GOOGLE_GENERATIVE_AI|MISTRAL|GROQ|XAI|DEEPSEEK|OPENROUTER|TOGETHER(?:_AI)?|FIREWORKS|COHERE|PERPLEXITY|CEREBRAS|MOONSHOT|DASHSCOPE|ZAI|AI_GATEWAY)_(?:API|ADMIN)_KEY|ANTHROPIC_AUTH_TOKEN|CLAUDE_CODE_OAUTH_TOKEN)$/i

/** The keys of models are the agent's, not its commands'. */
export function withoutModelKeys(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !modelKeys.test(name)))
}
