// Every page there is: its address, and the chunk that is loaded when it is opened. A page that has a `nav` stands in the
// navigation, in the palette and behind `g` and its key.

import { type ComponentType, lazy, type LazyExoticComponent } from 'react'
import type { IconName } from '../parts/icon.tsx'

/** The fields of the address, such as `tape` of `/tapes/:tape`. */
export interface PageProps {
  readonly fields: Record<string, string>
}

export interface Page {
  readonly path: string
  readonly title: string
  readonly view: LazyExoticComponent<ComponentType<PageProps>>
  readonly nav?: { readonly icon: IconName; readonly key: string; readonly group: 'work' | 'state' | 'machine' }
}

export const pages: readonly Page[] = [
  {
    path: '/',
    title: 'Overview',
    view: lazy(() => import('../pages/overview/overview.tsx')),
    nav: { icon: 'overview', key: 'o', group: 'work' },
  },
  {
    path: '/inbox',
    title: 'Inbox',
    view: lazy(() => import('../pages/inbox/inbox.tsx')),
    nav: { icon: 'inbox', key: 'i', group: 'work' },
  },
  {
    path: '/handoffs',
    title: 'Handoffs',
    view: lazy(() => import('../pages/handoffs/handoffs.tsx')),
    nav: { icon: 'handoffs', key: 'h', group: 'work' },
  },
  { path: '/handoffs/:tape/:id', title: 'Handoff', view: lazy(() => import('../pages/handoffs/handoff.tsx')) },
  {
    path: '/tapes',
    title: 'Tapes',
    view: lazy(() => import('../pages/tape/tapes.tsx')),
    nav: { icon: 'tapes', key: 't', group: 'work' },
  },
  { path: '/tapes/:tape', title: 'Tape', view: lazy(() => import('../pages/tape/tape.tsx')) },
  { path: '/sessions/:agent/:id', title: 'Session', view: lazy(() => import('../pages/tape/session.tsx')) },
  {
    path: '/supervisor',
    title: 'Supervisor',
    view: lazy(() => import('../pages/supervisor/supervisor.tsx')),
    nav: { icon: 'supervisor', key: 's', group: 'state' },
  },
  {
    path: '/supervisor/:name',
    title: 'Supervised session',
    view: lazy(() => import('../pages/supervisor/session.tsx')),
  },
  {
    path: '/tasks',
    title: 'Tasks',
    view: lazy(() => import('../pages/tasks/tasks.tsx')),
    nav: { icon: 'tasks', key: 'k', group: 'state' },
  },
  {
    path: '/tasks/:task',
    title: 'Task',
    view: lazy(() => import('../pages/tasks/task.tsx')),
  },
  {
    path: '/relay',
    title: 'Relay',
    view: lazy(() => import('../pages/relay/relay.tsx')),
    nav: { icon: 'relay', key: 'r', group: 'state' },
  },
  {
    path: '/lineage',
    title: 'Lineage',
    view: lazy(() => import('../pages/lineage/lineage.tsx')),
    nav: { icon: 'lineage', key: 'l', group: 'state' },
  },
  {
    path: '/settings',
    title: 'Settings',
    view: lazy(() => import('../pages/machine/settings.tsx')),
    nav: { icon: 'settings', key: ',', group: 'machine' },
  },
  {
    path: '/doctor',
    title: 'Doctor',
    view: lazy(() => import('../pages/machine/doctor.tsx')),
    nav: { icon: 'doctor', key: 'd', group: 'machine' },
  },
]
