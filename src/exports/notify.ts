export {
  type Notification,
  type Notifier,
  type NotifierOptions,
  type NotifyChannel,
  type NotifyFailure,
  type NotifyLevel,
  type NotifyOutcome,
  notifySection,
  type NotifySettings,
  openNotifier,
} from '../notify/index.ts'
