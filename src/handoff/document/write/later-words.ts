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
const mostMessages = 300
const longestMessage = 1_500
const longestSentence = 300
/** Its beginning shows which one it is. */
const longestShown = 80

interface Later extends Quote {
  readonly words: ReadonlySet<string>
}

export class LaterWords {
  readonly #messages: readonly Instruction[]
  /** How many messages have a word. */
  readonly #spread = new Map<string, number>()
  #read: readonly Later[] | undefined

  constructor(instructions: readonly Instruction[]) {
    this.#messages = instructions.slice(-mostMessages)
  }

  /**
   * The text of an item with the newest sentence after that entry that is about what one of the item's sentences is about, if
   * there is one.
   */
  mark(text: string, sentences: readonly string[], id: number): string {
    const earlier = sentences.map((sentence) => new Set(wordsOf(sentence)))
    const found = this.#sentences().findLast(
      (later) => later.id > id && earlier.some((words) => this.#isAbout(later.words, words)),
    )
    return found === undefined ? text : withLaterWords(text, clip(found.text, longestShown))
  }

  #sentences(): readonly Later[] {
    this.#read ??= this.#messages.flatMap(({ text, id }) => {
      const read = text.slice(0, longestMessage)
      for (const word of new Set(wordsOf(read))) this.#spread.set(word, (this.#spread.get(word) ?? 0) + 1)
      return sentencesOf(withoutPastes(read))
        .filter((sentence) => sentence.length <= longestSentence && !asks(sentence))
        .map((sentence) => ({ text: sentence, id, words: new Set(wordsOf(sentence)) }))
    })
    return this.#read
  }

  #isAbout(later: ReadonlySet<string>, earlier: ReadonlySet<string>): boolean {
    const shared = [...earlier].filter((word) => later.has(word))
    if (shared.length < fewest) return false
    const weight = this.#weight(shared)
    return weight >= ofEarlier * this.#weight(earlier) && weight >= ofLater * this.#weight(later)
  }

  #weight(words: Iterable<string>): number {
    let sum = 0
    for (const word of words) sum += Math.log((this.#messages.length + others) / (this.#spread.get(word) ?? 1))
    return sum
  }
}
