export { type Notification } from './notification.ts'
export {
  type Failure as NotifyFailure,
  type Notifier,
  type NotifierOptions,
  openNotifier,
  type Outcome as NotifyOutcome,
} from './notifier.ts'
export {
  type Channel as NotifyChannel,
  type Level as NotifyLevel,
  notifySection,
  type NotifySettings,
} from './settings.ts'
