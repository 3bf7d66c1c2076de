// Tells people of something once. Who told what is kept on a tape, so that of many processes one tells, a restart does not
// tell again, and one that died before it was done is made up for by the next.

import * as z from 'zod'
import { BatonError } from '../errors.ts'
import type { Notification, Notifier } from '../notify/index.ts'
import type { Store } from '../store/index.ts'

const tape = 'relay/notices'
/** After which whoever wanted to tell is taken to have died, or its channels are tried once more. */
const tellAgainMs = 120_000

const toldSchema = z.object({
  at: z.string(),
  channels: z.array(z.object({ channel: z.string(), status: z.string(), error: z.string().optional() })),
})
export type Told = z.output<typeof toldSchema>

const recordSchema = z.object({
  /** When somebody last began to tell. */
  tellingAt: z.number(),
  told: toldSchema.optional(),
})
type Telling = z.output<typeof recordSchema>

export interface TellerOptions {
  readonly store: Store
  readonly notifier: Notifier
  readonly now?: () => number
}

export interface Teller {
  /** What the channels said, now or before; undefined when there are none, or when somebody else is at it. */
  tell(notice: Notification & { key: string }): Promise<Told | undefined>
}

export function openTeller({ store, notifier, now = Date.now }: TellerOptions): Teller {
  async function newest(key: string): Promise<{ id: number; record: Telling | undefined }> {
    const entry = await store.latest(tape, key)
    if (entry === undefined) return { id: 0, record: undefined }
    return { id: entry.id, record: z.object({ data: recordSchema }).parse(entry.payload).data }
  }

  /** Undefined when another process was faster. */
  async function write(key: string, id: number, record: Telling): Promise<number | undefined> {
    const draft = { kind: 'event', payload: { name: 'notice', data: record }, meta: { key, context: false } }
    try {
      const [entry] = await store.append(tape, [draft], { expect: { key, id } })
      return entry!.id
    } catch (error) {
      if (BatonError.is(error) && error.code === 'conflict') return undefined
      throw error
    }
  }

  return {
    async tell(notice) {
      const { key } = notice
      const { id, record } = await newest(key)
      if (record?.told !== undefined) return record.told
      const isSomebodyAtIt = record !== undefined && Math.abs(now() - record.tellingAt) < tellAgainMs
      if (notifier.channels === 0 || isSomebodyAtIt) return undefined
      const telling = { tellingAt: now() }
      const mine = await write(key, id, telling)
      if (mine === undefined) return (await newest(key)).record?.told
      const outcomes = await notifier.notify(notice)
      const channels = outcomes.map((each) => ({
        channel: each.channel,
        status: each.status,
        ...(each.status === 'failed' ? { error: each.error } : {}),
      }))
      const told = { at: new Date(now()).toISOString(), channels }
      if (!isInVain(told)) await write(key, mine, { ...telling, told })
      return told
    },
  }
}

/** With every channel out of reach nobody knows yet: it is left open, and tried again later. */
export function isInVain({ channels }: Told): boolean {
  return channels.length > 0 && channels.every(({ status }) => status === 'failed')
}
