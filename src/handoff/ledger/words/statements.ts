// What the assistant said it had decided, in its own words. Said before looking, a sentence announces a look; said before a
// change or at the end of a turn, it says what was chosen and why. Of those, the ones that tell most of what nothing else
// tells come first: each word counts once, and more if the session is about it.

import { announces, asks, proseOf } from './sentences.ts'
import { isCode } from './pastes.ts'
import { type Terms, termsOf, weightIn } from './terms.ts'

export interface Statement {
  readonly text: string
  readonly id: number
}

interface Candidate extends Statement {
  readonly terms: Terms
  readonly factor: number
}

/** A sentence that says less tells nobody anything: "Done.", "All green now." */
const leastWeight = 8
const longest = 400
const mostCandidates = 1_500
/** So many are ranked; no document has room for more. */
const mostRanked = 60
/** What a word still counts for when it was told before. */
const toldBefore = 0.3
/** What a sentence counts for that was said before a command. */
const saidBeforeRunning = 0.3
/** What it counts for when a question follows, or when it is no whole sentence. */
const proposed = 0.5
const fragment = 0.85
/** Of two sentences about the same, the later one is nearer to how things are. */
const newest = 1.2

export class StatementBook {
  #accepted: Candidate[] = []
  /** Messages of which it is not known yet what follows them. */
  #pending: Statement[] = []
  /** Stem: the messages of the assistant that have it. */
  readonly #spread = new Map<string, number>()

  hear(text: string, id: number): void {
    this.#pending.push({ text, id })
  }

  /** A call follows what was said. A note to oneself tells nothing about it. */
  called(does: 'changes' | 'runs' | 'looks' | 'notes'): void {
    if (does === 'changes') this.#accept(1)
    else if (does === 'runs') this.#accept(saidBeforeRunning)
    else if (does === 'looks') this.#pending = []
  }

  /** Somebody else speaks: what was said closed a turn. What led to a question is a proposal. */
  settle(asked: boolean): void {
    this.#accept(asked ? proposed : 1)
  }

  /** Best first. `told`: what a reader knows already. */
  facts(told: readonly string[]): Statement[] {
    const candidates = [...this.#accepted, ...this.#pending.flatMap((message) => candidatesIn(message, 1))]
    const first = candidates[0]?.id ?? 0
    const last = candidates.at(-1)?.id ?? 0
    const times = new Map<string, number>()
    const tell = (stems: Iterable<string>) => {
      for (const stem of stems) times.set(stem, (times.get(stem) ?? 0) + 1)
    }
    for (const text of told) tell(termsOf(text).keys())
    const worth = ({ terms, text, id, factor }: Candidate) => {
      let sum = 0
      for (const [stem, weight] of terms)
        sum += weight * Math.log2(1 + (this.#spread.get(stem) ?? 0)) * toldBefore ** (times.get(stem) ?? 0)
      const recency = 1 + ((newest - 1) * (id - first)) / Math.max(1, last - first)
      return (sum * factor * recency) / (text.length + overhead)
    }
    // Telling one sentence only lowers the worth of the others, so what was the best and still is needs no other look.
    const left = candidates
      .map((candidate) => ({ candidate, most: worth(candidate) }))
      .sort((a, b) => a.most - b.most || b.candidate.id - a.candidate.id)
    const ranked: Statement[] = []
    while (left.length > 0 && ranked.length < mostRanked) {
      const { candidate } = left.pop()!
      const most = worth(candidate)
      if (most >= (left.at(-1)?.most ?? 0)) {
        tell(candidate.terms.keys())
        ranked.push({ text: candidate.text, id: candidate.id })
      } else {
        let at = left.length
        while (at > 0 && left[at - 1]!.most > most) at -= 1
        left.splice(at, 0, { candidate, most })
      }
    }
    return ranked
  }

  #accept(factor: number): void {
    for (const message of this.#pending) {
      const found = candidatesIn(message, factor)
      for (const stem of new Set(found.flatMap(({ terms }) => [...terms.keys()])))
        this.#spread.set(stem, (this.#spread.get(stem) ?? 0) + 1)
      this.#accepted.push(...found)
    }
    this.#pending = []
    if (this.#accepted.length > mostCandidates) this.#accepted.splice(0, this.#accepted.length - mostCandidates)
  }
}

function candidatesIn({ text, id }: Statement, factor: number): Candidate[] {
  return proseOf(text).flatMap((sentence) => {
    if (sentence.length > longest || asks(sentence) || announces(sentence)) return []
    const terms = termsOf(sentence)
    if (weightIn(terms) < leastWeight || isCode(sentence)) return []
    return [{ text: sentence, id, terms, factor: isWhole(sentence) ? factor : factor * fragment }]
  })
}

/** Whether a sentence ends like one, in any script. */
function isWhole(sentence: string): boolean {
  return /[.!…。！।۔][)"'”»」』）*_`]*$/u.test(sentence)
}

/** Characters that an item costs besides its text. */
const overhead = 30
