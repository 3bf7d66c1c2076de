// An answer while it is being written. It becomes a message when it is whole; until then what has been said is noted on the
// tape every few seconds, as events that no context shows. A process that dies takes no more than those seconds with it.

import * as z from 'zod'
import type { Entry } from '../store/index.ts'
import type { Tape } from '../tape/index.ts'
import { usageKey } from '../tape/step.ts'
import type { AgentEvent } from './event.ts'

const noteMs = 2_000
const speechKey = 'speaking'
const noteSchema = z.object({ from: z.number(), text: z.string() })

export class Speech {
  readonly #tape: Tape
  readonly #runId: string
  #text = ''
  #noted = 0
  #timer: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(tape: Tape, runId: string) {
    this.#tape = tape
    this.#runId = runId
  }

  hear(event: AgentEvent): void {
    if (event.type === 'text') {
      this.#text += event.delta
      this.#timer ??= setTimeout(() => this.#note(), noteMs).unref()
    } else if (event.type === 'retry') {
      // What was said is void, and so are the notes of it once there are new ones.
      this.#text = ''
      this.#noted = 0
    }
  }

  /** Resolves when no note is on its way any more: none may come behind the answer itself. */
  async end(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#last
  }

  #note(): void {
    this.#timer = undefined
    const data = { from: this.#noted, text: this.#text.slice(this.#noted) }
    if (data.text === '') return
    this.#noted = this.#text.length
    const meta = { key: speechKey, context: false, run_id: this.#runId }
    // A disk that refuses this refuses the answer too, and is told then.
    const noted = this.#tape.append([{ kind: 'event', payload: { name: speechKey, data }, meta }]).catch(() => {})
    this.#last = Promise.all([this.#last, noted])
  }
}

/** What was being said when these entries of a turn end: what was noted since the last answer that is whole. */
export function unfinishedSpeech(entries: readonly Entry[]): string {
  let text = ''
  for (const { meta, payload } of entries) {
    if (meta.key === usageKey) text = ''
    const note = meta.key === speechKey ? noteSchema.safeParse((payload as { data?: unknown }).data).data : undefined
    if (note !== undefined) text = text.slice(0, note.from) + note.text
  }
  return text
}
