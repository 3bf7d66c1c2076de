// The tape that a supervised session's transcript is brought onto, and what it is asked for: whether a prompt arrived,
// whether a document was read, what was replied.

import path from 'node:path'
import type { Entry, Store } from '../../store/index.ts'
import { contentText, type ToolCall, type ToolResult } from '../../tape/index.ts'
import type { SessionFile } from '../../agents/index.ts'
import { importFile } from '../../transcripts/index.ts'
import type { Observation } from '../observe/observation.ts'
import { isBatonPrompt, samePrompt } from '../../handoff/index.ts'

/** How far back is looked. */
const looked = 200

export class TranscriptTape {
  readonly #store: Store
  /** One at a time: an import goes on where the last one stopped. */
  #busy: Promise<unknown> = Promise.resolve()

  constructor(store: Store) {
    this.#store = store
  }

  /** Brings the tape up to date; returns its name. */
  async update(file: SessionFile): Promise<string> {
    const work = this.#busy.then(() => importFile(this.#store, file))
    this.#busy = work.catch(() => undefined)
    return (await work).tape
  }

  /** Brings it up to date for later; whoever needs it then is told what is wrong with it. */
  keepUp({ file }: Observation): void {
    if (file !== undefined) void this.update(file).catch(() => undefined)
  }

  /** Whether the session holds that prompt, from that time on. */
  async heard(file: SessionFile, prompt: string, since: number): Promise<boolean> {
    for await (const { payload, date } of this.#back(await this.update(file), 'message')) {
      const { role, content } = payload as { role?: unknown; content?: unknown }
      if (role === 'user' && Date.parse(date) >= since && samePrompt(prompt, contentText(content).text)) return true
    }
    return false
  }

  /** Whether a call of the session that did not fail names that file. */
  async touched(file: SessionFile, document: string): Promise<boolean> {
    const name = path.basename(document)
    const failed = new Set<string>()
    for await (const { payload } of this.#back(await this.update(file), 'tool_call', 'tool_result')) {
      const { calls = [], results = [] } = payload as { calls?: ToolCall[]; results?: ToolResult[] }
      for (const { call_id, is_error } of results) if (is_error === true) failed.add(call_id)
      if (calls.some((call) => !failed.has(call.id) && JSON.stringify(call).includes(name))) return true
    }
    return false
  }

  /** What was replied to Baton's last prompt, if that was the last one. */
  async reply(file: SessionFile): Promise<string | undefined> {
    const said: string[] = []
    for await (const { payload } of this.#back(await this.update(file), 'message')) {
      const { role, content } = payload as { role?: unknown; content?: unknown }
      if (role === 'assistant') said.unshift(contentText(content).text)
      else if (role === 'user') return isBatonPrompt(contentText(content).text) ? said.join('\n\n') : undefined
    }
    return undefined
  }

  #back(tape: string, ...kinds: string[]): AsyncIterable<Entry> {
    return this.#store.read(tape, { kinds, reverse: true, limit: looked })
  }
}
