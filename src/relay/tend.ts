// What has to be done while nobody asks: requests whose time is up are ended, people are told what they are asked, also
// when whoever asked them died before it could, and alerts are evaluated. Any number of processes may do it at once.

import { BatonError } from '../errors.ts'
import type { Notifier } from '../notify/index.ts'
import type { Store } from '../store/index.ts'
import { type Alert, openAlertBook } from './alerts-book.ts'
import { escalationNotice } from './notices.ts'
import type { Relay } from './relay.ts'
import { isInVain, openTeller } from './teller.ts'
import { pause } from './timer.ts'

export interface TendOptions {
  readonly relay: Relay
  readonly store: Store
  readonly signal: AbortSignal
  readonly notifier?: Notifier | undefined
  /** How often to look. */
  readonly everyMs?: number
  /** Called after each look, with the alerts as they are. */
  readonly onAlerts?: (alerts: readonly Alert[]) => void
  /** Told of a disk that is full and its like; the next look may have more luck. Without it, that ends the tending. */
  readonly onTrouble?: (error: BatonError) => void
  readonly now?: () => number
}

/** Looks after a relay until aborted. */
export async function tend(options: TendOptions): Promise<void> {
  const { relay, store, signal, notifier, everyMs = 5_000, onAlerts, onTrouble, now } = options
  const clock = now === undefined ? {} : { now }
  const book = openAlertBook({ relay, store, notifier, ...clock })
  const teller = notifier && openTeller({ store, notifier, ...clock })
  const known = new Set<string>()

  async function tellPeople(): Promise<void> {
    if (teller === undefined || notifier?.channels === 0) return
    const waiting = new Set(await relay.escalations.ids())
    for (const id of known) if (!waiting.has(id)) known.delete(id)
    for (const id of waiting) {
      if (signal.aborted) return
      if (known.has(id)) continue
      const told = await teller.tell(escalationNotice(await relay.escalations.show(id)))
      if (told === undefined) continue
      // Each try of a channel that is out of reach takes its time, and what is overdue must not wait for all of them.
      if (isInVain(told)) return
      known.add(id)
    }
  }

  while (!signal.aborted) {
    try {
      await relay.sweep()
      await tellPeople()
      onAlerts?.(await book.evaluate())
    } catch (error) {
      if (onTrouble === undefined || !BatonError.is(error) || error.code !== 'storage') throw error
      onTrouble(error)
    }
    await pause(everyMs, signal)
  }
}
