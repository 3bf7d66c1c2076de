// What the relay needs while nobody uses it: overdue requests are ended, old traces are archived, people are notified of escalations (also when the
// process that asked them died before it could), and alerts are evaluated. Any number of processes may do this at once.

import { BatonError } from '../errors.ts'
import type { Notifier } from '../notify/index.ts'
import type { Store } from '../store/index.ts'
import { type Alert, openAlerts } from './alerts/alerts.ts'
import { unlessLost } from './people/escalations.ts'
import { escalationNotice } from './people/notices.ts'
import type { Relay } from './relay.ts'
import { reachedNobody, openOnceNotifier } from './people/notify-once.ts'
import { pause } from './timers.ts'

export interface MaintainRelayOptions {
  readonly relay: Relay
  readonly store: Store
  readonly signal: AbortSignal
  readonly notifier?: Notifier | undefined
  /** The pause between two rounds. */
  readonly everyMs?: number
  /** Called after each round, with all alerts. */
  readonly onAlerts?: (alerts: readonly Alert[]) => void
  /** Called when the store fails, as on a full disk; the next round tries again. Without it, the error ends the maintenance. */
  readonly onStorageError?: (error: BatonError) => void
  readonly now?: () => number
}

/** Maintains a relay until aborted. */
export async function maintainRelay(options: MaintainRelayOptions): Promise<void> {
  const { relay, store, signal, notifier, everyMs = 5_000, onAlerts, onStorageError, now } = options
  const clock = now === undefined ? {} : { now }
  const alerts = openAlerts({ relay, store, notifier, ...clock })
  const onceNotifier = notifier && openOnceNotifier({ store, notifier, ...clock })
  const notified = new Set<string>()

  async function notifyPeople(): Promise<void> {
    if (onceNotifier === undefined || notifier?.channels === 0) return
    const waiting = new Set(await relay.escalations.ids())
    for (const id of notified) if (!waiting.has(id)) notified.delete(id)
    for (const id of waiting) {
      if (signal.aborted) return
      if (notified.has(id)) continue
      const escalation = await relay.escalations.show(id).catch(unlessLost)
      const delivery = escalation && (await onceNotifier.notify(escalationNotice(escalation)))
      if (delivery === undefined) continue
      // Each attempt at an unreachable channel takes time, and overdue requests must not wait for all of them.
      if (reachedNobody(delivery)) return
      notified.add(id)
    }
  }

  while (!signal.aborted) {
    try {
      await relay.sweep()
      await relay.archiveWhenDue()
      await notifyPeople()
      onAlerts?.(await alerts.evaluate())
    } catch (error) {
      if (onStorageError === undefined || !BatonError.is(error) || error.code !== 'storage') throw error
      onStorageError(error)
    }
    await pause(everyMs, signal)
  }
}
