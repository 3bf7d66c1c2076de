// Notifies people of something once. What was sent is recorded on a tape, so that one of many processes sends it, a restart does
// not send it again, and when a process dies before it is done, the next one does it.

import * as z from 'zod'
import { BatonError } from '../../errors.ts'
import type { Notification, Notifier } from '../../notify/index.ts'
import type { Store } from '../../store/index.ts'

const tape = 'relay/notices'
/** After this time, a process that began to notify counts as dead, and channels that failed are tried again. */
const retryAfterMs = 120_000

const deliverySchema = z.object({
  at: z.string(),
  channels: z.array(z.object({ channel: z.string(), status: z.string(), error: z.string().optional() })),
})
export type NoticeDelivery = z.output<typeof deliverySchema>

const recordSchema = z.object({
  /** When a process last began to notify. */
  tellingAt: z.number(),
  told: deliverySchema.optional(),
})
type NoticeRecord = z.output<typeof recordSchema>

export interface OnceNotifierOptions {
  readonly store: Store
  readonly notifier: Notifier
  readonly now?: () => number
}

export interface OnceNotifier {
  /** What the channels said, now or before; undefined when there are none, or while another process notifies. */
  notify(notice: Notification & { key: string }): Promise<NoticeDelivery | undefined>
}

export function openOnceNotifier({ store, notifier, now = Date.now }: OnceNotifierOptions): OnceNotifier {
  async function newest(key: string): Promise<{ id: number; record: NoticeRecord | undefined }> {
    const entry = await store.latest(tape, key)
    if (entry === undefined) return { id: 0, record: undefined }
    return { id: entry.id, record: z.object({ data: recordSchema }).parse(entry.payload).data }
  }

  /** Undefined when another process was faster. */
  async function write(key: string, id: number, record: NoticeRecord): Promise<number | undefined> {
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
    async notify(notice) {
      const { key } = notice
      const { id, record } = await newest(key)
      if (record?.told !== undefined) return record.told
      const isUnderWay = record !== undefined && Math.abs(now() - record.tellingAt) < retryAfterMs
      if (notifier.channels === 0 || isUnderWay) return undefined
      const started = { tellingAt: now() }
      const mine = await write(key, id, started)
      if (mine === undefined) return (await newest(key)).record?.told
      const outcomes = await notifier.notify(notice)
      const channels = outcomes.map((each) => ({
        channel: each.channel,
        status: each.status,
        ...(each.status === 'failed' ? { error: each.error } : {}),
      }))
      const told = { at: new Date(now()).toISOString(), channels }
      if (!reachedNobody(told)) await write(key, mine, { ...started, told })
      return told
    },
  }
}

/** Every channel failed: the notice stays open, and is tried again later. */
export function reachedNobody({ channels }: NoticeDelivery): boolean {
  return channels.length > 0 && channels.every(({ status }) => status === 'failed')
}
