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
/** and they are so much of that one. */
const ofLater = 0.12
/** One word alone is often the name of a file or a thing. */
const fewest = 2
/** In a short session every word is rare: it is weighed as if so many other messages had been there. */
const others = 8
/** So many of the user's messages are looked at, the newest, and so much of each. */
const mostMessages = 200
const longestMessage = 500
const longestSentence = 300
/** Its beginning shows which one it is. */
const longestShown = 80

interface Sentence {
  readonly words: ReadonlySet<string>
  readonly weight: number
}

export class LaterWords {
  readonly #messages: readonly Instruction[]
  /** How many messages have a word. */
  readonly #spread = new Map<string, number>()
  #read: readonly (Sentence & Quote)[] | undefined

  constructor(instructions: readonly Instruction[]) {
    this.#messages = instructions.slice(-mostMessages)
  }

  /**
   * The text of an item with the newest sentence after that entry that is about what one of the item's sentences is about, if
   * there is one.
   */
  mark(text: string, sentences: readonly string[], id: number): string {
    const later = this.#sentences().filter((sentence) => sentence.id > id)
    if (later.length === 0) return text
    const earlier = sentences.map((sentence) => this.#weighed(new Set(wordsOf(sentence))))
    const found = later.findLast((sentence) => earlier.some((each) => this.#isAbout(sentence, each)))
    return found === undefined ? text : withLaterWords(text, clip(found.text, longestShown))
  }

  #sentences(): readonly (Sentence & Quote)[] {
    if (this.#read !== undefined) return this.#read
    const sentences = this.#messages.flatMap(({ text, id }) => {
      const read = sentencesOf(withoutPastes(text.slice(0, longestMessage))).map((sentence) => ({
        text: sentence,
        id,
        words: new Set(wordsOf(sentence)),
      }))
      for (const word of new Set(read.flatMap(({ words }) => [...words])))
        this.#spread.set(word, (this.#spread.get(word) ?? 0) + 1)
      return read
    })
    this.#read = sentences
      .filter(({ text }) => text.length <= longestSentence && !asks(text))
      .map((sentence) => ({ ...sentence, ...this.#weighed(sentence.words) }))
    return this.#read
  }

  #isAbout(later: Sentence, earlier: Sentence): boolean {
    const shared = [...earlier.words].filter((word) => later.words.has(word))
    if (shared.length < fewest) return false
    const { weight } = this.#weighed(new Set(shared))
    return weight >= ofEarlier * earlier.weight && weight >= ofLater * later.weight
  }

  #weighed(words: ReadonlySet<string>): Sentence {
    let weight = 0
    for (const word of words) weight += Math.log((this.#messages.length + others) / (this.#spread.get(word) ?? 1))
    return { words, weight }
  }
}
