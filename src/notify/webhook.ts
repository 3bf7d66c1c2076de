// One POST to a webhook. A redirect is not followed: it would turn the POST into a GET, and carry secrets elsewhere.

import * as z from 'zod'
import type { Attempt } from './attempts.ts'
import type { Notification } from './notification.ts'
import { shapes } from './presets.ts'
import { isWebAddress, type WebhookChannel } from './settings.ts'

export interface WebhookOptions {
  readonly fetch: typeof fetch
  readonly env: NodeJS.ProcessEnv
  readonly timeoutMs: number
  readonly now: () => number
}

/** Of an answer, as much is read as helps to understand it. */
const answerBytes = 1_024

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
