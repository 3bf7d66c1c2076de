// What an agent does once a supervisor has asked it for a handoff document. The writing of it tells nothing about how the work
// stands; everything else does, also in the same turn: an agent may go on with the work, before or after it, or never write it.

import { headingsOf } from '../document/sections.ts'
import type { Quote } from './facts.ts'
import type { Deed } from './words/conversation.ts'

export class Handover {
  /** What only calls name that are about the document: its file and its folder; undefined: none was asked for in this turn. */
  #names: readonly string[] | undefined
  #isWriting = false
  #isWritten = false
  /** Whether words may be the end of the work: it was asked within a turn, or something was looked at since. */
  #mayBeWork = false
  /** The last words that are about the document or about the work, as what follows will show. */
  #held: Quote | undefined
  readonly #release: (words: Quote) => void

  /** `release` is given words that turned out to be about the work. */
  constructor(release: (words: Quote) => void) {
    this.#release = release
  }

  get isWriting(): boolean {
    return this.#isWriting
  }

  /** A document is asked for. `path`: where it is to be. */
  asked(path: string, inTurn: boolean): void {
    this.#names = [path.slice(path.lastIndexOf('/') + 1), path.slice(0, path.lastIndexOf('/') + 1)].filter(
      (name) => name.length > 1,
    )
    this.#isWriting = true
    this.#isWritten = false
    this.#mayBeWork = inTurn
  }

  /** A person says something else. */
  heard(): void {
    this.#goOn()
    this.#isWritten = false
    this.#mayBeWork = true
  }

  /** The turn is over, or another one begins. Whether its end is the end of the writing, and tells nothing about the work. */
  ended(): boolean {
    const isLast = this.#isWriting && this.#held === undefined
    this.#goOn()
    this.#names = undefined
    this.#isWriting = false
    return isLast
  }

  /** Whether these words are not, or not yet, about the work; undefined: a thought. */
  said(words: Quote | undefined): boolean {
    if (!this.#isWriting || words === undefined) return this.#isWriting
    if (isDocument(words.text)) this.#wrote()
    else if (!this.#isWritten && this.#mayBeWork) this.#held = words
    return true
  }

  /** Whether a call is not about the work. `input`: its arguments. */
  called(input: unknown, does: Deed): boolean {
    if (this.#names === undefined) return false
    const told = JSON.stringify(input) ?? ''
    if (this.#names.some((name) => told.includes(name))) this.#wrote()
    else if (does === 'looks' || does === 'notes') this.#mayBeWork = true
    else {
      this.#goOn()
      this.#isWriting = false
    }
    return this.#isWriting
  }

  #wrote(): void {
    this.#isWriting = true
    this.#isWritten = true
    this.#held = undefined
  }

  #goOn(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#release(held)
  }
}

/** An agent that cannot write files replies with the document. */
function isDocument(text: string): boolean {
  return headingsOf('cycle').filter((heading) => text.includes(heading)).length > 2
}
