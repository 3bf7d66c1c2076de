// The channels that a notification goes out through, a webhook or a program of the user's own, and the attempts to send it.

import * as z from 'zod'
import { pause, type Run, runCommand } from '../system/index.ts'
import {
  bounded,
  cut,
  desktopText,
  type Notification,
  type NotificationRecord,
  shapes,
  utf8Bytes,
} from './notification.ts'
import { type CommandChannel, isWebAddress, type Level, type WebhookChannel } from './settings.ts'

export interface WebhookOptions {
  readonly fetch: typeof fetch
  readonly env: NodeJS.ProcessEnv
  readonly timeoutMs: number
  readonly now: () => number
}

/** How much of an answer is read: enough to understand it. */
const answerBytes = 1_024

/** One POST. A redirect is not followed: it would turn the POST into a GET, and carry secrets elsewhere. */
export async function post(
  channel: WebhookChannel,
  told: Notification,
  options: WebhookOptions,
  closing: AbortSignal,
): Promise<Attempt> {
  let request: { url: string; init: RequestInit }
  try {
    request = shaped(channel, told, options)
  } catch (error) {
    return { status: 'refused', error: (error as Error).message }
  }
  const signal = AbortSignal.any([closing, AbortSignal.timeout(options.timeoutMs)])
  try {
    const response = await options.fetch(request.url, { ...request.init, method: 'POST', redirect: 'manual', signal })
    return await judged(response, options.now())
  } catch (error) {
    if (closing.aborted) return { status: 'refused', error: 'the program ended before it answered' }
    if (signal.aborted) return { status: 'retry', error: `no answer within ${options.timeoutMs} ms` }
    return { status: 'retry', error: networkProblem(error) }
  }
}

function shaped(channel: WebhookChannel, told: Notification, { env, now }: WebhookOptions) {
  const url = revealed(channel.url, env)
  if (!isWebAddress(url)) throw new Error(`${channel.url} does not hold an http(s) address`)
  const chatId = typeof channel.chatId === 'string' ? revealed(channel.chatId, env) : channel.chatId
  const { headers, body } = shapes[channel.preset](told, new Date(now()).toISOString(), chatId)
  const own = Object.entries(channel.headers).map(([name, value]) => [name.toLowerCase(), revealed(value, env)])
  // Made here, so that a header that cannot be sent is a failure of the settings and not of the network.
  const all = new Headers({ ...headers, ...(Object.fromEntries(own) as Record<string, string>) })
  return { url, init: { headers: all, body } }
}

function revealed(value: string, env: NodeJS.ProcessEnv): string {
  if (!value.startsWith('env:')) return value
  const name = value.slice('env:'.length)
  const found = env[name]
  if (found === undefined || found === '') throw new Error(`the variable ${name} is not set`)
  return found
}

async function judged(response: Response, now: number): Promise<Attempt> {
  const { status } = response
  if (response.ok) {
    await response.body?.cancel()
    return { status: 'sent' }
  }
  if (status >= 300 && status < 400) {
    await response.body?.cancel()
    return { status: 'refused', error: `it answered ${status}, a redirect: use the address it leads to` }
  }
  const answer = await beginning(response)
  const error = `it answered ${status}${answer === '' ? '' : `: ${oneLine(answer)}`}`
  if (status === 429 || status === 503) return { status: 'retry', error, afterMs: retryAfter(response, answer, now) }
  if (status >= 500 || status === 408 || status === 425) return { status: 'retry', error }
  return { status: 'refused', error }
}

async function beginning(response: Response): Promise<string> {
  if (response.body === null) return ''
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  while (bytes < answerBytes) {
    const { done, value } = await reader.read()
    if (done) break
    chunks.push(value)
    bytes += value.length
  }
  await reader.cancel()
  return Buffer.concat(chunks).subarray(0, answerBytes).toString('utf8')
}

/** Telegram says it in the answer, the others in a header: seconds or a date. */
const telegramAnswer = z.object({ parameters: z.object({ retry_after: z.number().min(0) }) })

function retryAfter(response: Response, answer: string, now: number): number | undefined {
  const header = response.headers.get('retry-after')?.trim() ?? ''
  if (/^\d+$/.test(header)) return Number(header) * 1000
  const date = header === '' ? Number.NaN : Date.parse(header)
  if (!Number.isNaN(date)) return Math.max(0, date - now)
  try {
    return telegramAnswer.parse(JSON.parse(answer)).parameters.retry_after * 1000
  } catch {
    return undefined // an answer of another kind: then the usual pause
  }
}

function networkProblem(error: unknown): string {
  const cause = (error as Error).cause
  const code = (cause as NodeJS.ErrnoException | undefined)?.code
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : (error as Error).message
  return oneLine(code === undefined || reason.includes(code) ? reason : `${code} ${reason}`)
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 300)
}

