// What the assistant said it had decided, in its own words. Said before looking, a sentence announces a look; said before a
// change or at the end of a turn, it says what was chosen and why. Of those, the ones that tell most of what nothing else
// tells come first: each word counts once, and more if the session is about it.

import { announces, asks, lengthOf, proseOf, sentencesOf } from './sentences.ts'
import { isCode, withoutPastes } from './pastes.ts'
import { isAmong, isName, sharedWith, stemsOf, type Terms, termsOf, weightIn, wordsOf } from './terms.ts'

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
/** And one that names nothing has to say more: "I see the problem clearly now.", "All review threads are addressed." */
const leastUnnamed = 16
const longest = 400
const mostCandidates = 1_500
/** So many are ranked: what comes after them tells little, and a document with room to spare need not be filled with it. */
const mostRanked = 30
/** What a word still counts for when it was told before. */
const toldBefore = 0.3
/** What a sentence counts for that was said before a command. */
const saidBeforeRunning = 0.3
/** What the last of several sentences counts for that was said before an edit. */
const saidLastBeforeEdit = 0.15
/** What it counts for when a question follows, or when it is no whole sentence. */
const proposed = 0.5
const fragment = 0.85
/** Of two sentences about the same, the later one is nearer to how things are. */
const newest = 1.2

export class StatementBook {
  #accepted: Candidate[] = []
  /** Entry of the user's last words: what was accepted since then was said in this turn. */
  #turnId = 0
  /** What was said before a command in the turn that runs: a guess, which the words that close the turn confirm or replace. */
  #guesses: Statement[] = []
  /** Messages of which it is not known yet what follows them. */
  #pending: Statement[] = []
  /** Stem: the messages of the assistant that have it. */
  readonly #spread = new Map<string, number>()

  hear(text: string, id: number): void {
    this.#pending.push({ text, id })
  }

  /** A call follows what was said, perhaps of a command. A note to oneself tells nothing about it. */
  called(does: 'changes' | 'runs' | 'looks' | 'notes', isCommand = false): void {
    if (does === 'changes') this.#beforeChange(isCommand)
    else if (does !== 'notes') this.#beforeTrying(does === 'runs')
  }

