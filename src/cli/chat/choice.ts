// Which tape a chat starts on: the one that was named, a new one, or the last of this folder.

import { BatonError, InvalidError } from '../../errors.ts'
import { resumeHandoff } from '../../handoff/session.ts'
import type { Store } from '../../store/index.ts'
import { isReserved } from '../../tape/tape.ts'
import type { ChatOptions } from './options.ts'
import { lastTape, newTape, takeTape } from './place.ts'

export interface Choice {
  readonly tape: string
  /** What the person should know about it. */
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

/** Made if there is none. */
export async function namedTape(store: Store, name: string): Promise<string> {
  if (isReserved(name)) throw new InvalidError(`${name} is one of Baton's own tapes; nobody talks on it`)
  return (await store.info(name)) === undefined ? name : resumeHandoff(store, name)
}
