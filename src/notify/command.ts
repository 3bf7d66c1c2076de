// A program of the user's own that is told: JSON on its stdin, the short texts in its environment, no shell between.

import { spawn } from 'node:child_process'
import { killTree } from '../system/process-tree.ts'
import type { Attempt } from './attempts.ts'
import { cut, type NotificationRecord, utf8Bytes } from './notification.ts'
import { bounded } from './presets.ts'
import type { CommandChannel } from './settings.ts'

export interface CommandOptions {
  readonly env: NodeJS.ProcessEnv
  readonly timeoutMs: number
  readonly now: () => number
}

/** Of what it writes to stderr, the end is kept. */
const keptCharacters = 2_000
/** After it has ended: for output that is still in the pipe. */
const graceMs = 250

export async function runCommand(
  { command }: CommandChannel,
  told: Omit<NotificationRecord, 'at'>,
  { env, timeoutMs, now }: CommandOptions,
  closing: AbortSignal,
): Promise<Attempt> {
  if (closing.aborted) return { status: 'refused', error: 'the program ended before it was run' }
  const notification: NotificationRecord = { ...bounded(told), at: new Date(now()).toISOString() }
  const [program, ...args] = command
  const child = spawn(program!, args, {
    env: { ...env, ...variables(notification) },
    detached: process.platform !== 'win32',
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-keptCharacters)))
  // It may end without reading.
  child.stdin.on('error', () => {}).end(`${JSON.stringify(notification)}\n`)
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let why: 'timeout' | 'closing' | undefined
  const end = (reason: 'timeout' | 'closing') => {
    why = reason
    killTree(child)
  }
  const timer = setTimeout(() => end('timeout'), timeoutMs)
  const close = () => end('closing')
  closing.addEventListener('abort', close)
  try {
    const [code, killedBy] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.once('exit', (code, by) => resolve([code, by])).once('error', reject)
    })
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, graceMs))])
    if (why === 'closing') return { status: 'refused', error: 'the program ended while it ran' }
    if (why === 'timeout') return { status: 'retry', error: `it ran longer than ${timeoutMs} ms and was ended` }
    if (code === 0) return { status: 'sent' }
    const last = said.trim().split('\n').at(-1) ?? ''
    const ended = killedBy === null ? `it ended with ${code}` : `it was ended by ${killedBy}`
    return { status: 'retry', error: last === '' ? ended : `${ended}: ${last.slice(0, 300)}` }
  } catch (error) {
    // Not there, or not a program: the next attempt would find the same.
    return { status: 'refused', error: (error as Error).message }
  } finally {
    clearTimeout(timer)
    closing.removeEventListener('abort', close)
    child.stderr.destroy()
  }
}

function variables({ level, title, body, action, source, key, at }: NotificationRecord): Record<string, string> {
  const given = { LEVEL: level, TITLE: title, BODY: body, ACTION: action, SOURCE: source, KEY: key ?? '', AT: at }
  // A variable ends at a zero byte, and all of them together have to fit beside the arguments.
  const fitting = Object.entries(given).map(([name, text]) => [
    `BATON_NOTIFY_${name}`,
    cut(text.replaceAll('\0', ''), 4_000, utf8Bytes),
  ])
  return Object.fromEntries(fitting) as Record<string, string>
}
