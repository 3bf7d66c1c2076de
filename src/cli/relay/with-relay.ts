// Opens the relay for a command: with the settings of baton.config.json, with telemetry when the environment asks for it, and with
// the channels of notifications.

import { loadConfig } from '../../config/index.ts'
import { type Notifier, notifySection, openNotifier } from '../../notify/index.ts'
import { escalationNotice, openOnceNotifier, openRelay, type Relay, relaySection } from '../../relay/index.ts'
import type { Store } from '../../store/index.ts'
import { type HandoffObserver, handoffTelemetry, startSdk, telemetrySection } from '../../telemetry/index.ts'
import { demandTrustedProject } from '../base/chosen-workspace.ts'
import type { Globals, Output } from '../base/output.ts'
import { withStore } from '../base/workspace.ts'

export interface OpenedRelay {
  readonly relay: Relay
  readonly store: Store
  readonly notifier: Notifier
  readonly telemetry: HandoffObserver
  readonly out: Output
}

export async function withRelay<T>(globals: Globals, work: (opened: OpenedRelay) => Promise<T>): Promise<T> {
  demandTrustedProject('The relay was not opened', globals)
  const config = loadConfig(globals.io.cwd())
  const settings = config.section('relay', relaySection)
  const telemetry = handoffTelemetry(config.section('telemetry', telemetrySection))
  const notify = config.section('notify', notifySection)
  return withStore(globals, async (store, out) => {
    const sdk = await startSdk((text) => out.warn(text), globals.io.env)
    const notifier = openNotifier(notify, {
      env: globals.io.env,
      onFailure: async ({ channel, error, notification }) => {
        out.warn(`baton: ${channel} could not be told "${notification.title}": ${error}`)
        const data = { channel, error, title: notification.title, source: notification.source }
        const payload = { name: 'notify_failed', data }
        await store.append('relay/notices', [{ kind: 'event', payload, meta: { key: 'failed', context: false } }])
      },
    })
    const onceNotifier = openOnceNotifier({ store, notifier })
    const relay = await openRelay({
      store,
      settings,
      telemetry,
      notify: async (escalation) => void (await onceNotifier.notify(escalationNotice(escalation))),
    })
    try {
      return await work({ relay, store, notifier, telemetry, out })
    } finally {
      // Closing waits until people are notified, for 15 seconds at most.
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
