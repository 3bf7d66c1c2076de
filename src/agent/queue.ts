// What a person types while the agent is busy. It is on the tape at once, as an event that no context shows; it becomes a
// message when it can reach the model, which is before its next call. What is queued when the process dies stays queued.

import * as z from 'zod'
import type { Draft, Entry } from '../store/index.ts'
import { type Part, type RecordedMessage, spill, type Tape, withBase64 } from '../tape/index.ts'
import { type Prompt, promptText } from './model/images.ts'

const queuedKey = 'queued'
const deliveredKey = 'delivered'

const part = z.looseObject({ type: z.string() })
const waitingSchema = z.object({
  tape: z.string(),
  text: z.string(),
  /** Where the message is more than its text: its parts, the large ones in blobs. */
  content: z.array(part).optional(),
  before: z.number(),
})

interface Waiting {
  readonly id: number
  readonly content: string | Part[]
}

export class Queue {
  #waiting: Waiting[] = []
  #last: Promise<unknown> = Promise.resolve()

  get length(): number {
    return this.#waiting.length
  }

  /** Resolves when it is durable. */
  async add(tape: Tape, prompt: Prompt): Promise<void> {
    const added = this.#addBehind(this.#last, tape, prompt)
    this.#last = added.catch(() => {})
    return added
  }

  /** Adds one message after the other, because each entry names the one before it. */
  async #addBehind(last: Promise<unknown>, tape: Tape, prompt: Prompt): Promise<void> {
    await last
    const before = await tape.store.latest(tape.name, queuedKey)
    const content = typeof prompt === 'string' ? prompt : await lightParts(tape, prompt)
    const parts = typeof content === 'string' ? {} : { content }
    const data = { tape: tape.name, text: promptText(prompt), ...parts, before: before?.id ?? 0 }
    const [entry] = await tape.append([
      { kind: 'event', payload: { name: 'queued', data }, meta: { key: queuedKey, context: false } },
    ])
    this.#waiting.push({ id: entry!.id, content })
  }

  /** Resolves when messages that are being added are on the tape. */
  async settled(): Promise<void> {
    await this.#last
  }

  /** The waiting messages as drafts; call `delivered` when they are on the tape. */
  drafts(runId: string): Draft[] {
    return this.#waiting.map(({ id, content }) => ({
      kind: 'message',
      payload: { role: 'user', content },
      meta: { run_id: runId, key: deliveredKey, queued: id },
    }))
  }

  delivered(count: number): void {
    this.#waiting.splice(0, count)
  }

  messages(): RecordedMessage[] {
    return this.#waiting.map(({ content }) => ({ role: 'user', content }))
  }

  /** After a handoff: the first `carried` messages are on the new tape already; the others wait there. */
  async moved(tape: Tape, carried: number): Promise<void> {
    const rest = this.#waiting.splice(0).slice(carried)
    for (const { content } of rest) await this.add(tape, content)
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
      found.unshift({ id: entry.id, content: waiting.content ?? waiting.text })
      entry = waiting.before === 0 ? undefined : await entryAt(tape, waiting.before)
    }
    this.#waiting = found
  }
}

/** The parts of a message as its entry would hold them. */
async function lightParts(tape: Tape, parts: readonly Part[]): Promise<Part[]> {
  const draft = withBase64({ kind: 'message', payload: { role: 'user', content: [...parts] } })
  return ((await spill(tape.store, draft)).payload as { content: Part[] }).content
}

async function entryAt(tape: Tape, id: number): Promise<Entry | undefined> {
  for await (const entry of tape.entries({ after: id - 1, before: id + 1 })) return entry
  return undefined
}
