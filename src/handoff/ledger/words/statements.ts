// What the assistant said it had decided, in its own words. Said before looking, a sentence announces a look; said before a
// change or at the end of a turn, it says what was chosen and why. Of those, the ones that tell most of what nothing else
// tells come first: each word counts once, and more if the session is about it.

import { announces, asks, proseOf, sentencesOf } from './sentences.ts'
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
  /** What was said before a command in the turn that runs: a guess, which the words that close the turn confirm or replace. */
  #guesses: Statement[] = []
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
    else if (does !== 'notes') this.#beforeTrying(does === 'runs')
  }

  /** Somebody else speaks: what was said closed a turn. What led to a question is a proposal. */
  settle(asked: boolean): void {
    if (this.#pending.length === 0) this.#accept(saidBeforeRunning, this.#guesses)
    this.#guesses = []
    const last = this.#pending.pop()
    if (last !== undefined) this.#pending.push({ ...last, text: withoutRemark(last.text) })
    this.#accept(asked ? proposed : 1)
  }

  /** What was said before a call that does not change anything. Its last paragraph announces the call; those before it report. */
  #beforeTrying(keep: boolean): void {
    const last = this.#pending.pop()
    if (last !== undefined) {
      const paragraphs = last.text.trimEnd().split(/\n\s*\n/)
      if (paragraphs.length > 1) this.#pending.push({ ...last, text: paragraphs.slice(0, -1).join('\n\n') })
      this.#accept(saidBeforeRunning)
      if (keep) this.#guesses.push({ ...last, text: paragraphs.at(-1)! })
    }
    this.#pending = []
  }

  /** Best first. `told`: what a reader knows already. */
  facts(told: readonly string[]): Statement[] {
    const guesses = this.#pending.length > 0 ? [] : this.#guesses
    const all = [
      ...this.#accepted,
      ...guesses.flatMap((message) => candidatesIn(message, saidBeforeRunning)),
      ...this.#pending.flatMap((message) => candidatesIn(message, 1)),
    ]
    const first = all[0]?.id ?? 0
    const last = all.at(-1)?.id ?? 0
    // What was said twice counts as said the second time.
    const candidates = [...new Map(all.map((each) => [each.text, each])).values()]
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

  #accept(factor: number, messages = this.#pending): void {
    for (const message of messages) {
      const found = candidatesIn(message, factor)
      for (const stem of new Set(found.flatMap(({ terms }) => [...terms.keys()])))
        this.#spread.set(stem, (this.#spread.get(stem) ?? 0) + 1)
      this.#accepted.push(...found)
    }
    if (messages === this.#pending) this.#pending = []
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

/**
 * A reply without the last of its paragraphs, if that is a remark behind a report: an offer, a question, what could come next.
 * Once the user has spoken, it is of the past.
 */
function withoutRemark(text: string): string {
  const paragraphs = text.trimEnd().split(/\n\s*\n/)
  const last = paragraphs.at(-1)!
  const isRemark = paragraphs.length > 1 && !/^\s*(?:[-*•|#`]|\d+[.)])/m.test(last) && sentencesOf(last).length <= 2
  return isRemark ? paragraphs.slice(0, -1).join('\n\n') : text
}

/** Whether a sentence ends like one, in any script. */
function isWhole(sentence: string): boolean {
  return /[.!…。！।۔][)"'”»」』）*_`]*$/u.test(sentence)
}

/** Characters that an item costs besides its text. */
const overhead = 30