export interface CommandOptions {
  readonly env: NodeJS.ProcessEnv
  readonly timeoutMs: number
  readonly now: () => number
}

/** How much of the command's stderr is kept; its last line is reported. */
const keptBytes = 16 * 1024
/** How long to wait, after the command has ended, for output that is still in the pipe. */
const drainMs = 250

/**
 * Runs a program: it gets JSON on its standard input and the short texts in its environment, without a shell in between.
 */
export async function notifyCommand(
  command: CommandChannel['command'],
  told: Omit<NotificationRecord, 'at'>,
  { env, timeoutMs, now }: CommandOptions,
  closing: AbortSignal,
): Promise<Attempt> {
  if (closing.aborted) return { status: 'refused', error: 'the program ended before it was run' }
  const notification: NotificationRecord = { ...bounded(told), at: new Date(now()).toISOString() }
  let run: Run
  try {
    run = await runCommand(command, {
      env: { ...env, ...variables(notification) },
      input: `${JSON.stringify(notification)}\n`,
      keep: 'stderr',
      keptBytes,
      timeoutMs,
      signal: closing,
      leftovers: 'keep',
      drainMs,
    })
  } catch (error) {
    // The program does not exist or cannot be run: the next attempt would find the same.
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const reason = isMissing ? `there is no program ${command[0]}` : (error as Error).message
    return { status: 'refused', error: reason }
  }
  const { end, code, output } = run
  if (end === 'aborted') return { status: 'refused', error: 'the program ended while it ran' }
  if (end === 'timeout') return { status: 'retry', error: `it ran longer than ${timeoutMs} ms and was ended` }
  if (code === 0) return { status: 'sent' }
  const last = output.whole().toString('utf8').trim().split('\n').at(-1) ?? ''
  const ended = end === 'exit' ? `it ended with ${code}` : `it was ended by ${code}`
  return { status: 'retry', error: last === '' ? ended : `${ended}: ${last.slice(0, 300)}` }
}

const urgency: Record<Level, string> = { info: 'low', warning: 'normal', critical: 'critical' }

/** The program of the desktop that shows it: notify-send, which most Linux desktops bring, or osascript on macOS. */
export function desktopCommand(told: Notification, platform: NodeJS.Platform): string[] {
  const { title, body } = desktopText(told)
  if (platform !== 'darwin') {
    // Desktops read tags in the body.
    const plain = body.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
    return ['notify-send', '--app-name=Baton', `--urgency=${urgency[told.level]}`, '--', title, plain]
  }
  const script = ['on run {heading, words}', 'display notification words with title heading', 'end run']
  return ['osascript', ...script.flatMap((line) => ['-e', line]), title, body]
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

/** One attempt: done, not worth another, or worth one after a while. */
type Attempt =
  | { readonly status: 'sent' }
  | { readonly status: 'refused'; readonly error: string }
  | { readonly status: 'retry'; readonly error: string; readonly afterMs?: number | undefined }

export interface Attempts {
  readonly attempts: number
  /** Undefined when the last attempt worked. */
  readonly error: string | undefined
}

/** A server that wants to be left alone for longer than this has refused, as far as this notification goes. */
const longestWaitMs = 60_000
/** The longest pause between two attempts. */
const longestBackoffMs = 300_000

/** Tries until an attempt works, or until it is clear that none will. */
export async function attempt(
  one: (signal: AbortSignal) => Promise<Attempt>,
  {
    retries,
    backoffMs,
    patienceMs = 0,
    signal,
  }: { retries: number; backoffMs: number; patienceMs?: number | undefined; signal: AbortSignal },
): Promise<Attempts> {
  const began = performance.now()
  for (let attempts = 1; ; attempts++) {
    const result = await one(signal)
    if (result.status === 'sent') return { attempts, error: undefined }
    if (result.status === 'refused') return { attempts, error: result.error }
    if (signal.aborted) return { attempts, error: `${result.error}; the program ended before it was tried again` }
    const isPatient = performance.now() - began < patienceMs
    if (attempts > retries && !isPatient) return { attempts, error: result.error }
    const { afterMs } = result
    if (afterMs !== undefined && afterMs > longestWaitMs && !isPatient) {
      return { attempts, error: `${result.error}; it asks to wait ${Math.ceil(afterMs / 1000)} s, which is too long` }
    }
    // Spread, so that many who failed together do not come back together.
    const doubled = Math.min(backoffMs * 2 ** Math.min(attempts - 1, 30), longestBackoffMs)
    await pause(afterMs ?? doubled * (0.75 + Math.random() / 2), signal)
    if (signal.aborted) return { attempts, error: `${result.error}; the program ended before it was tried again` }
  }
}