  /**
   * Somebody else speaks: what was said closed a turn. What led to a question is a proposal; and what the user takes up again
   * may be wrong, and is told in their words.
   */
  settle(asked: boolean, { text: words, id }: Statement): void {
    if (this.#pending.length === 0) this.#accept(saidBeforeRunning, this.#guesses)
    this.#guesses = []
    const last = this.#pending.pop()
    if (last !== undefined) this.#pending.push({ ...last, text: withoutRemark(last.text) })
    // Of what was proposed for a choice, the user's answer tells what was chosen.
    if (asked) this.#pending = this.#pending.map((each) => ({ ...each, text: withoutItems(each.text) }))
    const sentences = sentencesOf(withoutPastes(words.slice(0, longestReply)))
    this.#accept(asked ? proposed : 1, this.#pending, sentences.map(termsOf))
    for (const numbers of sentences.map(numbersIn).filter(({ size }) => size > 1))
      this.#accepted = this.#accepted.filter(({ text }) => !isExchanged(numbersIn(text), numbers))
    this.#turnId = id
  }

  /** The user refused to have a file changed: what was said of it in this turn led to the wrong change. */
  refused(path: string): void {
    const name = path.slice(path.search(/[^/\\]*$/)).toLowerCase()
    if (name === '') return
    const isAbout = ({ text }: Statement) => text.toLowerCase().includes(name)
    const wrong = new Set(this.#accepted.filter((each) => each.id > this.#turnId && isAbout(each)).map(({ id }) => id))
    this.#accepted = this.#accepted.filter(({ id }) => !wrong.has(id))
  }

  /**
   * What was said before a change says what was chosen; but a short last sentence rather announces the change. Before an edit
   * it may be the choice, or the reason for it.
   */
  #beforeChange(isCommand: boolean): void {
    const last = this.#pending.pop()
    if (last === undefined) return
    const [text, announced] = splitAnnouncement(last.text)
    if (text !== '') this.#pending.push({ ...last, text })
    this.#accept(1)
    if (announced !== undefined && !isCommand)
      this.#accept(text === '' ? saidBeforeRunning : saidLastBeforeEdit, [{ ...last, text: announced }])
  }

  /** What was said before a call that does not change anything. Its last paragraph announces the call; those before it report. */
  #beforeTrying(keep: boolean): void {
    const last = this.#pending.pop()
    if (last !== undefined) {
      const paragraphs = last.text.trimEnd().split(/\n\s*\n/)
      if (paragraphs.length > 1) this.#pending.push({ ...last, text: paragraphs.slice(0, -1).join('\n\n') })
      this.#accept(saidBeforeRunning)
      const [guess] = splitAnnouncement(paragraphs.at(-1)!)
      if (keep && guess !== '') this.#guesses.push({ ...last, text: guess })
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
    const stems = new Stems((stem) => this.#spread.get(stem) ?? 0)
    for (const text of told) stems.tell(termsOf(text).keys())
    const valued = candidates.map((candidate) => ({ candidate, terms: stems.weigh(candidate.terms) }))
    const worth = ({ candidate: { text, id, factor }, terms }: (typeof valued)[number]) => {
      const recency = 1 + ((newest - 1) * (id - first)) / Math.max(1, last - first)
      return (stems.sum(terms) * factor * recency) / (text.length + overhead)
    }
    // Telling one sentence only lowers the worth of the others, so what was the best and still is needs no other look.
    const left = new BestFirst(
      valued
        .map((each) => ({ ...each, most: worth(each) }))
        .sort((a, b) => a.most - b.most || b.candidate.id - a.candidate.id)
        .reverse(),
    )
    const ranked: Statement[] = []
    for (let next = left.take(); next !== undefined && ranked.length < mostRanked; next = left.take()) {
      const { candidate } = next
      const most = worth(next)
      if (most >= left.most) {
        stems.tell(candidate.terms.keys())
        ranked.push({ text: candidate.text, id: candidate.id })
      } else left.add({ ...next, most })
    }
    return ranked
  }

  /** `reply`: the sentences of what the user said to it. */
  #accept(factor: number, messages = this.#pending, reply: readonly Terms[] = []): void {
    for (const message of messages) {
      const found = candidatesIn(message, factor).filter(({ terms }) => !isTakenUp(terms, reply))
      for (const stem of stemsOf(found)) this.#spread.set(stem, (this.#spread.get(stem) ?? 0) + 1)
      this.#accepted.push(...found)
    }
    if (messages === this.#pending) this.#pending = []
    if (this.#accepted.length > mostCandidates) this.#accepted.splice(0, this.#accepted.length - mostCandidates)
  }
}

/**
 * Whether the user spoke about just that: a sentence of theirs is about what it is about, and about little else. One that has
 * some of its words in passing reports how things are, and says nothing about whether it is right.
 */
function isTakenUp(terms: Terms, reply: readonly Terms[]): boolean {
  return reply.some((said) => {
    const shared = [...terms].filter(([stem, weight]) => weight > 1 && isAmong(stem, said))
    return shared.length >= 2 && sharedWith(terms, said) >= takenUpShare && sharedWith(said, terms) >= takenUpShare
  })
}

const takenUpShare = 0.3

function numbersIn(text: string): ReadonlySet<string> {
  return new Set(/\d\d/.test(text) ? wordsOf(text).filter((word) => /^\d{2,}$/.test(word)) : [])
}

/** Whether the user names a number of a sentence together with another one: "409 rather than 422". */
function isExchanged(told: ReadonlySet<string>, said: ReadonlySet<string>): boolean {
  return [...said].some((number) => told.has(number)) && [...said].some((number) => !told.has(number))
}
/** Of a reply of the user's, this much is read. */
const longestReply = 2_000

/** The words of a sentence as numbers: sums are made for every sentence again and again. */
interface WeighedTerms {
  readonly stems: readonly number[]
  readonly weights: readonly number[]
}

/** What each stem still counts for: less each time that it is told. */
class Stems {
  readonly #numbers = new Map<string, number>()
  readonly #times: number[] = []
  readonly #factors: number[] = []
  readonly #spreadOf: (stem: string) => number

  constructor(spreadOf: (stem: string) => number) {
    this.#spreadOf = spreadOf
  }

  tell(stems: Iterable<string>): void {
    for (const stem of stems) {
      const number = this.#numberOf(stem)
      this.#times[number]! += 1
      this.#factors[number] = toldBefore ** this.#times[number]!
    }
  }

  weigh(terms: Terms): WeighedTerms {
    const stems: number[] = []
    const weights: number[] = []
    for (const [stem, weight] of terms) {
      stems.push(this.#numberOf(stem))
      weights.push(weight * Math.log2(1 + this.#spreadOf(stem)))
    }
    return { stems, weights }
  }

  sum({ stems, weights }: WeighedTerms): number {
    let sum = 0
    for (let i = 0; i < stems.length; i++) sum += weights[i]! * this.#factors[stems[i]!]!
    return sum
  }

  #numberOf(stem: string): number {
    const known = this.#numbers.get(stem)
    if (known !== undefined) return known
    const number = this.#times.push(0) - 1
    this.#factors.push(1)
    this.#numbers.set(stem, number)
    return number
  }
}

/** Gives the item with the greatest `most`; of equals the one that was added last, and of the first ones the one in front. */
class BestFirst<Item extends { readonly most: number }> {
  /** A heap: none is better than the one at half its place. */
  readonly #heap: { readonly item: Item; readonly added: number }[]
  #added: number

  /** `items`: best first. */
  constructor(items: readonly Item[]) {
    this.#heap = items.map((item, i) => ({ item, added: items.length - i }))
    this.#added = items.length
  }

  get most(): number {
    return this.#heap[0]?.item.most ?? 0
  }

  add(item: Item): void {
    let at = this.#heap.push({ item, added: ++this.#added }) - 1
    for (let above = (at - 1) >> 1; at > 0 && this.#swapIfBetter(at, above); above = (at - 1) >> 1) at = above
  }

  take(): Item | undefined {
    const [best] = this.#heap
    const last = this.#heap.pop()
    if (best === undefined || last === undefined || this.#heap.length === 0) return best?.item
    this.#heap[0] = last
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      const below = this.#isBetter(right, left) ? right : left
      if (!this.#swapIfBetter(below, at)) return best.item
      at = below
    }
  }

  #isBetter(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]]
    if (a === undefined || b === undefined) return false
    return a.item.most > b.item.most || (a.item.most === b.item.most && a.added > b.added)
  }

  #swapIfBetter(one: number, other: number): boolean {
    if (!this.#isBetter(one, other)) return false
    const held = this.#heap[one]!
    this.#heap[one] = this.#heap[other]!
    this.#heap[other] = held
    return true
  }
}

function candidatesIn({ text, id }: Statement, factor: number): Candidate[] {
  // What is on a list to be ticked off is a plan, whose items are done or open.
  return proseOf(text.replaceAll(checklistLine, '')).flatMap((sentence) => {
    if (sentence.length > longest || asks(sentence) || announces(sentence)) return []
    const terms = termsOf(sentence)
    const weight = weightIn(terms)
    // A sentence is only searched for names where they decide: that takes longer than all the rest.
    if (weight < leastWeight || (weight < leastUnnamed && !namesSomething(sentence)) || isCode(sentence)) return []
    return [{ text: sentence, id, terms, factor: isWhole(sentence) ? factor : factor * fragment }]
  })
}

const checklistLine = /^\s*(?:[-*•]|\d+[.)])?\s*(?:\[[ xX]\]|☐|☑|☒|✅|⬜)\s.*$/gmu

/** Whether it names something of the work: in code or quotes, a number, a path, a name. */
function namesSomething(sentence: string): boolean {
  return /[`"“„«「『]/.test(sentence) || wordsOf(sentence).some((word) => /[\d_/.@#]/.test(word)) || namesIn(sentence)
}

/** A word with a capital inside it, or one of capitals alone. */
function namesIn(sentence: string): boolean {
  return (sentence.match(/[\p{L}\p{N}_]+/gu) ?? []).some(isName)
}

/** A longer last sentence before a call says more than that the call follows. */
const longestAnnouncement = 100

/** What was said before a call, and its last sentence if that is so short that it only announces the call. */
function splitAnnouncement(text: string): [before: string, announced?: string] {
  const trimmed = text.trimEnd()
  const announced = sentencesOf(trimmed).at(-1) ?? ''
  if (announced === '' || lengthOf(announced) > longestAnnouncement || !trimmed.endsWith(announced)) return [text]
  return [trimmed.slice(0, -announced.length).trimEnd(), announced]
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

/** A reply without its lists: items with a mark, and paragraphs that begin with a name in bold. */
function withoutItems(text: string): string {
  return text.replaceAll(/^\s*(?:(?:[-*•]|\(?(?:\d{1,2}|[A-Za-z])[.)])\s|\*\*[^*]+\*\*\s*[:：—–-]).*$/gm, '')
}

/** Whether a sentence ends like one, in any script. */
function isWhole(sentence: string): boolean {
  return /[.!…。！।۔][)"'”»」』）*_`]*$/u.test(sentence)
}

/** Characters that an item costs besides its text. */
const overhead = 30
