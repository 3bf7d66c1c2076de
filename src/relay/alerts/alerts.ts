// Records on a tape which alerts are on, so that all processes agree on when one came on.

import * as z from 'zod'
import { BatonError } from '../../errors.ts'
import type { Notifier } from '../../notify/index.ts'
import type { Store } from '../../store/index.ts'
import { type AlertName, isOver, type AlertReading } from './alert-rules.ts'
import { alertNotice } from '../people/notices.ts'
import type { Relay } from '../relay.ts'
import { openOnceNotifier, type NoticeDelivery } from '../people/notify-once.ts'

const tape = 'relay/alerts'

export interface Alert extends AlertReading {
  readonly on: boolean
  /** When it came on. */
  readonly since?: string | undefined
  readonly told?: NoticeDelivery | undefined
}

const recordSchema = z.object({ on: z.boolean(), since: z.string().optional(), value: z.number() })
type AlertRecord = z.output<typeof recordSchema>

export interface AlertsOptions {
  readonly relay: Pick<Relay, 'alertReadings'>
  readonly store: Store
  /** Notified of each alert that comes on, once. */
  readonly notifier?: Notifier | undefined
  readonly now?: () => number
}

export interface Alerts {
  /** Evaluates all conditions, records which alerts came on or are over, and notifies people of those that came on. */
  evaluate(): Promise<Alert[]>
}

export function openAlerts({ relay, store, notifier, now = Date.now }: AlertsOptions): Alerts {
  const onceNotifier = notifier && openOnceNotifier({ store, notifier, now })

  async function page(name: AlertName): Promise<{ id: number; record: AlertRecord | undefined }> {
    const entry = await store.latest(tape, name)
    if (entry === undefined) return { id: 0, record: undefined }
    return { id: entry.id, record: z.object({ data: recordSchema }).parse(entry.payload).data }
  }

  /** The record on the tape afterwards; another process may have been faster. */
  async function write(name: AlertName, id: number, record: AlertRecord): Promise<AlertRecord> {
    const draft = { kind: 'event', payload: { name: 'alert', data: record }, meta: { key: name, context: false } }
    try {
      await store.append(tape, [draft], { expect: { key: name, id } })
      return record
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'conflict') throw error
      return (await page(name)).record ?? record
    }
  }

  async function settle(reading: AlertReading): Promise<Alert> {
    const { name, value } = reading
    const { id, record } = await page(name)
    if (!isOver(reading)) {
      if (record?.on === true) await write(name, id, { on: false, value })
      return { ...reading, on: false }
    }
    const since = new Date(now()).toISOString()
    const current = record?.on === true ? record : await write(name, id, { on: true, since, value })
    const told = await onceNotifier?.notify(alertNotice(reading, current.since ?? ''))
    return { ...reading, on: true, since: current.since, told }
  }

  return {
    async evaluate() {
      const alerts: Alert[] = []
      for (const reading of await relay.alertReadings(now())) alerts.push(await settle(reading))
      return alerts
    },
  }
}
