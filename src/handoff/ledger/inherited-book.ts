// What was handed over to this phase: a document, what the agent summed up when its context was full, a state that somebody
// noted at an anchor.

import { contentText } from '../../tape/index.ts'
import type { Inherited } from './facts.ts'
import { documentIn } from './words/document-text.ts'

export class InheritedBook {
  #inherited: Inherited | undefined
  #noted: Inherited | undefined

  /** A document holds until the next one; what the agent sums up in between goes beside it. */
  add(name: 'handoff' | 'compaction', state: unknown, id: number): void {
    const document = this.#inherited?.name === 'handoff' ? this.#inherited : undefined
    this.#inherited =
      name === 'compaction' && document !== undefined ? { ...document, summary: { id, state } } : { id, name, state }
    if (name === 'handoff') this.#noted = undefined
  }

  note(name: string, state: unknown, id: number): void {
    this.#noted = { id, name, state }
  }

  /** The session was told to read the document in that file. */
  toRead(path: string, id: number): void {
    this.#inherited = { id, name: 'handoff', state: '', path }
  }

  /** The output of whatever call it may have read the document with. */
  wasRead(what: string, output: unknown, id: number): void {
    const { path, state } = this.#inherited ?? {}
    if (path === undefined || state !== '' || this.#inherited === undefined) return
    const name = path.slice(path.lastIndexOf('/') + 1)
    if (!what.includes(name)) return
    const text = documentIn(contentText(output).text)
    if (text !== undefined) this.#inherited = { ...this.#inherited, id, state: text }
  }

  facts(): { inherited: Inherited | undefined; noted: Inherited | undefined } {
    return { inherited: this.#inherited, noted: this.#noted }
  }
}
