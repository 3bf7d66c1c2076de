// Which tape a chat is on: the one that was named, a new one, or the last one of its folder, and never one that a chat in
// another terminal has open. The last tape of each folder and the open ones are kept on a tape of Baton's own, under keys, so
// that they are found without reading it.

import { chatData, chatHolder, chatProcess, chatRegister } from '../../agent/index.ts'
import type { ModelChoice } from '../../config/index.ts'
import { BatonError, ConflictError, InvalidError } from '../../errors.ts'
import { resumeHandoff } from '../../handoff/index.ts'
import type { Store } from '../../store/index.ts'
import { isReserved, sessionStart } from '../../tape/index.ts'
import type { ChatOptions } from './create-agent.ts'

/** The tape that was used last from this folder. */
export async function lastTape(store: Store, folder: string): Promise<string | undefined> {
  const { tape } = chatData(await store.latest(chatRegister, `folder:${folder}`))
  return typeof tape === 'string' && (await store.info(tape)) !== undefined ? tape : undefined
}

export async function rememberTape(store: Store, folder: string, tape: string): Promise<void> {
  if ((await lastTape(store, folder)) === tape) return
  await note(store, 'last', `folder:${folder}`, { folder, tape })
}

/** The model that was chosen last in this folder. A BATON_MODEL that was changed since is the newer choice. */
export async function lastModel(store: Store, folder: string, env: NodeJS.ProcessEnv): Promise<ModelChoice> {
  const { model, baseUrl, instead } = chatData(await store.latest(chatRegister, `model:${folder}`))
  if (typeof model !== 'string' || instead !== (env.BATON_MODEL ?? null)) return {}
  return { model, ...(typeof baseUrl === 'string' ? { baseUrl } : {}) }
}

export async function rememberModel(store: Store, folder: string, choice: ModelChoice): Promise<void> {
  const { model, baseUrl, env = {} } = choice
  const data = { model, baseUrl, instead: env.BATON_MODEL ?? null }
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
  const entry = await store.latest(chatRegister, key)
  const holder = await chatHolder(store, tape)
  if (holder !== undefined) {
    throw new ConflictError(`${tape} is open in another chat (process ${holder.pid} on ${holder.host})`, {
      actual: entry?.id ?? 0,
      hint: 'Close that one, or start another session with --new.',
    })
  }
  await note(store, 'opened', key, { tape, holder: chatProcess }, entry?.id ?? 0)
}

export async function leaveTape(store: Store, tape: string): Promise<void> {
  await note(store, 'closed', `open:${tape}`, { tape, holder: null })
}

async function note(store: Store, name: string, key: string, data: object, expected?: number): Promise<void> {
  const options = expected === undefined ? {} : { expect: { key, id: expected } }
  await store.append(chatRegister, [{ kind: 'event', payload: { name, data }, meta: { key } }], options)
}

export interface Choice {
  readonly tape: string
  /** A remark about the choice for the person. */
  readonly remark?: string
}

export async function chooseTape(store: Store, folder: string, options: ChatOptions): Promise<Choice> {
  if (options.tape !== undefined) return take(store, await namedTape(store, options.tape))
  const last = options.new === true ? undefined : await lastTape(store, folder)
  if (last === undefined) return take(store, await newTape(store, 'chat'))
  try {
    return await take(store, await resumeHandoff(store, last))
  } catch (error) {
    if (!BatonError.is(error) || error.code !== 'conflict') throw error
    const { tape } = await take(store, await newTape(store, 'chat'))
    return { tape, remark: `${error.message}, so this is a new session` }
  }
}

async function take(store: Store, tape: string): Promise<Choice> {
  await takeTape(store, tape)
  return { tape }
}

/** The tape of that name, or where it was handed over to; the tape need not exist yet. */
export async function namedTape(store: Store, name: string): Promise<string> {
  if (isReserved(name)) throw new InvalidError(`${name} is one of Baton's own tapes; nobody talks on it`)
  return (await store.info(name)) === undefined ? name : resumeHandoff(store, name)
}
