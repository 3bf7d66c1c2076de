// Which alerts are on, kept on a tape of its own, so that all processes agree on when one came on.

import * as z from 'zod'
import { BatonError } from '../errors.ts'
import type { Notifier } from '../notify/index.ts'
import type { Store } from '../store/index.ts'
import { type AlertName, AlertWindow, isOver, type Reading } from './alerts.ts'
import { alertNotice } from './notices.ts'
import type { Relay } from './relay.ts'
import { openTeller, type Told } from './teller.ts'

const tape = 'relay/alerts'

export interface Alert extends Reading {
  readonly on: boolean
  /** When it came on. */
  readonly since?: string | undefined
  readonly told?: Told | undefined
}

const recordSchema = z.object({ on: z.boolean(), since: z.string().optional(), value: z.number() })
type AlertRecord = z.output<typeof recordSchema>

export interface AlertBookOptions {
  readonly relay: Pick<Relay, 'history' | 'settings'>
  readonly store: Store
  /** Told of what came on, once. */
  readonly notifier?: Notifier | undefined
  readonly now?: () => number
}

export interface AlertBook {
  /** Evaluates all conditions, records what came on or is over, and tells of what came on. */
  evaluate(): Promise<Alert[]>
}

export function openAlertBook({ relay, store, notifier, now = Date.now }: AlertBookOptions): AlertBook {
  const teller = notifier && openTeller({ store, notifier, now })
  const window = new AlertWindow((query) => relay.history(query), relay.settings.alerts)

  async function page(name: AlertName): Promise<{ id: number; record: AlertRecord | undefined }> {
    const entry = await store.latest(tape, name)
    if (entry === undefined) return { id: 0, record: undefined }
    return { id: entry.id, record: z.object({ data: recordSchema }).parse(entry.payload).data }
  }

  /** What the page says then; another process may have been faster. */
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

  async function settle(reading: Reading): Promise<Alert> {
    const { name, value } = reading
    const { id, record } = await page(name)
    if (!isOver(reading)) {
      if (record?.on === true) await write(name, id, { on: false, value })
      return { ...reading, on: false }
    }
    const since = new Date(now()).toISOString()
    const current = record?.on === true ? record : await write(name, id, { on: true, since, value })
    const told = await teller?.tell(alertNotice(reading, current.since ?? ''))
    return { ...reading, on: true, since: current.since, told }
  }

  return {
    async evaluate() {
      const alerts: Alert[] = []
      for (const reading of await window.readings(now())) alerts.push(await settle(reading))
      return alerts
    },
  }
}
