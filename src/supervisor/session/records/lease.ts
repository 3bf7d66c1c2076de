// A lease has one holder at a time: a keyed entry names the process and a time. A holder on this machine keeps it as long as
// its process lives; a holder on another machine, until its time is up.

import { isDeepStrictEqual } from 'node:util'
import { BatonError, ConflictError } from '../../../errors.ts'
import type { Store } from '../../../store/index.ts'
import * as z from 'zod'
import { type Holder, holderSchema, isHolding, silentMs, thisProcess } from '../../../system/index.ts'

const held = z.object({ data: z.object({ holder: holderSchema.optional(), until: z.number() }) })

export class Lease {
  readonly #store: Store
  readonly #tape: string
  readonly #key: string
  #id: number
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store, tape: string, key: string, id: number) {
    this.#store = store
    this.#tape = tape
    this.#key = key
    this.#id = id
  }

  /** Goes on holding it, until it is lost to somebody else. */
  keep(onLost: (error: unknown) => void): void {
    this.#timer = setInterval(() => {
      this.#write(thisProcess()).catch((error: unknown) => {
        // A disk that is full for a while loses no lease: this process still lives.
        if (BatonError.is(error) && error.code === 'conflict') onLost(error)
      })
    }, silentMs / 3)
    this.#timer.unref()
  }

  /** False if that could not be written: the lease then ends with this process, unless it is acquired as its own. */
  async release(): Promise<boolean> {
    clearInterval(this.#timer)
    try {
      await this.#write(undefined)
      return true
    } catch (error) {
      if (!BatonError.is(error)) throw error
      return false
    }
  }

  async #write(holder: Holder | undefined): Promise<void> {
    this.#id = await append(this.#store, this.#tape, this.#key, this.#id, holder)
  }
}

/**
 * Throws a `ConflictError` that names the holder, if there is one. `isOwn`: the caller knows that no one in this process
 * holds it, whatever stands on the tape: a write may have failed after it was acquired or before it was released.
 */
export async function acquire(
  store: Store,
  tape: string,
  key: string,
  what: string,
  { isOwn = false } = {},
): Promise<Lease> {
  const now = Date.now()
  for (;;) {
    const entry = await store.latest(tape, key)
    const before = entry === undefined ? undefined : held.safeParse(entry.payload).data?.data
    const { holder, until = 0 } = before ?? {}
    const isMine = isOwn && isDeepStrictEqual(holder, thisProcess())
    if (holder !== undefined && !isMine && isHolding(holder, until, now)) throw taken(what, holder, entry?.id ?? 0)
    try {
      return new Lease(store, tape, key, await append(store, tape, key, entry?.id ?? 0, thisProcess()))
    } catch (error) {
      // Somebody was faster: then there is a holder to be named.
      if (!BatonError.is(error) || error.code !== 'conflict') throw error
    }
  }
}

export async function holderOf(store: Store, tape: string, key: string, now = Date.now()): Promise<Holder | undefined> {
  const entry = await store.latest(tape, key)
  const { holder, until = 0 } = held.safeParse(entry?.payload).data?.data ?? {}
  return holder !== undefined && isHolding(holder, until, now) ? holder : undefined
}

async function append(
  store: Store,
  tape: string,
  key: string,
  id: number,
  holder: Holder | undefined,
): Promise<number> {
  const data = holder === undefined ? { until: 0 } : { holder, until: Date.now() + silentMs }
  const draft = { kind: 'event', payload: { name: 'lease', data }, meta: { key, context: false } }
  const [entry] = await store.append(tape, [draft], { expect: { key, id } })
  return entry!.id
}

function taken(what: string, holder: Holder, actual: number): ConflictError {
  const here = holder.host === thisProcess().host
  const where = here ? `process ${holder.pid}` : `process ${holder.pid} on ${holder.host}`
  const hint = here
    ? `It ends with that process: kill ${holder.pid}`
    : 'Stop it there; if that machine is gone, try again in three minutes.'
  return new ConflictError(`${what} by ${where}`, { actual, hint })
}
