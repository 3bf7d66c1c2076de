// Every page there is: its address, and the chunk that is loaded when it is opened. A page that has a `nav` stands in the
// navigation, in the palette and behind `g` and its key.

import type { IconName } from '../parts/icon.tsx'
import { type Later, later } from '../parts/later.tsx'
import { match } from './router.tsx'

/** The fields of the address, such as `tape` of `/tapes/:tape`. */
export interface PageProps {
  readonly fields: Record<string, string>
}

export interface Page {
  readonly path: string
  readonly title: string
  readonly view: Later<PageProps>
  readonly nav?: { readonly icon: IconName; readonly key: string; readonly group: 'work' | 'state' | 'machine' }
}

export const pages: readonly Page[] = [
  {
    path: '/',
    title: 'Overview',
    view: later(() => import('../pages/overview/overview.tsx')),
    nav: { icon: 'overview', key: 'o', group: 'work' },
  },
  {
    path: '/inbox',
    title: 'Inbox',
    view: later(() => import('../pages/inbox/inbox.tsx')),
    nav: { icon: 'inbox', key: 'i', group: 'work' },
  },
  {
    path: '/handoffs',
    title: 'Handoffs',
    view: later(() => import('../pages/handoffs/handoffs.tsx')),
    nav: { icon: 'handoffs', key: 'h', group: 'work' },
  },
  { path: '/handoffs/:tape/:id', title: 'Handoff', view: later(() => import('../pages/handoffs/handoff.tsx')) },
  {
    path: '/tapes',
    title: 'Tapes',
    view: later(() => import('../pages/tape/tapes.tsx')),
    nav: { icon: 'tapes', key: 't', group: 'work' },
  },
  { path: '/tapes/:tape', title: 'Tape', view: later(() => import('../pages/tape/tape.tsx')) },
  { path: '/sessions/:agent/:id', title: 'Session', view: later(() => import('../pages/tape/session.tsx')) },
  {
    path: '/supervisor',
    title: 'Supervisor',
    view: later(() => import('../pages/supervisor/supervisor.tsx')),
    nav: { icon: 'supervisor', key: 's', group: 'state' },
  },
  {
    path: '/supervisor/:name',
    title: 'Supervised session',
    view: later(() => import('../pages/supervisor/session.tsx')),
  },
  {
    path: '/tasks',
    title: 'Tasks',
    view: later(() => import('../pages/tasks/tasks.tsx')),
    nav: { icon: 'tasks', key: 'k', group: 'state' },
  },
  {
    path: '/tasks/:task',
    title: 'Task',
    view: later(() => import('../pages/tasks/task.tsx')),
  },
  {
    path: '/relay',
    title: 'Relay',
    view: later(() => import('../pages/relay/relay.tsx')),
    nav: { icon: 'relay', key: 'r', group: 'state' },
  },
  {
    path: '/lineage',
    title: 'Lineage',
    view: later(() => import('../pages/lineage/lineage.tsx')),
    nav: { icon: 'lineage', key: 'l', group: 'state' },
  },
  {
    path: '/settings',
    title: 'Settings',
    view: later(() => import('../pages/machine/settings.tsx')),
    nav: { icon: 'settings', key: ',', group: 'machine' },
  },
  {
    path: '/doctor',
    title: 'Doctor',
    view: later(() => import('../pages/machine/doctor.tsx')),
    nav: { icon: 'doctor', key: 'd', group: 'machine' },
  },
]

/** The page of an address, with the fields of it. */
export function pageAt(path: string): { readonly page: Page; readonly fields: Record<string, string> } | undefined {
  for (const page of pages) {
    const fields = match(page.path, path)
    if (fields !== undefined) return { page, fields }
  }
  return undefined
}
