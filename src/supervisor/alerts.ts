// Alerts that outlive the process that has them to tell. Each is on a tape before it is sent and until every channel has it: if
// the run ends meanwhile, or the process is killed, the next process of this machine that asks sends it.

import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { BatonError } from '../errors.ts'
import type { Notification, Notifier } from '../notify/index.ts'
import type { Store } from '../store/index.ts'
import { holderSchema, lifeOf, pause, thisProcess } from '../system/index.ts'
import type { Notify } from './run.ts'

/** No session has this name. */
const alertsTape = 'session/~alerts'
/** A service that is down at night may be up in the morning; what is older is no longer worth telling. */
export const alertMs = 12 * 3_600_000
/** So many entries are looked through for alerts that are still open. */
const looked = 1_000
/** How long to wait before the end of an alert, which a full disk refused, is written again. */
const diskMs = 5_000
/** So long the channels have when the process wants to end. */
const closeMs = 5_000

const alertSchema = z.object({
  notification: z.object({
    level: z.enum(['info', 'warning', 'critical']),
    title: z.string(),
    body: z.string(),
    action: z.string(),
    source: z.string(),
    key: z.string().optional(),
  }),
  /** Whose configuration names the channels. */
  project: z.string(),
  at: z.number(),
  host: z.string(),
  /** The channels that it is still to be sent to; missing: all of them. */
  channels: z.array(z.string()).optional(),
  /** Who is sending it; missing: nobody. */
  holder: holderSchema.optional(),
  /** Every channel has it, or will not take it. */
  over: z.literal(true).optional(),
})
type Alert = z.output<typeof alertSchema>

export interface AlertsOptions {
  readonly store: Store
  readonly project: string
  readonly notifier: Notifier
  /** An alert could not be written down: it is sent all the same, by this process only. */
  readonly onProblem: (error: Error) => void
  readonly retryMs?: number
}

/** Tells people what happens in one project. */
export class Alerts implements Notify {
  readonly #options: AlertsOptions
  readonly #underWay = new Set<Promise<boolean>>()
  readonly #closing = new AbortController()

  constructor(options: AlertsOptions) {
    this.#options = options
  }

  async notify(told: Notification): Promise<void> {
    const { store, project, notifier, onProblem, retryMs = diskMs } = this.#options
    if (notifier.channels === 0) return
    const alert = { notification: told, project, at: Date.now(), host: thisProcess().host }
    const record = new AlertRecord(store, randomUUID(), 0, onProblem)
    const work = send(record, alert, notifier, { retryMs, signal: this.#closing.signal })
    this.#underWay.add(work)
    await work
    this.#underWay.delete(work)
  }

  /** Gives the channels a moment; returns true if an alert is left for another process. */
  async close(): Promise<boolean> {
    const left = Promise.all(this.#underWay)
    const isDone = new AbortController()
    // An alert that is still being written to the tape is sent, too.
    await Promise.race([left.finally(() => isDone.abort()), pause(closeMs, isDone.signal)])
    await this.#options.notifier.close({ withinMs: 0 })
    this.#closing.abort()
    return (await left).includes(false)
  }
}

export interface DeliveryOptions {
  readonly store: Store
  /** By the configuration of that project; it tries for so long. */
  readonly openNotifier: (project: string, patienceMs: number) => Notifier
  readonly onProblem: (error: Error) => void
  readonly signal: AbortSignal
}

/** Sends the alerts that processes of this machine have left behind; resolves when each has been sent, given up, or handed back. */
export async function deliverAlerts({ store, openNotifier, onProblem, signal }: DeliveryOptions): Promise<void> {
  const work: Promise<unknown>[] = []
  for (const { record, alert } of await abandonedAlerts(store, onProblem)) {
    const notifier = openNotifier(alert.project, alert.at + alertMs - Date.now())
    const end = () => void notifier.close({ withinMs: 0 })
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    const sent = send(record, alert, notifier, { retryMs: diskMs, signal })
    work.push(sent.finally(() => signal.removeEventListener('abort', end)))
  }
  await Promise.all(work)
}

interface Patience {
  readonly retryMs: number
  /** Given when the process has to end. */
  readonly signal: AbortSignal
}

/** Returns false if it is left for another process. */
async function send(
  record: AlertRecord,
  alert: Alert,
  notifier: Notifier,
  { retryMs, signal }: Patience,
): Promise<boolean> {
  if ((await record.write({ ...alert, holder: thisProcess() })) === 'taken') return true
  const outcomes = await notifier.notify(alert.notification, alert.channels)
  const channels = outcomes.flatMap((each) =>
    each.status === 'failed' && each.unfinished === true ? [each.channel] : [],
  )
  const { holder: _holder, ...rest } = alert
  const outcome: Alert = channels.length === 0 ? { ...rest, over: true } : { ...rest, channels }
  // The disk may be full just then. Another process would send it again if it did not find that it was sent.
  while ((await record.write(outcome)) === 'failed' && !signal.aborted) await pause(retryMs, signal)
  return channels.length === 0
}

async function abandonedAlerts(
  store: Store,
  onProblem: (error: Error) => void,
): Promise<{ record: AlertRecord; alert: Alert }[]> {
  const found: { record: AlertRecord; alert: Alert }[] = []
  const seen = new Set<string>()
  for await (const { id, payload, meta } of store.read(alertsTape, { reverse: true, limit: looked })) {
    const key = String(meta['key'])
    const { data } = z.object({ data: alertSchema }).safeParse(payload).data ?? {}
    if (data === undefined || seen.has(key)) continue
    seen.add(key)
    if (data.over === true || data.host !== thisProcess().host || Date.now() - data.at > alertMs) continue
    if (data.holder !== undefined && lifeOf(data.holder) !== 'dead') continue
    const { holder: _holder, ...alert } = data
    found.push({ record: new AlertRecord(store, key, id, onProblem), alert })
  }
  return found.reverse()
}

/** The entries of one alert. Two processes that take it at the same time conflict, and one of them leaves it to the other. */
class AlertRecord {
  readonly #store: Store
  readonly #key: string
  readonly #onProblem: (error: Error) => void
  #id: number
  #hasFailed = false

  constructor(store: Store, key: string, id: number, onProblem: (error: Error) => void) {
    this.#store = store
    this.#key = key
    this.#id = id
    this.#onProblem = onProblem
  }

  /** `taken`: another process has it. A full disk keeps no alert from being sent. */
  async write(alert: Alert): Promise<'written' | 'taken' | 'failed'> {
    const key = this.#key
    const draft = { kind: 'event', payload: { name: 'alert', data: alert }, meta: { key, context: false } }
    try {
      const [entry] = await this.#store.append(alertsTape, [draft], { expect: { key, id: this.#id } })
      this.#id = entry!.id
      return 'written'
    } catch (error) {
      if (!BatonError.is(error)) throw error
      if (error.code === 'conflict') return 'taken'
      if (!this.#hasFailed) this.#onProblem(error)
      this.#hasFailed = true
      return 'failed'
    }
  }
}
