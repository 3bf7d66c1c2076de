// Which tape a chat is on: the last one of its folder, and never one that a chat in another terminal has open. Both are
// kept on a tape of Baton's own, under keys, so that they are found without reading it.

import { randomUUID } from 'node:crypto'
import { holderSchema, isAlive, thisProcess } from '../../agent/holder.ts'
import type { ModelChoice } from '../../config/model.ts'
import { BatonError, ConflictError } from '../../errors.ts'
import type { Entry, Store } from '../../store/index.ts'
import { sessionStart } from '../../tape/context.ts'

const register = 'session/chat'

const me = thisProcess(randomUUID())

/** The tape that was used last from this folder. */
export async function lastTape(store: Store, folder: string): Promise<string | undefined> {
  const { tape } = dataOf(await store.latest(register, `folder:${folder}`))
  return typeof tape === 'string' && (await store.info(tape)) !== undefined ? tape : undefined
}

export async function rememberTape(store: Store, folder: string, tape: string): Promise<void> {
  if ((await lastTape(store, folder)) === tape) return
  await note(store, 'last', `folder:${folder}`, { folder, tape })
}

/** The model that was chosen last in this folder. A BATON_MODEL that was changed since is the newer choice. */
export async function lastModel(store: Store, folder: string): Promise<ModelChoice> {
  const { model, baseUrl, instead } = dataOf(await store.latest(register, `model:${folder}`))
  if (typeof model !== 'string' || instead !== (process.env.BATON_MODEL ?? null)) return {}
  return { model, ...(typeof baseUrl === 'string' ? { baseUrl } : {}) }
}

export async function rememberModel(store: Store, folder: string, { model, baseUrl }: ModelChoice): Promise<void> {
  const data = { model, baseUrl, instead: process.env.BATON_MODEL ?? null }
  await note(store, 'model', `model:${folder}`, data)
}

/** A new tape: `chat`, `chat-2`, the first name that is free. */
export async function newTape(store: Store, base: string): Promise<string> {
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`
    if ((await store.info(name)) !== undefined || (await store.archives(name)).length > 0) continue
    try {
      const start = { name: sessionStart, state: { owner: 'human' } }
      await store.create(name, [[{ kind: 'anchor', payload: start, meta: { key: sessionStart } }]])
      return name
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'conflict') throw error // somebody else was quicker
    }
  }
}

/** Takes a tape for this process; fails with who has it. Not a lock: it keeps two people from talking across each other. */
export async function takeTape(store: Store, tape: string): Promise<void> {
  const key = `open:${tape}`
  const entry = await store.latest(register, key)
  const holder = holderSchema.safeParse(dataOf(entry).holder).data
  const moved = (await store.info(tape))?.date
  if (holder !== undefined && isAlive(holder, me, (Date.now() - Date.parse(moved ?? '')) / 1_000)) {
    throw new ConflictError(`${tape} is open in another chat (process ${holder.pid} on ${holder.host})`, {
      actual: entry?.id ?? 0,
      hint: 'Close that one, or start another session with --new.',
    })
  }
  await note(store, 'opened', key, { tape, holder: me }, entry?.id ?? 0)
}

export async function leaveTape(store: Store, tape: string): Promise<void> {
  await note(store, 'closed', `open:${tape}`, { tape, holder: null })
}

async function note(store: Store, name: string, key: string, data: object, expected?: number): Promise<void> {
  const options = expected === undefined ? {} : { expect: { key, id: expected } }
  await store.append(register, [{ kind: 'event', payload: { name, data }, meta: { key } }], options)
}

function dataOf(entry: Entry | undefined): Record<string, unknown> {
  return ((entry?.payload as { data?: unknown } | undefined)?.data ?? {}) as Record<string, unknown>
}
