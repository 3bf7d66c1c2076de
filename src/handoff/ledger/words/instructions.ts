// The user's messages, and what of them binds whatever follows. A request comes back: its words are in the calls and the
// replies of the turn that carries it out. A sentence whose words do not come back was not carried out and is no answer, so
// it still stands. Nothing here knows the words of a language.

import type { Instruction, Quote } from '../facts.ts'
import { namedFiles } from '../files/paths.ts'
import { isPasted, withoutPastes } from './pastes.ts'
import { announces, asks, listMark, partsOf, sentencesOf } from './sentences.ts'
import {
  hasTerm,
  type Haystack,
  isAmong,
  isName,
  languageMarksOf,
  sharedWith,
  stemsOf,
  type Terms,
  termsOf,
  weightIn,
} from './terms.ts'

/** A sentence that says less is a remark: "thanks", "try again". */
const leastWeight = 15
/** So much of it is words of a language rather than names and numbers. */
const leastWords = 8
/** A sentence stands while at most this part of its words came back. */
const mostReturned = 0.2
/** A later sentence replaces an earlier one when it speaks of this part of what that was about, and of little else. */
const sameSubject = 0.65
const leastSubject = 5
const longestSentence = 400
/** A stem in more messages than this says nothing about what a message is about. */
const commonStem = 20
/** Of messages that nobody answered, only so many of the newest are looked for in what follows. */
const mostOpen = 100
/** A reply without any call that is shorter takes notice and does nothing. */
const shortReply = 400
/** So much tells the language of the replies of a turn, and of a sentence; it is another one where less than this part is shared. */
const language = { leastOfReplies: 20, leastOfSentence: 5, shared: 0.25 }
/** Of what is said in a turn, the newest replies are kept, and of each its beginning. */
const keptReplies = { most: 4, characters: 1_500 }

export interface Circumstances {
  /** Entry of the assistant's question that the message may answer. */
  readonly answers?: number
  /** The command or file that the user refused with these words. */
  readonly refused?: string
  /** The assistant was at work when it was typed. */
  readonly within?: true
}

interface Sentence {
  readonly text: string
  readonly terms: Terms
  readonly weight: number
  /** It stands in a line that announces what follows. */
  readonly leadsIn: boolean
}

interface Turn {
  calls: number
  spoken: number
  readonly replies: string[]
  /** Files that were changed. */
  readonly changed: Set<string>
  /** `reply`: nothing came after the assistant's words so far. */
  state?: 'reply' | 'done' | 'cut'
}

interface Kept {
  fact: Instruction
  sentences: readonly Sentence[]
  /** Stems that have not come back in the turn yet. */
  missing: Set<string>
  /** The message that was last looked at for sentences that replace some of this one. */
  comparedWith?: Kept
}

export class InstructionBook {
  readonly #all: Kept[] = []
  readonly #texts = new Set<string>()
  /** Stem: the messages that have it. */
  readonly #index = new Map<string, number[]>()
  /** Messages of the turn that runs, and of turns before it that were cut off. */
  #open: Kept[] = []
  #turn: Turn = newTurn()
  /** Whether the tape says when turns end; otherwise a reply without a call behind it ends one. */
  #knowsEnds = false

