// Questions to the user that are still open. A question is answered by words about it, by one of its options, or by a short
// reply right behind it; and it is settled when the next turn takes up what it is about. Until then it is open.

import type { Question, Quote } from '../facts.ts'
import type { Asked, Call } from '../tools/tool-calls.ts'
import { planTitle } from './decisions.ts'
import { questionsIn } from './message-text.ts'
import { asks } from './sentences.ts'
import { hasTerm, type Haystack, isAmong, sharedWith, type Terms, termsOf, weightIn } from './terms.ts'

/** A reply that says no more than this is about the question before it: "yes", "the second one". */
const shortReply = 6
/** A question that says less is about the moment it was asked in: "Shall I commit this?" */
const leastWeight = 14
/** A question is settled when this part of its words came back in the turn behind it. */
const takenUp = 0.5
/** And later, when nearly all of them came back. */
const cameUpAgain = 0.8
/** Words about the question: this part of its own words, or of the reply's words in what was said before it; two at least. */
const ofQuestion = 0.15
const ofReply = 0.4
const longestContext = 2_000
const longestInstead = 400
const mostOpen = 3

interface Open {
  readonly question: Question
  readonly terms: Terms
  readonly weight: number
  readonly missing: Set<string>
}

export class QuestionBook {
  /** Asked, and the user has not spoken since. */
  #asked: Open[] = []
  /** The user spoke of something else; what the turn takes up is settled. */
  #passedOver: Open[] = []
  /** Passed over for good. */
  #left: Open[] = []

  /** A dialog that was closed without an answer. */
  ask(asked: readonly Asked[], id: number): void {
    for (const each of asked) this.#asked.push(opened(questionOf(each, id)))
  }

  /** A dialog in which the user asked something back: what follows takes it up, or it stays open. */
  askedBack(asked: readonly Asked[], id: number): void {
    for (const each of asked) this.#passedOver.push(opened({ ...questionOf(each, id), passedOver: '' }))
  }

  /** The user's words; `lastWords`: what the assistant had said before them. */
  answer(words: string, lastWords: Quote | undefined): void {
    this.#left = [...this.#left, ...this.#passedOver.filter((open) => !isTakenUp(open, takenUp))]
    const open = [...this.#asked, ...(lastWords ? questionsOf(lastWords).map(opened) : [])]
    const terms = termsOf(words)
    this.#left = this.#left.filter((each) => sharedWith(each.terms, terms) < takenUp).slice(-mostOpen)
    this.#passedOver = open
      .filter(({ question, weight }) => weight >= leastWeight && !answers(question, words, lastWords?.text))
      .map((each) => ({ ...each, question: { ...each.question, passedOver: words.slice(0, longestInstead) } }))
    this.#asked = []
  }

  /** The assistant's words, or the input of a call. */
  hear(heard: Haystack): void {
    for (const { missing } of [...this.#left, ...this.#passedOver]) {
      for (const stem of missing) if (hasTerm(heard, stem)) missing.delete(stem)
    }
  }

  /** `calls`: those without a result. `answeredId`: the user's last words. */
  facts(
    calls: readonly { readonly call: Call; readonly id: number }[],
    lastWords: Quote | undefined,
    answeredId: number,
  ): Question[] {
    const dialogs = calls.flatMap(({ call, id }): Question[] => {
      if (id <= answeredId) return []
      if (call.kind === 'questions') return call.questions.map((each) => questionOf(each, id))
      if (call.kind !== 'plan') return []
      const text = `May this plan be carried out: ${planTitle(call.text)}`
      return [{ text, about: call.text, source: 'tool', id }]
    })
    const said = lastWords && lastWords.id > answeredId ? questionsOf(lastWords) : []
    const left = [
      ...this.#left.filter((open) => !isTakenUp(open, cameUpAgain)),
      ...this.#passedOver.filter((open) => !isTakenUp(open, takenUp)),
    ].slice(-mostOpen)
    return [
      ...left.map(({ question }) => question),
      ...this.#asked.map(({ question }) => question),
      ...dialogs,
      ...said,
    ]
  }
}

/** Whether the words answer the question, as far as words can tell. `context`: what was said before it. */
export function answers(
  { text, options = [] }: Pick<Question, 'text' | 'options'>,
  words: string,
  context = '',
): boolean {
  const lower = words.toLowerCase()
  if (options.some((option) => lower.includes(option.toLowerCase()))) return true
  const reply = termsOf(words.slice(0, 2_000))
  if (!asks(words) && weightIn(reply) <= shortReply) return true
  const question = termsOf([text, ...options].join('\n'))
  // Whoever chooses says first what they choose.
  const [first] = reply.keys()
  if (first !== undefined && isAmong(first, question)) return true
  const isAbout = (terms: Terms, others: Terms, part: number) =>
    sharedWith(terms, others) >= part && [...terms.keys()].filter((stem) => isAmong(stem, others)).length >= 2
  return isAbout(question, reply, ofQuestion) || isAbout(reply, termsOf(context.slice(-longestContext)), ofReply)
}

function isTakenUp({ terms, weight, missing }: Open, part: number): boolean {
  let gone = 0
  for (const [stem, each] of terms) if (missing.has(stem)) gone += each
  return weight - gone >= weight * part
}

function opened(question: Question): Open {
  const terms = termsOf(question.text)
  return { question, terms, weight: weightIn(terms), missing: new Set(terms.keys()) }
}

function questionsOf({ text, id }: Quote): Question[] {
  return questionsIn(text).map((question) => ({ text: question, source: 'text', id }))
}

function questionOf({ text, options }: Asked, id: number): Question {
  return { text, ...(options && { options }), source: 'tool', id }
}
