// What the items of a document are made from: the facts of a ledger, and what follows from all of them together.

import type { Ledger, Quote } from '../../ledger/facts.ts'
import type { Item } from '../document.ts'
import { type LastRequest, lastRequestOf } from './last-request.ts'
import type { LaterWords } from './later-words.ts'
import { nextSteps, type Step } from './next-step.ts'
import { typedPart } from './quotes.ts'
import { shorten } from './shorten.ts'

/** No detail of a document comes near this, so what is longer need not be carried along. */
export const longest = 20_000

export class Material {
  readonly ledger: Ledger
  readonly goal: string | undefined
  readonly laterWords: LaterWords
  readonly lastRequest: LastRequest
  readonly steps: readonly Step[]
  readonly #tape: string | undefined

  constructor(ledger: Ledger, tape: string | undefined, goal: string | undefined, laterWords: LaterWords) {
    this.ledger = ledger
    this.goal = goal
    this.laterWords = laterWords
    this.lastRequest = lastRequestOf(ledger)
    this.#tape = tape
    this.steps = nextSteps(ledger, goal)
  }

  quote({ text, id }: Quote): Item {
    return { ...this.item(typedPart(text), [id]), by: 'user' }
  }

  item(text: string, ids: readonly number[] = []): Item {
    const tape = this.#tape
    return {
      text: shorten(text, longest),
      status: 'verified',
      refs: tape === undefined ? [] : [...new Set(ids)].map((id) => `${tape}#${id}`),
    }
  }
}
