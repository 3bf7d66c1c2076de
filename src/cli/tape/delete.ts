// `baton tape delete`, `discard` and `prune`: tapes that are no longer needed leave the list. Their entries go to the archive, where
// references still find them; only `--purge` deletes those for good.

import { randomUUID } from 'node:crypto'
import { demandRest } from '../../agent/index.ts'
import { BatonError, InvalidError, NotFoundError } from '../../errors.ts'
import type { ArchiveRef, Store } from '../../store/index.ts'
import { sessionRows, sessionTape } from '../../supervisor/index.ts'
import { thisProcess } from '../../system/index.ts'
import { type Edge, forkOf, isReserved, readEdges, Tape } from '../../tape/index.ts'
import { count, type Globals, type Output } from '../base/output.ts'
import { demand, withStore } from '../base/workspace.ts'
import { chatHolder } from '../chat/chat-register.ts'

interface DeleteOptions extends Globals {
  force?: boolean
  purge?: boolean
}

export async function deleteOne(options: DeleteOptions, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, name)
    if (options.force !== true) refuse(name, await reasonsToKeep(store, name, await readEdges(store)))
    await remove(store, name, options, out)
  })
}

export async function discard(options: DeleteOptions, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const fork = await forkOf(store, name)
    if (fork === undefined) {
      throw new NotFoundError(`${name} is not a fork`, { hint: `To delete it all the same: baton tape delete ${name}` })
    }
    if (options.force !== true) refuse(name, await reasonsToKeep(store, name, await readEdges(store)))
    await remove(store, name, options, out, `; ${fork.origin.parent} stays as it is`)
  })
}

/** The tapes that `baton chat -p` makes, one for each question. */
const printTape = /^print(-\d+)?$/

export async function prune(options: DeleteOptions & { days: number; dryRun?: boolean }): Promise<void> {
  await withStore(options, async (store, out) => {
    const before = Date.now() - options.days * 24 * 60 * 60 * 1000
    const edges = await readEdges(store)
    const old: string[] = []
    for await (const { tape, date } of store.list('print')) {
      if (printTape.test(tape) && Date.parse(date ?? '') <= before) old.push(tape)
    }
    let kept = 0
    for (const name of old) {
      const reasons = await reasonsToKeep(store, name, edges)
      if (reasons.length > 0) {
        kept += 1
        out.warn(`baton: ${name} is kept: ${reasons.join('; ')}`)
      } else if (options.dryRun === true) out.record({ tape: name }, `${name} would be deleted`)
      else await remove(store, name, options, out)
    }
    if (old.length === kept) out.note(`No print tape is older than ${count(options.days)} days and unused.`)
  })
}

function refuse(name: string, reasons: readonly string[]): void {
  if (reasons.length === 0) return
  throw new BatonError('refused', `${name} is not deleted: ${reasons.join('; ')}`, {
    hint: 'With --force it is deleted all the same.',
  })
}

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

async function remove(store: Store, name: string, { purge }: DeleteOptions, out: Output, remark = ''): Promise<void> {
  if (!mayGo(name)) throw new InvalidError(`${name} is one of Baton's own tapes`)
  const archive: ArchiveRef | undefined = (await store.info(name)) === undefined ? undefined : await store.remove(name)
  const gone = purge === true ? await store.purge(name) : []
  const where =
    purge === true
      ? `for good, with ${count(gone.length)} ${gone.length === 1 ? 'archive' : 'archives'}`
      : `its entries are in ${archive?.ref ?? 'the archive'} until "baton tape purge ${name}"`
  out.record({ tape: name, archive, purged: gone }, `${name} is deleted${purge === true ? ' ' : '; '}${where}${remark}`)
}
