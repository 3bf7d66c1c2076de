// Tells people. A notification is an effect beside the work: it never throws into the work, and never fails in silence.
// What happened on every channel is returned, and each failure is given to `onFailure`, so that callers record it.

import { setMaxListeners } from 'node:events'
import { attempt, desktopCommand, notifyCommand, post } from './channels.ts'
import type { Notification } from './notification.ts'
import type { Channel, NotifySettings } from './settings.ts'

export type NotifyOutcome = { readonly channel: string } & (
  | { readonly status: 'sent'; readonly attempts: number; readonly ms: number }
  | {
      readonly status: 'failed'
      readonly attempts: number
      readonly ms: number
      readonly error: string
      /** The notifier was closed before it was clear whether the channel can be reached. */
      readonly unfinished?: boolean
    }
  /** The same key was sent there a short while ago. */
  | { readonly status: 'repeated' }
)

export interface NotifyFailure {
  readonly channel: string
  readonly error: string
  readonly notification: Notification
  /** The notifier was closed before it was clear whether the channel can be reached. */
  readonly unfinished: boolean
}

export interface NotifierOptions {
  fetch?: typeof fetch
  now?: () => number
  env?: NodeJS.ProcessEnv
  platform?: NodeJS.Platform
  /** Called once for each channel that could not be reached. What it throws is added to the outcome. */
  onFailure?: (failure: NotifyFailure) => void | Promise<void>
  /** Before the first retry; doubled for each further one. */
  backoffMs?: number
  /** For so long a channel is tried again and again, however often it has failed. */
  patienceMs?: number
  /** How long a key stands: the same key within it is not sent again. */
  repeatMs?: number
}

/** Sends notifications to people, over every channel that takes their level. */
export interface Notifier {
  /** How many channels there are. */
  readonly channels: number
  /** Resolves when every channel that takes this level has been tried, or each of those named; never rejects. */
  notify(notification: Notification, channels?: readonly string[]): Promise<NotifyOutcome[]>
  /** Waits for what is under way, then gives it up; notifications after that fail. */
  close(options?: { withinMs?: number }): Promise<void>
}

const rememberedKeys = 10_000

/** Opens the channels of a configuration: webhooks, commands, the desktop. */
export function openNotifier(settings: NotifySettings, options: NotifierOptions = {}): Notifier {
  const {
    now = Date.now,
    env = process.env,
    platform = process.platform,
    backoffMs = 500,
    repeatMs = 600_000,
  } = options
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const underWay = new Set<Promise<unknown>>()
  /** Channel and key: when it was sent. */
  const sent = new Map<string, number>()
  const doors = settings.channels.map((channel, at) => ({ channel, at, name: channelName(channel) }))
  const tools = { fetch: options.fetch ?? fetch, env, timeoutMs: settings.timeoutMs, now }

  async function tell({ channel, at, name }: (typeof doors)[number], told: Notification): Promise<NotifyOutcome> {
    const key = told.key === undefined ? undefined : `${at} ${told.key}`
    const before = key === undefined ? undefined : sent.get(key)
    if (before !== undefined && Math.abs(now() - before) < repeatMs) return { channel: name, status: 'repeated' }
    // Before it is sent: two at the same time are one. Taken back when it fails.
    if (key !== undefined) remember(key)
    const start = performance.now()
    const { attempts, error } = await tried(channel, told)
    const ms = Math.round(performance.now() - start)
    const unfinished = stop.signal.aborted
    if (error === undefined) return { channel: name, status: 'sent', attempts, ms }
    if (key !== undefined) sent.delete(key)
    const recording = await recorded({ channel: name, error, notification: told, unfinished })
    return { channel: name, status: 'failed', attempts, ms, error: `${error}${recording}`, unfinished }
  }

  async function tried(channel: Channel, told: Notification) {
    if (stop.signal.aborted) return { attempts: 0, error: 'the notifier is closed' }
    const one = (signal: AbortSignal) => {
      if (channel.type === 'webhook') return post(channel, told, tools, signal)
      const command = channel.type === 'command' ? channel.command : desktopCommand(told, platform)
      return notifyCommand(command, told, tools, signal)
    }
    try {
      return await attempt(one, {
        retries: settings.retries,
        backoffMs,
        patienceMs: options.patienceMs,
        signal: stop.signal,
      })
    } catch (error) {
      return { attempts: 1, error: error instanceof Error ? error.message : String(error) }
    }
  }

  async function recorded(failure: NotifyFailure): Promise<string> {
    try {
      await options.onFailure?.(failure)
      return ''
    } catch (error) {
      return `; and this could not be recorded: ${error instanceof Error ? error.message : String(error)}`
    }
  }

  function remember(key: string): void {
    sent.delete(key)
    sent.set(key, now())
    if (sent.size > rememberedKeys) sent.delete(sent.keys().next().value!)
  }

  return {
    channels: doors.length,
    async notify(told, channels) {
      const wanted = doors.filter(
        ({ channel, name }) => channel.levels.includes(told.level) && (channels?.includes(name) ?? true),
      )
      const work = Promise.all(wanted.map((door) => tell(door, told)))
      underWay.add(work)
      try {
        return await work
      } finally {
        underWay.delete(work)
      }
    },
    async close({ withinMs = 5_000 } = {}) {
      const timer = setTimeout(() => stop.abort(), withinMs)
      await Promise.all(underWay)
      clearTimeout(timer)
      stop.abort()
    },
  }
}

/** Never the whole address: it often is the secret. */
function channelName(channel: Channel): string {
  if (channel.name !== undefined) return channel.name
  if (channel.type === 'desktop') return 'desktop'
  if (channel.type === 'command') return `command ${channel.command[0]}`
  const { preset, url } = channel
  return `${preset} ${url.startsWith('env:') ? url : new URL(url).host}`
}
