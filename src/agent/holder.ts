// Who is running a turn, and whether they still live. A process elsewhere counts as alive as long as its tape moves.

import * as z from 'zod'
import { holderSchema as processSchema, lifeOf, thisProcess as thisOne } from '../system/holder.ts'

/** Two agents of one process are two holders. */
export const holderSchema = processSchema.extend({ agent: z.string() })

export type Holder = z.infer<typeof holderSchema>

/** A turn elsewhere says that it runs at least this often; three times as long in silence, and it is dead. */
export const pulseSeconds = 60

export function thisProcess(agent: string): Holder {
  return { agent, ...thisOne() }
}

/** `silence`: seconds since the tape was last written to. */
export function isAlive(holder: Holder, me: Holder, silence: number): boolean {
  if (holder.agent === me.agent) return false
  const life = lifeOf(holder)
  return life === 'unknown' ? silence < 3 * pulseSeconds : life === 'alive'
}
