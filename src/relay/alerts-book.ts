// Which alerts are on, and who was told. Kept on a tape of its own, so that of many processes one tells, a restart does not
// tell again, and one that dies between finding and telling is made up for by the next.

import * as z from 'zod'
import { BatonError } from '../errors.ts'
import type { Notifier } from '../notify/index.ts'
import type { Store } from '../store/index.ts'
import { type AlertName, AlertWindow, isOver, type Reading } from './alerts.ts'
import { alertNotice } from './notices.ts'
import type { Relay } from './relay.ts'

const tape = 'relay/alerts'
/** After which whoever wanted to tell is taken to have died, or its channels are tried once more. */
const tellAgainMs = 120_000

export interface Alert extends Reading {
  readonly on: boolean
  /** When it came on. */
  readonly since?: string | undefined
  readonly told?: Told | undefined
}

const toldSchema = z.object({
  at: z.string(),
  channels: z.array(z.object({ channel: z.string(), status: z.string(), error: z.string().optional() })),
})
type Told = z.output<typeof toldSchema>

const recordSchema = z.object({
  on: z.boolean(),
  since: z.string().optional(),
  /** When somebody last began to tell. */
  tellingAt: z.number().optional(),
  told: toldSchema.optional(),
  value: z.number(),
})
type AlertRecord = z.output<typeof recordSchema>

interface Page {
  readonly id: number
  readonly record: AlertRecord | undefined
}

export interface AlertBookOptions {
  readonly relay: Pick<Relay, 'history' | 'settings'>
  readonly store: Store
  readonly notifier?: Notifier | undefined
  readonly now?: () => number
}

export interface AlertBook {
  /** Evaluates all conditions, records what came on or is over, and tells of what came on. */
  evaluate(): Promise<Alert[]>
}

export function openAlertBook({ relay, store, notifier, now = Date.now }: AlertBookOptions): AlertBook {
  const window = new AlertWindow((query) => relay.history(query), relay.settings.alerts)

  async function page(name: AlertName): Promise<Page> {
    const entry = await store.latest(tape, name)
    if (entry === undefined) return { id: 0, record: undefined }
    return { id: entry.id, record: z.object({ data: recordSchema }).parse(entry.payload).data }
  }

  /** Undefined when another process was faster. */
  async function write(name: AlertName, { id }: Page, record: AlertRecord): Promise<Page | undefined> {
    const draft = { kind: 'event', payload: { name: 'alert', data: record }, meta: { key: name, context: false } }
    try {
      const [entry] = await store.append(tape, [draft], { expect: { key: name, id } })
      return { id: entry!.id, record }
    } catch (error) {
      if (BatonError.is(error) && error.code === 'conflict') return undefined
      throw error
    }
  }

  async function settle(reading: Reading): Promise<Alert> {
    let current = await page(reading.name)
    const { value } = reading
    if (!isOver(reading)) {
      if (current.record?.on === true) await write(reading.name, current, { on: false, value })
      return { ...reading, on: false }
    }
    if (current.record?.on !== true) {
      const since = new Date(now()).toISOString()
      current = (await write(reading.name, current, { on: true, since, value })) ?? (await page(reading.name))
    }
    return { ...reading, ...(await tell(reading, current)) }
  }

  async function tell(reading: Reading, current: Page): Promise<Pick<Alert, 'on' | 'since' | 'told'>> {
    const record = current.record ?? { on: true, value: reading.value }
    const { since, told, tellingAt } = record
    const isSomebodyAtIt = tellingAt !== undefined && Math.abs(now() - tellingAt) < tellAgainMs
    if (notifier === undefined || notifier.channels === 0 || told !== undefined || isSomebodyAtIt) {
      return { on: true, since, told }
    }
    const mine = await write(reading.name, current, { ...record, tellingAt: now() })
    if (mine === undefined) return { on: true, since, told: (await page(reading.name)).record?.told }
    const outcomes = await notifier.notify(alertNotice(reading, since ?? ''))
    const channels = outcomes.map((each) => ({
      channel: each.channel,
      status: each.status,
      ...(each.status === 'failed' ? { error: each.error } : {}),
    }))
    const tried = { at: new Date(now()).toISOString(), channels }
    // With every channel out of reach nobody knows yet: left open, so that a later evaluation tries again.
    if (channels.length > 0 && channels.every(({ status }) => status === 'failed')) {
      return { on: true, since, told: tried }
    }
    await write(reading.name, mine, { ...record, told: tried })
    return { on: true, since, told: tried }
  }

  return {
    async evaluate() {
      const alerts: Alert[] = []
      for (const reading of await window.readings(now())) alerts.push(await settle(reading))
      return alerts
    },
  }
}
