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
]
