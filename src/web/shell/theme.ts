// Dark or light: as the system says, unless the person has chosen.

import { value } from '../data/store.ts'

export type Theme = 'system' | 'light' | 'dark'

const key = 'baton.theme'

function chosen(): Theme {
  const kept = window.localStorage.getItem(key)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export const theme = value<Theme>(chosen())

export function applyTheme(): void {
  const now = theme.get()
  if (now === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = now
}

export function setTheme(next: Theme): void {
  window.localStorage.setItem(key, next)
  theme.set(next)
  applyTheme()
}
