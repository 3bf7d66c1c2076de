// Tells a person something: `notifier.ts` sends a notification through every channel that is configured, and tries again;
// `channels.ts` knows webhooks and commands.

export type { Notification } from './notification.ts'
export {
  type NotifyFailure,
  type Notifier,
  type NotifierOptions,
  openNotifier,
  type NotifyOutcome,
} from './notifier.ts'
export {
  type Channel as NotifyChannel,
  type Level as NotifyLevel,
  notifySection,
  type NotifySettings,
} from './settings.ts'
