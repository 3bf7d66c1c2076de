// Whether this browser may ask. The address that `baton up` prints carries a code in its fragment; it is exchanged for a cookie
// that scripts cannot read.

import { ProblemError } from '../../client/index.ts'
import { value } from './store.ts'

export type Access =
  | { readonly state: 'checking' }
  | { readonly state: 'in' }
  /** `why` is given if a code did not count. */
  | { readonly state: 'out'; readonly why?: string }

export const access = value<Access>({ state: 'checking' })

/** The code that the address carries, if it was just opened to sign in. */
export function codeInAddress(): string | null {
  return new URLSearchParams(window.location.hash.slice(1)).get('code')
}

export async function signIn(): Promise<void> {
  const code = codeInAddress()
  if (code === null) {
    const me = await fetch('/v1/me')
    return access.set(me.ok ? { state: 'in' } : { state: 'out' })
  }
  // Out of the address at once: it counts only one time, and nobody should copy it.
  window.history.replaceState(null, '', window.location.pathname + window.location.search)
  const answer = await fetch('/v1/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  })
  if (answer.ok) return access.set({ state: 'in' })
  const me = await fetch('/v1/me')
  if (me.ok) return access.set({ state: 'in' })
  const problem = (await answer.json()) as { detail: string; hint?: string }
  access.set({ state: 'out', why: problem.detail })
}

export async function signOut(): Promise<void> {
  await fetch('/v1/sign-out', { method: 'POST' })
  access.set({ state: 'out' })
}

/** Told of every failure: one that says that the cookie no longer counts ends the session of the page. */
export function noticeRefusal(error: unknown): void {
  if (error instanceof ProblemError && error.problem.status === 401) access.set({ state: 'out' })
}
