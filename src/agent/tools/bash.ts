// A shell command. What does not fit into the context is kept whole as a blob; the context gets its beginning and its end.

import fs from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import * as z from 'zod'
import { InvalidError, StorageError } from '../../errors.ts'
import type { Tape } from '../../tape/index.ts'
import { type Output, type Run, runCommand, type Stray } from '../../system/index.ts'
import { defineTool } from './tool.ts'
import { isText, mediaType } from './open-file.ts'

const defaultSeconds = 120
const maxSeconds = 1_800
/** Output up to this size is given as it is. */
const shownBytes = 16 * 1024
const headBytes = 5 * 1024
const tailBytes = 10 * 1024
/** The most that is streamed while the command runs; nobody reads more at that pace. */
const liveBytes = 1024 * 1024

export const bash = defineTool('bash', {
  description:
    'Run a shell command in the workspace. Output and errors come together, long output with its middle left out and a reference for blob.read. ' +
    'There is no input and no terminal. Processes that are left in the background end with the call.',
  input: z.object({
    command: z.string().min(1),
    timeout: z.number().positive().max(maxSeconds).default(defaultSeconds).describe('Seconds'),
  }),
  access: ({ command }) => ({ kind: 'command', command }),
  async run({ command, timeout }, { tape, cwd, signal, onOutput, runId, callId }) {
    const run = await runShell(command, {
      cwd,
      timeoutMs: timeout * 1000,
      signal,
      onOutput: live(onOutput),
      mark: callMark(runId, callId),
    })
    const lines = [
      `Exit code: ${typeof run.code === 'number' ? run.code : `none (${run.code})`}`,
      `Wall time: ${run.seconds} s`,
      'Output:',
      await shown(run.output, tape),
      ...endingOf(run, timeout),
    ]
    return { output: lines.join('\n'), ...(run.end === 'exit' ? {} : { isError: true }) }
  },
})

function live(onOutput: (chunk: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8')
  let sent = 0
  return (chunk) => {
    if (sent >= liveBytes) return
    sent += chunk.length
    onOutput(decoder.write(chunk.subarray(0, liveBytes)))
    if (sent >= liveBytes) onOutput('\n[more output follows; it is kept, not shown]\n')
  }
}

function endingOf({ end, left, alive }: Run, timeout: number): string[] {
  const lines: string[] = []
  const gone = left.filter(({ pid }) => !alive.some((each) => each.pid === pid))
  if (gone.length > 0 && end === 'exit') lines.push(`[left running and ended with the call: ${strayNames(gone)}]`)
  if (alive.length > 0) lines.push(`[could not be ended and still running: ${strayNames(alive)}]`)
  if (end === 'timeout') lines.push(`Command timed out after ${timeout} s and was ended with all that it had started`)
  if (end === 'aborted') lines.push('Command aborted')
  return lines
}

export function strayNames(processes: readonly Stray[]): string {
  const names = processes.slice(0, 5).map(({ pid, command }) => `${pid} ${command.slice(0, 80)}`)
  return `${names.join('; ')}${processes.length > 5 ? '; …' : ''}`
}

async function shown(output: Output, tape: Tape): Promise<string> {
  if (output.bytes === 0) return '(no output)'
  const whole = output.whole()
  const looksLikeText = isText(whole.subarray(0, 64 * 1024))
  if (looksLikeText && output.bytes <= shownBytes) return whole.toString().replace(/\n$/, '')
  const kept = await keep(whole, output, tape)
  if (!looksLikeText) return `[binary output: ${mediaType(whole)}, ${output.bytes} bytes; ${kept}]`
  const head = cutBehind(whole.subarray(0, headBytes))
  const tail = cutBefore(whole.subarray(-tailBytes))
  const left = output.bytes - Buffer.byteLength(head) - Buffer.byteLength(tail)
  return `${head}\n[… ${left} of ${output.bytes} bytes left out; ${kept} …]\n${tail.replace(/\n$/, '')}`
}

async function keep(whole: Buffer, output: Output, tape: Tape): Promise<string> {
  try {
    const { sha256 } = await tape.store.putBlob(whole)
    const part = output.missing === 0 ? 'all of it' : `its beginning and end, ${whole.length} bytes`
    return `${part}: blob.read sha256=${sha256}`
  } catch (error) {
    // The command has run, so its result must be reported even if the disk is full.
    return `it could not be kept: ${(error as Error).message}`
  }
}

/** The text up to its last line end, if that is near; never cut within a character. */
function cutBehind(bytes: Buffer): string {
  const end = bytes.lastIndexOf(10)
  if (end > bytes.length / 2) return bytes.toString('utf8', 0, end)
  return bytes.toString().replace(/\ufffd+$/, '')
}

function cutBefore(bytes: Buffer): string {
  const start = bytes.indexOf(10) + 1
  if (start > 0 && start < bytes.length / 2) return bytes.toString('utf8', start)
  return bytes.toString().replace(/^\ufffd+/, '')
}

/** How long a command may take to end by itself after SIGTERM; whoever cancels does not want to wait. */
const graceMs = { timeout: 2_000, aborted: 300 }

interface ShellOptions {
  readonly cwd: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onOutput?: (chunk: Buffer) => void
  readonly mark: string
}

/** What the processes of a call carry in their environment, so that they are found even after this process has died. */
export function callMark(runId: string, callId: string): string {
  return `${runId}/${encodeURIComponent(callId)};`
}

async function runShell(command: string, options: ShellOptions): Promise<Run> {
  if (command.includes('\0')) throw new InvalidError('The command holds a null byte', { path: 'command' })
  if (!fs.existsSync(options.cwd)) throw new InvalidError(`The folder ${options.cwd} is not there any more`)
  const env = {
    ...withoutModelKeys(process.env),
    // There is no person to use a pager or to type a password.
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
  }
  try {
    return await runCommand([shell(), '-c', '--', command], { ...options, env, graceMs, leftovers: 'end-all' })
  } catch (error) {
    throw explained(error as NodeJS.ErrnoException)
  }
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

function shell(): string {
  return ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].find((file) => fs.existsSync(file)) ?? '/bin/sh'
}

const modelKeys =
  /^(?:(?:ANTHROPIC|OPENAI|AZURE_OPENAI|GEMINI|GOOGLE|GOOGLE_GENERATIVE_AI|MISTRAL|GROQ|XAI|DEEPSEEK|OPENROUTER|TOGETHER(?:_AI)?|FIREWORKS|COHERE|PERPLEXITY|CEREBRAS|MOONSHOT|DASHSCOPE|ZAI|AI_GATEWAY)_(?:API|ADMIN)_KEY|ANTHROPIC_AUTH_TOKEN|CLAUDE_CODE_OAUTH_TOKEN)$/i

/** API keys of model providers are for the agent, not for the commands it runs. */
export function withoutModelKeys(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !modelKeys.test(name)))
}
