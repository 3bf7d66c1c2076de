// The relay as the commands hold it: with the settings of baton.config.json, with telemetry where the variables ask for it,
// and with whoever is to be told.

import { loadConfig } from '../config/config.ts'
import { type Notifier, notifySection, openNotifier } from '../notify/index.ts'
import { escalationNotice } from '../relay/notices.ts'
import { openRelay, type Relay } from '../relay/relay.ts'
import { openTeller } from '../relay/teller.ts'
import { relaySection } from '../relay/settings.ts'
import type { Store } from '../store/index.ts'
import { type HandoffTelemetry, handoffTelemetry, startSdk, telemetrySection } from '../telemetry/index.ts'
import type { Globals, Output } from './output.ts'
import { withStore } from './workspace.ts'

export interface Door {
  readonly relay: Relay
  readonly store: Store
  readonly notifier: Notifier
  readonly telemetry: HandoffTelemetry
  readonly out: Output
}

export async function withRelay<T>(globals: Globals, work: (door: Door) => Promise<T>): Promise<T> {
  const config = loadConfig()
  const settings = config.section('relay', relaySection)
  const telemetry = handoffTelemetry(config.section('telemetry', telemetrySection))
  const notify = config.section('notify', notifySection)
  return withStore(globals, async (store, out) => {
    const sdk = await startSdk((text) => out.warn(text))
    const notifier = openNotifier(notify, {
      onFailure: async ({ channel, error, notification }) => {
        out.warn(`baton: ${channel} could not be told "${notification.title}": ${error}`)
        const data = { channel, error, title: notification.title, source: notification.source }
        const payload = { name: 'notify_failed', data }
        await store.append('relay/notices', [{ kind: 'event', payload, meta: { key: 'failed', context: false } }])
      },
    })
    const teller = openTeller({ store, notifier })
    const relay = await openRelay({
      store,
      settings,
      telemetry,
      notify: async (escalation) => void (await teller.tell(escalationNotice(escalation))),
    })
    try {
      return await work({ relay, store, notifier, telemetry, out })
    } finally {
      // The relay waits until people were told; for how long at most is said here.
      const enough = setTimeout(() => void notifier.close({ withinMs: 0 }), 15_000)
      try {
        await relay.close()
      } finally {
        clearTimeout(enough)
        await notifier.close()
        await sdk?.end()
      }
    }
  })
}
