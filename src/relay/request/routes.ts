// Which agent may hand over to which, and why not.

import { InvalidError } from '../../errors.ts'
import { nearest } from '../../tape/index.ts'
import { human, type Rejection } from '../schema.ts'
import type { RelaySettings } from '../settings.ts'

/** Why a request is refused. */
export interface RequestRefusal {
  readonly code: Rejection
  readonly reason: string
  /** When it is only too early. */
  readonly retryAfterMs?: number
}

/** Without agents and routes in the configuration, any agent may ask any other. */
function isOpenToAll({ agents, routes }: Pick<RelaySettings, 'agents' | 'routes'>): boolean {
  return routes.length === 0 && Object.keys(agents).length === 0
}

/** Why a route is closed; undefined when it is open. */
export function closedRoute(settings: RelaySettings, from: string, to: string): RequestRefusal | undefined {
  const { routes, forbidden } = settings
  if (to === human) return undefined
  const closed = forbidden.find((route) => route.from === from && route.to === to)
  if (closed !== undefined) return { code: 'forbidden_route', reason: `${from} → ${to} is forbidden: ${closed.reason}` }
  if (from === to) return { code: 'undeclared_route', reason: `${from} cannot hand over to itself` }
  if (isOpenToAll(settings)) return undefined
  if (routes.some((route) => route.from === from && route.to === to)) return undefined
  const open = routes.filter((route) => route.from === from).map((route) => route.to)
  const instead = `${from} may hand over to ${[...open, human].join(', ')}`
  return { code: 'undeclared_route', reason: `${from} → ${to} is not a declared route; ${instead}` }
}

/** An agent that the topology does not know is an error, never a default. */
export function checkAgent({ agents, routes }: RelaySettings, name: string, path: string): void {
  if (Object.hasOwn(agents, name) || (name !== human && isOpenToAll({ agents, routes }))) return
  if (name === human) {
    throw new InvalidError(`${path}: "${human}" stands for people, not for an agent`, {
      path,
      hint: 'What waits for people: "baton escalations".',
    })
  }
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
