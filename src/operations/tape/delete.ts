// Tapes that are no longer needed leave the list. Their entries go to the archive, where references still find them; only a purge
// deletes those for good.

import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { chatHolder, demandRest } from '../../agent/index.ts'
import { BatonError, InvalidError, NotFoundError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { sessionRows, sessionTape } from '../../supervisor/index.ts'
import { thisProcess } from '../../system/index.ts'
import { type Edge, forkOf, isReserved, readEdges, Tape } from '../../tape/index.ts'
import { operation } from '../operation.ts'
import { demandTape } from '../workspace.ts'
import { archive, tapeName } from './shapes.ts'

const deleted = z.object({ tape: z.string(), archive: archive.optional(), purged: z.array(archive) })
const purge = z.boolean().optional().describe('Delete its archives too, for good.')

export const tapeDelete = operation('tape.delete', 'admin', 'POST /tapes/{tape}/delete', {
  summary: 'Take a tape off the list; its entries go to the archive. Refused while somebody may need it.',
  input: z.object({
    tape: tapeName,
    force: z.boolean().optional().describe('Also if it is open, supervised, owned, or another tape came from it.'),
    purge,
    fork: z.boolean().optional().describe('Only if it is a fork.'),
  }),
  output: deleted.extend({ parent: z.string().optional().describe('Of a fork: it stays as it is.') }),
  async run({ store }, { tape, force, purge, fork }) {
    await demandTape(store, tape)
    const origin = fork === true ? (await forkOf(store, tape))?.origin : undefined
    if (fork === true && origin === undefined)
      throw new NotFoundError(`${tape} is not a fork`, {
        hint: `To delete it all the same: baton tape delete ${tape}`,
      })
    const reasons = force === true ? [] : await reasonsToKeep(store, tape, await readEdges(store))
    if (reasons.length > 0)
      throw new BatonError('refused', `${tape} is not deleted: ${reasons.join('; ')}`, {
        hint: 'With --force it is deleted all the same.',
      })
    return { ...(await remove(store, tape, purge === true)), parent: origin?.parent }
  },
})

/** The tapes that `baton chat -p` makes, one for each question. */
const printTape = /^print(-\d+)?$/

export const tapePrune = operation('tape.prune', 'admin', 'POST /prune', {
  summary: 'Delete the tapes that `baton chat -p` has left, if nothing came to them for so many days.',
  input: z.object({
    days: z.int().min(0).max(36_500).default(7),
    dryRun: z.boolean().optional().describe('Only say which.'),
    purge,
  }),
  output: z.object({
    old: z.array(z.string()).describe('Those that go, or would go.'),
    deleted: z.array(deleted),
    kept: z.array(z.object({ tape: z.string(), reasons: z.array(z.string()) })),
  }),
  async run({ store }, { days, dryRun, purge }) {
    const before = Date.now() - days * 24 * 60 * 60 * 1000
    const edges = await readEdges(store)
    const found: string[] = []
    for await (const { tape, date } of store.list('print')) {
      if (printTape.test(tape) && Date.parse(date ?? '') <= before) found.push(tape)
    }
    const old: string[] = []
    const kept: { tape: string; reasons: string[] }[] = []
    const gone: Awaited<ReturnType<typeof remove>>[] = []
    for (const tape of found) {
      const reasons = await reasonsToKeep(store, tape, edges)
      if (reasons.length > 0) kept.push({ tape, reasons })
      else old.push(tape)
    }
    if (dryRun !== true) for (const tape of old) gone.push(await remove(store, tape, purge === true))
    return { old, deleted: gone, kept }
  },
})

/** Why somebody may still need a tape. */
async function reasonsToKeep(store: Store, name: string, edges: readonly Edge[]): Promise<string[]> {
  const reasons: string[] = []
  const chat = await chatHolder(store, name)
  if (chat !== undefined) reasons.push(`it is open in a chat (process ${chat.pid} on ${chat.host})`)
  try {
    await demandRest(new Tape(store, name), thisProcess(randomUUID()), new Date())
  } catch (error) {
    if (!BatonError.is(error) || error.code !== 'locked') throw error
    reasons.push(`it is open: ${error.message}`)
  }
  for await (const { name: session, session: id, supervisor } of sessionRows(store)) {
    if (supervisor === undefined || (name !== sessionTape(session) && (id === undefined || !name.includes(id))))
      continue
    reasons.push(`${session} is supervised (process ${supervisor.pid} on ${supervisor.host})`)
  }
  const children = new Set(
    edges.filter(({ parent, how }) => parent === name && how !== 'merge').map(({ child }) => child),
  )
  const living: string[] = []
  for (const child of children) if ((await store.info(child)) !== undefined) living.push(child)
  if (living.length > 0) reasons.push(`${living.join(', ')} came from it`)
  const owner = await new Tape(store, name).owner()
  if (owner !== undefined) reasons.push(`it is ${owner}'s`)
  return reasons
}

/** A session that was supervised may go; the registers of tasks, requests and lineage may not. */
function mayGo(name: string): boolean {
  return !isReserved(name) || (name.startsWith(sessionTape('')) && name !== sessionTape('chat') && !name.includes('~'))
}

async function remove(store: Store, tape: string, purge: boolean) {
  if (!mayGo(tape)) throw new InvalidError(`${tape} is one of Baton's own tapes`)
  const archive = (await store.info(tape)) === undefined ? undefined : await store.remove(tape)
  return { tape, archive, purged: purge ? await store.purge(tape) : [] }
}
