// What a person types while the agent is busy. It is on the tape at once, as an event that no context shows; it becomes a
// message when the model can hear it, which is before its next call. What waits when the process dies still waits then.

import * as z from 'zod'
import type { Draft, Entry } from '../store/index.ts'
import type { RecordedMessage, Tape } from '../tape/index.ts'

const queuedKey = 'queued'
const deliveredKey = 'delivered'

const waitingSchema = z.object({ tape: z.string(), text: z.string(), before: z.number() })

interface Waiting {
  readonly id: number
  readonly text: string
}

export class Queue {
  #waiting: Waiting[] = []
  #last: Promise<unknown> = Promise.resolve()

  get length(): number {
    return this.#waiting.length
  }

  /** Resolves when it is durable. */
  async add(tape: Tape, text: string): Promise<void> {
    const added = this.#addBehind(this.#last, tape, text)
    this.#last = added.catch(() => {})
    return added
  }

  /** Adds one message after the other, because each entry names the one before it. */
  async #addBehind(last: Promise<unknown>, tape: Tape, text: string): Promise<void> {
    await last
    const before = await tape.store.latest(tape.name, queuedKey)
    const data = { tape: tape.name, text, before: before?.id ?? 0 }
    const [entry] = await tape.append([
      { kind: 'event', payload: { name: 'queued', data }, meta: { key: queuedKey, context: false } },
    ])
    this.#waiting.push({ id: entry!.id, text })
  }

  /** Resolves when messages that are being added are on the tape. */
  async settled(): Promise<void> {
    await this.#last
  }

  /** The waiting messages as drafts; call `delivered` when they are on the tape. */
  drafts(runId: string): Draft[] {
    return this.#waiting.map(({ id, text }) => ({
      kind: 'message',
      payload: { role: 'user', content: text },
      meta: { run_id: runId, key: deliveredKey, queued: id },
    }))
  }

  delivered(count: number): void {
    this.#waiting.splice(0, count)
  }

  messages(): RecordedMessage[] {
    return this.#waiting.map(({ text }) => ({ role: 'user', content: text }))
  }

  /** After a handoff: the first `carried` messages are on the new tape already; the others wait there. */
  async moved(tape: Tape, carried: number): Promise<void> {
    const rest = this.#waiting.splice(0).slice(carried)
    for (const { text } of rest) await this.add(tape, text)
  }

  /** Finds the messages that the last process left waiting. */
  async restore(tape: Tape): Promise<void> {
    const { store, name } = tape
    const heard = Number((await store.latest(name, deliveredKey))?.meta.queued ?? 0)
    const found: Waiting[] = []
    let entry = await store.latest(name, queuedKey)
    while (entry !== undefined && entry.id > heard) {
      const waiting = waitingSchema.safeParse((entry.payload as { data?: unknown }).data).data
      if (waiting?.tape !== name) break
      found.unshift({ id: entry.id, text: waiting.text })
      entry = waiting.before === 0 ? undefined : await entryAt(tape, waiting.before)
    }
    this.#waiting = found
  }
}

async function entryAt(tape: Tape, id: number): Promise<Entry | undefined> {
  for await (const entry of tape.entries({ after: id - 1, before: id + 1 })) return entry
  return undefined
}
