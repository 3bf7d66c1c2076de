// The relay of a workspace: with the settings of baton.config.json, with telemetry where the environment asks for it, and with the
// channels of notifications.

import { loadConfig } from '../../config/index.ts'
import { type Notifier, notifySection, openNotifier } from '../../notify/index.ts'
import { escalationNotice, openOnceNotifier, openRelay, type Relay, relaySection } from '../../relay/index.ts'
import type { Store } from '../../store/index.ts'
import { type HandoffObserver, handoffTelemetry, startSdk, telemetrySection } from '../../telemetry/index.ts'

export interface OpenedRelay {
  readonly relay: Relay
  readonly notifier: Notifier
  readonly telemetry: HandoffObserver
  /** Waits until people are notified, for 15 seconds at most. */
  close(): Promise<void>
}

interface Place {
  readonly store: Store
  /** The folder whose configuration counts. */
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly warn: (text: string) => void
}

export async function openWorkspaceRelay({ store, cwd, env, warn }: Place): Promise<OpenedRelay> {
  const config = loadConfig(cwd)
  const settings = config.section('relay', relaySection)
  const telemetry = handoffTelemetry(config.section('telemetry', telemetrySection))
  const notify = config.section('notify', notifySection)
  const sdk = await startSdk(warn, env)
  const notifier = openNotifier(notify, {
    env,
    onFailure: async ({ channel, error, notification }) => {
      warn(`baton: ${channel} could not be notified of "${notification.title}": ${error}`)
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
  return {
    relay,
    notifier,
    telemetry,
    close: async () => {
      const enough = setTimeout(() => void notifier.close({ withinMs: 0 }), 15_000)
      try {
        await relay.close()
      } finally {
        clearTimeout(enough)
        await notifier.close()
        await sdk?.end()
      }
    },
  }
}