  add(quote: Quote, { answers, refused, within }: Circumstances = {}): void {
    if (within !== true) this.#closeTurn()
    const typed = withoutPastes(quote.text)
    const sentences = typed.split('\n').flatMap((line) => {
      // What stands in front of a paste, in the same line as its announcement, may be its beginning.
      const leadsIn = announces(line)
      // An item of a list is about one thing: what stands behind its semicolon explains what stands before it.
      const isItem = listMark.test(line)
      return sentencesOf(line).flatMap((text) => (isItem ? readSentence(text, leadsIn) : readSentences(text, leadsIn)))
    })
    const kept: Kept = {
      fact: {
        ...quote,
        // A comment given on refusing a call binds, unless it asks something.
        standing:
          refused === undefined
            ? []
            : sentences.map(({ text }) => text).filter((text) => text.length <= longestSentence && !asks(text)),
        ...(answers !== undefined && { answers }),
        ...(refused !== undefined && { refused }),
        // Whoever refuses a call and says how to go on still wants what they asked for.
        ...((within === true || refused !== undefined) && { within: true as const }),
      },
      sentences,
      missing: stemsOf(sentences),
    }
    this.#replace(kept, quote.id)
    for (const stem of kept.missing) {
      const holders = this.#index.get(stem)
      if (!holders) this.#index.set(stem, [this.#all.length])
      else if (holders.length <= commonStem) holders.push(this.#all.length)
    }
    this.#all.push(kept)
    this.#texts.add(quote.text)
    this.#open.push(kept)
    if (this.#open.length > mostOpen) this.#open.shift()
  }

  /** The assistant's words, or the input of a call. */
  hear(heard: Haystack, from: 'reply' | 'call'): void {
    if (from === 'call') this.#turn.calls += 1
    else {
      this.#turn.spoken += heard.text.length
      this.#turn.replies.push(heard.text.slice(0, keptReplies.characters))
      if (this.#turn.replies.length > keptReplies.most) this.#turn.replies.shift()
    }
    if (this.#turn.state !== 'cut') this.#turn.state = from === 'reply' ? 'reply' : undefined
    this.know(heard)
  }

  /** A file was changed. */
  changed(path: string): void {
    this.#turn.changed.add(path)
  }

  /** Words that the assistant has before it, such as its list of what is to be done. */
  know(heard: Haystack): void {
    for (const { missing } of this.#open) {
      for (const stem of missing) if (hasTerm(heard, stem)) missing.delete(stem)
    }
  }

  /** The turn is over. What a turn that was cut off was about may come back in the next one. */
  end(how: 'done' | 'cut'): void {
    if (how === 'done') this.#knowsEnds = true
    this.#turn.state = how
  }

  get first(): Instruction | undefined {
    this.#opening ??= this.#all.find(({ fact }) => !isBareCommand(fact.text))
    return (this.#opening ?? this.#all[0])?.fact
  }
  #opening: Kept | undefined

  get last(): Instruction | undefined {
    return (this.#all.findLast(({ fact }) => !isBareCommand(fact.text)) ?? this.#all.at(-1))?.fact
  }

  has(text: string): boolean {
    return this.#texts.has(text)
  }

  facts(): Instruction[] {
    const isJudged = this.#isAnswered()
    return this.#all.map((kept) => (isJudged && this.#open.includes(kept) ? this.#judged(kept) : kept.fact))
  }

  #isAnswered(): boolean {
    return this.#turn.state === 'done' || (this.#turn.state === 'reply' && !this.#knowsEnds)
  }

  #closeTurn(): void {
    // Words typed while the assistant works belong to the turn that runs.
    if (this.#isAnswered()) {
      for (const kept of this.#open) {
        kept.fact = this.#judged(kept)
        settle(kept)
      }
      this.#open = []
    } else if (this.#turn.calls === 0 && this.#turn.spoken === 0) {
      // Nobody heard it, so nothing can tell what became of it.
      this.#open = []
    }
    if (this.#isAnswered() || this.#turn.state === 'cut') this.#turn = newTurn()
  }

  #judged(kept: Kept): Instruction {
    return { ...kept.fact, standing: this.#standing(kept), ...(!this.#workedOn() && { noted: true as const }) }
  }

  #standing({ fact, sentences, missing }: Kept): string[] {
    if (fact.refused !== undefined) return [...fact.standing]
    // The first sentence of all says what the session is for, if work was done for it.
    const goal = fact.id === this.first?.id && this.#workedOn() ? sentences[0] : undefined
    const candidates = sentences.filter((sentence) => {
      const { text, weight, terms, leadsIn } = sentence
      if (sentence === goal) return false
      const says = weight >= leastWeight && wordsIn(terms) >= leastWords && text.length <= longestSentence
      return says && !leadsIn && !asks(text) && !isPasted(text) && !this.#isCarriedOut(text)
    })
    const unheard = candidates.filter((sentence) => returned(sentence, missing) <= mostReturned * sentence.weight)
    if (unheard.length === 0) return []
    const standing = this.#inLanguageOfTurn(unheard)
    // An answer to a question is about what was asked.
    if (fact.answers !== undefined && sentences.length === 1) return []
    const request = this.#workedOn() ? requestIn(sentences, missing) : undefined
    return standing.filter((sentence) => sentence !== request).map(({ text }) => text)
  }

  /** A wish for work on files is carried out when all of them were changed. */
  #isCarriedOut(sentence: string): boolean {
    const named = namedFiles(sentence)
    const changed = [...this.#turn.changed]
    return named.length > 0 && named.every((name) => changed.some((path) => `/${path}`.endsWith(`/${name}`)))
  }

  /** Those of which the words could come back: not a paste from elsewhere, nor anything where the agent answers in another language. */
  #inLanguageOfTurn(sentences: readonly Sentence[]): Sentence[] {
    const spoken = languageMarksOf(this.#turn.replies.join('\n').replaceAll(/```[\s\S]*?(?:```|$)|`[^`\n]*`/g, ''))
    if (spoken.length < language.leastOfReplies) return [...sentences]
    const known = new Set(spoken)
    return sentences.filter(({ text }) => {
      const marks = languageMarksOf(text)
      return (
        marks.length < language.leastOfSentence ||
        marks.filter((mark) => known.has(mark)).length >= language.shared * marks.length
      )
    })
  }

  /** Whether the turn did more than to take notice of what was said. */
  #workedOn(): boolean {
    return this.#turn.calls > 0 || this.#turn.spoken > shortReply
  }

  /** Marks what the later message says anew. */
  #replace(message: Kept, by: number): void {
    const later = message.sentences.filter(({ text }) => !asks(text))
    const stems = stemsOf(later)
    for (const stem of stems) {
      const holders = this.#index.get(stem) ?? none
      if (holders.length > commonStem) continue
      for (const index of holders) {
        const kept = this.#all[index]
        if (kept === undefined || kept.comparedWith === message) continue
        kept.comparedWith = message
        if (kept.fact.supersededBy === undefined) replaceIn(kept, later, stems, by)
      }
    }
  }
}

const none: readonly number[] = []

function newTurn(): Turn {
  return { calls: 0, spoken: 0, replies: [], changed: new Set() }
}

/** Forgets what is only needed while the turn of a message runs: a session may have very many. */
function settle(kept: Kept): void {
  kept.missing = noStems
  kept.sentences = kept.sentences.map((each) => (each.weight < leastSubject ? { ...each, terms: noTerms } : each))
}

const noStems = new Set<string>()
const noTerms: Terms = new Map()

/** Takes out of a message what a later one says anew. */
function replaceIn(kept: Kept, later: readonly Sentence[], stems: ReadonlySet<string>, by: number): void {
  const taken = kept.sentences.filter(
    (earlier) => isAllAmong(earlier, stems) && later.some((sentence) => replaces(sentence, earlier)),
  )
  if (taken.length === 0) return
  const left = kept.sentences.filter((sentence) => !taken.includes(sentence))
  if (left.every(({ weight }) => weight < leastSubject) && kept.fact.amended === undefined) {
    kept.fact = { ...kept.fact, supersededBy: by, standing: [] }
  } else {
    const amended = [...(kept.fact.amended ?? []), ...taken.map(({ text }) => ({ text, by }))]
    const standing = kept.fact.standing.filter((text) => !taken.some((each) => each.text === text))
    kept.fact = { ...kept.fact, amended, standing }
    kept.sentences = left
  }
}

/** Behind a semicolon a rule may share its sentence with a request; a part that says little belongs to the others. */
function readSentences(text: string, leadsIn: boolean): Sentence[] {
  const parts = partsOf(text).map((part) => readSentence(part, leadsIn))
  return parts.length > 1 && parts.every(({ weight }) => weight >= leastWeight) ? parts : [readSentence(text, leadsIn)]
}

function readSentence(text: string, leadsIn: boolean): Sentence {
  const terms = termsOf(text)
  return { text, terms, weight: weightIn(terms), leadsIn }
}

function wordsIn(terms: Terms): number {
  let sum = 0
  for (const [stem, weight] of terms) if (!isName(stem)) sum += weight
  return sum
}

/** The weight of the words of a sentence that came back. */
function returned({ terms, weight }: Sentence, missing: ReadonlySet<string>): number {
  let gone = 0
  for (const [stem, each] of terms) if (missing.has(stem)) gone += each
  return weight - gone
}

/** Work was done for some reason: the sentence that came back most is what was asked for. */
function requestIn(sentences: readonly Sentence[], missing: ReadonlySet<string>): Sentence | undefined {
  let most: { sentence: Sentence; weight: number } | undefined
  for (const sentence of sentences) {
    const weight = returned(sentence, missing)
    if (most === undefined || weight > most.weight) most = { sentence, weight }
  }
  return most?.sentence
}

/** Whether these stems, of several sentences, hold what one sentence is about: most earlier ones are told apart by a few words. */
function isAllAmong({ terms, weight }: Sentence, stems: ReadonlySet<string>): boolean {
  let spare = (1 - sameSubject) * weight + rounding
  for (const [stem, each] of terms) {
    if (isAmong(stem, stems)) continue
    spare -= each
    if (spare < 0) return false
  }
  return true
}

const rounding = 1e-6

/**
 * Whether a later sentence is about all that an earlier one was about. One that is about a part of it stands beside it: a
 * rule that is wrongly dropped does harm, an old one in front of a newer one does not.
 */
function replaces(later: Sentence, earlier: Sentence): boolean {
  if (earlier.weight < leastSubject || later.weight > 1.5 * earlier.weight + leastSubject) return false
  return sharedWith(earlier.terms, later.terms) >= sameSubject
}

/** `/model`: typed for the agent's program, not for the agent. */
function isBareCommand(text: string): boolean {
  return /^\/[\w:-]*$/.test(text)
}
