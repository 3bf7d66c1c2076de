// The words of `baton notify …`. What they do is in notify.ts.

import type { Command } from 'commander'
import { lazily } from './lazy-command.ts'

export function addNotify(program: Command): void {
  const notify = program.command('notify').description('whom Baton tells when a person is needed')
  const add = lazily(notify, () => import('./notify.ts'))
  add('test', 'send a test notification to every channel of baton.config.json, and say what happened', 'test')
}
