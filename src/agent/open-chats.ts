// Which tapes are open in a chat: a separate tape keeps that, under a key for each tape.

import { randomUUID } from 'node:crypto'
import type { Entry, Store } from '../store/index.ts'
import { type Holder, holderSchema, isHolding, silentMs, thisProcess } from '../system/index.ts'

export const chatRegister = 'session/chat'

export const chatProcess = thisProcess(randomUUID())

/** The chat that has a tape open, if it is not this one. */
export async function chatHolder(store: Store, tape: string): Promise<Holder | undefined> {
  const entry = await store.latest(chatRegister, `open:${tape}`)
  const holder = holderSchema.safeParse(chatData(entry).holder).data
  const moved = (await store.info(tape))?.date
  const holds = holder !== undefined && isHolding(holder, Date.parse(moved ?? '') + silentMs, Date.now(), chatProcess)
  return holds ? holder : undefined
}

/** What an event of the register says. */
export function chatData(entry: Entry | undefined): Record<string, unknown> {
  return ((entry?.payload as { data?: unknown } | undefined)?.data ?? {}) as Record<string, unknown>
}
