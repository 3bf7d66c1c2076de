// Words of the user that later ones are about, too. "Always use npm" and, an hour later, "pnpm from now on": no program can tell
// in every language whether the second takes the first back, but it can tell that both are about the same, and show the second with the
// first. A word that few messages have says what a message is about.

import type { Instruction, Quote } from '../../ledger/facts.ts'
import { withoutPastes } from '../../ledger/words/pastes.ts'
import { asks, sentencesOf } from '../../ledger/words/sentences.ts'
import { clip } from '../../ledger/tools/tool-calls.ts'
import { wordsOf } from '../../ledger/words/terms.ts'
import { withLaterWords } from '../phrases.ts'

/** Of the words of the earlier sentence, weighed by how rare they are, so many come back in the later one, */
const ofEarlier = 0.25
/** or of one of its clauses, if that has some words, */
const ofClause = 0.4
const leastClause = 5
/** and they are so much of that one. */
const ofLater = 0.12
/** One word alone is often the name of a file or a thing. */
const fewest = 2
/** In a short session every word is rare: it is weighed as if so many other messages had been there. */
const others = 8
/** So many of the user's messages are looked at, the newest, and so much of each. */
const mostMessages = 5_000
const longestMessage = 500
const longestSentence = 300
/** Its beginning shows which one it is. */
const longestShown = 80

interface Sentence {
  readonly words: ReadonlySet<string>
  readonly weight: number
}

interface LaterSentence extends Sentence, Quote {
  /** Its place among all sentences: of one message, the last is the newest. */
  readonly at: number
}

export class LaterWords {
  readonly #messages: readonly Instruction[]
  /** How many messages have a word. */
  readonly #spread = new Map<string, number>()
  /** The sentences that have a word, in their order. */
  readonly #holders = new Map<string, LaterSentence[]>()
  #isRead = false

  constructor(instructions: readonly Instruction[]) {
    this.#messages = instructions.slice(-mostMessages)
  }

  /**
   * The text of an item with the newest sentence after that entry that is about what one of the item's sentences is about, if
   * there is one.
   */
  mark(text: string, sentences: readonly string[], id: number): string {
    this.#read()
    const found = sentences
      .flatMap((sentence) => this.#newestAbout(sentence, id) ?? [])
      .reduce<LaterSentence | undefined>((newest, each) => (newest && newest.at > each.at ? newest : each), undefined)
    return found === undefined ? text : withLaterWords(text, clip(found.text, longestShown))
  }

  #read(): void {
    if (this.#isRead) return
    this.#isRead = true
    const sentences = this.#messages.flatMap(({ text, id }) => {
      const read = sentencesOf(withoutPastes(text.slice(0, longestMessage))).map((sentence) => ({
        text: sentence,
        id,
        words: spokenIn(sentence),
      }))
      for (const word of new Set(read.flatMap(({ words }) => [...words])))
        this.#spread.set(word, (this.#spread.get(word) ?? 0) + 1)
      return read
    })
    for (const [at, { text, id, words }] of sentences.entries()) {
      if (text.length > longestSentence || asks(text)) continue
      const later = { text, id, at, words, weight: this.#weightOf(words) }
      for (const word of words) {
        const holders = this.#holders.get(word)
        if (holders === undefined) this.#holders.set(word, [later])
        else holders.push(later)
      }
    }
  }

  /** The later sentence may be about the whole of it, or about one of several wishes that commas part. */
  #newestAbout(sentence: string, id: number): LaterSentence | undefined {
    const clauses = sentence.split(/[,;](?=\s)|[，；、،؛]/).filter((each) => spokenIn(each).size >= leastClause)
    const found = [
      this.#newestSharing(sentence, id, ofEarlier),
      ...(clauses.length > 1 ? clauses.map((each) => this.#newestSharing(each, id, ofClause)) : []),
    ]
    return found.reduce((newest, each) => (newest && (each === undefined || newest.at > each.at) ? newest : each))
  }

  #newestSharing(sentence: string, id: number, least: number): LaterSentence | undefined {
    const words = spokenIn(sentence)
    const shared = new Map<LaterSentence, { words: number; weight: number }>()
    for (const word of words) {
      const weight = this.#weightOf([word])
      for (const later of this.#holders.get(word) ?? []) {
        if (later.id <= id) continue
        const before = shared.get(later)
        shared.set(later, { words: (before?.words ?? 0) + 1, weight: (before?.weight ?? 0) + weight })
      }
    }
    const whole = this.#weightOf(words)
    let newest: LaterSentence | undefined
    for (const [later, { words: count, weight }] of shared) {
      if (count < fewest || weight < least * whole || weight < ofLater * later.weight) continue
      if (newest === undefined || later.at > newest.at) newest = later
    }
    return newest
  }

  #weightOf(words: Iterable<string>): number {
    let weight = 0
    for (const word of words) weight += Math.log((this.#messages.length + others) / (this.#spread.get(word) ?? 1))
    return weight
  }
}

/** The words of a sentence; no letter alone, and what an apostrophe cuts off a word is none: "don't", "l'API". */
function spokenIn(sentence: string): Set<string> {
  const joined = sentence.replaceAll(/(?<=\p{L})['’](?=\p{L}{1,2}(?!\p{L}))/gu, '')
  return new Set(wordsOf(joined).filter((word) => !/^[a-z]$/.test(word)))
}
