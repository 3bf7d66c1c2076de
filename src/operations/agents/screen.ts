// The screen of a supervised agent, to look at from elsewhere. Nobody types through here: that is what `baton attach` is for.

import os from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { NotFoundError, UnsupportedError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { watchPane } from '../../supervisor/index.ts'
import { liveOperation } from '../operation.ts'
import { rowOf, sessionName } from './supervised.ts'

const color = z.union([z.int().min(0).max(255), z.string()]).describe('A number of the palette of 256, or #rrggbb.')

const style = z
  .object({
    color: color.optional(),
    background: color.optional(),
    bold: z.literal(true).optional(),
    faint: z.literal(true).optional(),
    italic: z.literal(true).optional(),
    underline: z.literal(true).optional(),
    inverse: z.literal(true).optional(),
    strike: z.literal(true).optional(),
  })
  .describe('What is missing is as the terminal usually has it.')

const picture = z.object({
  columns: z.int(),
  rows: z
    .array(z.array(z.object({ text: z.string(), style })))
    .describe('From top to bottom; blank ends are left out.'),
  cursor: z.object({ column: z.int(), row: z.int() }).optional().describe('From 0; missing where it is hidden.'),
  title: z.string().describe('As the agent has set it.'),
})

/** How often it is looked whether an agent that was started again has another screen. */
const againMs = 1_000

export const supervisedScreen = liveOperation('supervised.screen', 'read', 'GET /supervised/{name}/screen', {
  summary: 'Follow the screen of a supervised session: a picture at once, and another whenever it changes.',
  input: z.object({ name: sessionName, once: z.boolean().optional().describe('One picture, and no more.') }),
  each: picture,
  async *run({ store }, { name, once }, { signal }) {
    let place: Place | undefined = await placeOf(store, name)
    while (place !== undefined && !signal.aborted) {
      for await (const shown of watchPane(place, signal)) {
        yield shown
        if (once === true) return
      }
      place = await otherPlace(store, name, place, signal)
    }
  },
})

interface Place {
  readonly socket: string
  readonly pane: string
}

const placeSchema = z.object({ driver: z.literal('tmux'), socket: z.string(), pane: z.string() })

async function placeOf(store: Store, name: string): Promise<Place> {
  const { state, place, supervisor } = await rowOf(store, name)
  if (state === 'ended') throw new NotFoundError(`${name} has ended`, { hint: 'Its tape shows what it did.' })
  if (supervisor !== undefined && supervisor.host !== os.hostname())
    throw new UnsupportedError(`${name} runs on ${supervisor.host}`, { hint: 'Ask the server of that machine.' })
  const found = placeSchema.safeParse(place).data
  if (found !== undefined) return found
  throw new UnsupportedError(`${name} has no screen`, { hint: 'It runs without one; see supervised.logs.' })
}

/** The pane is gone: waits for the one in which the agent is started again; undefined when there will be none. */
async function otherPlace(store: Store, name: string, before: Place, signal: AbortSignal): Promise<Place | undefined> {
  while (!signal.aborted) {
    const { state, place } = await rowOf(store, name)
    if (state === 'ended' || state === 'dead') return undefined
    const found = placeSchema.safeParse(place).data
    if (found !== undefined && found.pane !== before.pane) return found
    await sleep(againMs, undefined, { signal }).catch(() => undefined)
  }
  return undefined
}
