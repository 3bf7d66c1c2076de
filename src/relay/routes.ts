// Who may hand over to whom, and why not.

import { InvalidError } from '../errors.ts'
import { nearest } from '../tape/nearest.ts'
import type { Rejection } from './observer.ts'
import { human } from './schema.ts'
import type { RelaySettings } from './settings.ts'

/** Why a request is refused. */
export interface Refusal {
  readonly code: Rejection
  readonly reason: string
}

/** Undefined where the way is open. */
export function closedRoute({ routes, forbidden }: RelaySettings, from: string, to: string): Refusal | undefined {
  if (to === human) return undefined
  const closed = forbidden.find((route) => route.from === from && route.to === to)
  if (closed !== undefined) return { code: 'forbidden_route', reason: `${from} → ${to} is forbidden: ${closed.reason}` }
  if (routes.some((route) => route.from === from && route.to === to)) return undefined
  const open = routes.filter((route) => route.from === from).map((route) => route.to)
  const instead = `${from} may hand over to ${[...open, human].join(', ')}`
  return { code: 'undeclared_route', reason: `${from} → ${to} is not a declared route; ${instead}` }
}

/** An agent that the topology does not know is an error, never a default. */
export function checkAgent({ agents }: RelaySettings, name: string, path: string): void {
  if (Object.hasOwn(agents, name)) return
  const known = Object.keys(agents)
  const close = nearest(name, known)
  throw new InvalidError(`${path}: there is no agent "${name}"`, {
    path,
    hint: close.length > 0 ? `Did you mean ${close.join(', ')}?` : whoIsThere(known),
  })
}

function whoIsThere(known: readonly string[]): string {
  return known.length > 0
    ? `The agents are ${known.join(', ')}.`
    : 'Declare the agents in baton.config.json, as "relay": {"agents": {"NAME": {}}}.'
}
