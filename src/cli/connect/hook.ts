// `baton hook`: what agents run at their events. Agents wait for it, so main.ts comes here without loading the other commands.
// Whatever goes wrong, the agent hears nothing of it: the exit code is 0, and the log has the error.

import { spawn } from 'node:child_process'
import {
  answerHook,
  HookState,
  printedAnswer,
  readInput,
  joinStatus,
  originalStatusLine,
  ownStatusLine,
  type StatusInput,
  statusText,
} from '../../connect/index.ts'
import type { Io } from '../base/io.ts'

/** How long to wait for what the agent writes on standard input. */
const patienceMs = 1_000

export async function hook(io: Io, agent: string, event: string): Promise<void> {
  try {
    const text = await inputOf(io)
    if (event === 'statusline') return await printStatusLine(io, agent, text)
    const { text: answer, given, hasWork } = answerHook(agent, event, readInput(text, io.cwd()), io.env)
    if (answer !== undefined) {
      await print(io, `${printedAnswer(event, answer)}\n`)
      given?.()
    }
    if (hasWork) startWorker(io)
  } catch (error) {
    new HookState(io.env).log(`${agent} ${event}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Resolves when the agent's end of the pipe has all of it. */
function print({ stdout }: Io, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.once('error', reject)
    stdout.write(text, (error) => (error instanceof Error ? reject(error) : resolve()))
  })
}

/** Starts Baton again to do the jobs; it outlives the hook. */
export function startWorker({ self: [node, script], env }: Io): void {
  const child = spawn(node, [script, 'hook', '--work'], { env, detached: true, stdio: 'ignore', cwd: '/' })
  child.on('error', (error) => new HookState(env).log(`the worker did not start: ${error.message}`))
  child.unref()
}

async function inputOf({ stdin }: Io): Promise<string> {
  if (stdin.isTTY === true) return ''
  const chunks: Buffer[] = []
  await new Promise<void>((resolve) => {
    const enough = setTimeout(resolve, patienceMs)
    stdin.on('data', (chunk: Buffer) => chunks.push(Buffer.from(chunk)))
    stdin.on('end', () => resolve(clearTimeout(enough)))
    stdin.on('error', () => resolve(clearTimeout(enough)))
  })
  stdin.destroy()
  return Buffer.concat(chunks).toString('utf8')
}

/** `baton hook claude statusline`: the person's own line with Baton's behind it. */
export async function printStatusLine(io: Io, agent: string, text: string): Promise<void> {
  const input = (text.trim() === '' ? {} : JSON.parse(text)) as StatusInput & { session_id?: string }
  const command = originalStatusLine(io.env, agent)
  const own = command === undefined ? '' : ownStatusLine(command, text, io.env)
  const gauge = new HookState(io.env).gauge(agent, input.session_id ?? '')
  io.stdout.write(`${joinStatus(own, statusText(input, gauge))}\n`)
}
