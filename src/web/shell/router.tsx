// Addresses and pages. The address is the state: whatever a person looks at can be copied, sent and opened again.

import { type AnchorHTMLAttributes, type MouseEvent, type ReactNode, useMemo, useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
window.addEventListener('popstate', changed)

function changed(): void {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const current = () => window.location.pathname + window.location.search + window.location.hash

/** Goes to another address of the page; with `replace` the one before is not kept. */
export function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  if (to === current()) return
  if (replace) window.history.replaceState(null, '', to)
  else window.history.pushState(null, '', to)
  changed()
}

export interface Place {
  readonly path: string
  readonly query: URLSearchParams
  /** Without its `#`. */
  readonly fragment: string
}

export function usePlace(): Place {
  const address = useSyncExternalStore(subscribe, current)
  return useMemo(() => {
    const { pathname, searchParams, hash } = new URL(address, window.location.origin)
    return { path: pathname, query: searchParams, fragment: hash.slice(1) }
  }, [address])
}

/** Changes fields of the query of this address; undefined takes one away. */
export function setQuery(fields: Record<string, string | undefined>, options: { replace?: boolean } = {}): void {
  const { pathname, searchParams, hash } = new URL(window.location.href)
  for (const [name, text] of Object.entries(fields)) {
    if (text === undefined || text === '') searchParams.delete(name)
    else searchParams.set(name, text)
  }
  const query = searchParams.toString()
  navigate(pathname + (query === '' ? '' : `?${query}`) + hash, { replace: true, ...options })
}

/** The fields of `/tapes/:tape` in a path, or undefined if it is another page's. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), path.replace(/(.)\/$/, '$1').split('/')]
  if (wanted.length !== given.length) return undefined
  const fields: Record<string, string> = {}
  for (const [at, part] of wanted.entries()) {
    const text = given[at]!
    if (!part.startsWith(':')) {
      if (part !== text) return undefined
      continue
    }
    try {
      fields[part.slice(1)] = decodeURIComponent(text)
    } catch {
      return undefined // not something that this page has written
    }
  }
  return fields
}

/** The address of a tape, and of an entry on it. */
export function tapeAddress(tape: string, entry?: number): string {
  return `/tapes/${encodeURIComponent(tape)}${entry === undefined ? '' : `?at=${entry}`}`
}

/** The address of a handoff document. */
export function documentAddress(tape: string, entry: number): string {
  return `/handoffs/${encodeURIComponent(tape)}/${entry}`
}

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly to: string
  readonly children?: ReactNode
}

/** A link within the page. With a modifier key it is a link like any other. */
export function Link({ to, onClick, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event)
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    navigate(to)
  }
  return (
    <a {...rest} href={to} onClick={follow}>
      {children}
    </a>
  )
}
