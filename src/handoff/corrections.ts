// What a model that has read the conversation may correct in the ledger's judgement: whether a failure, a todo, a question or a
// rule is still open. It has to quote who said so, letter for letter; what nobody said, or what only the assistant said of a check
// that fails, changes nothing.

import { z } from 'zod'
import type { Problem } from './document/check/validate.ts'
import type { Item, SectionKey } from './document/document.ts'
import type { Ledger, Quote } from './ledger/facts.ts'
import { codeSpan } from './safety/fence.ts'

/** One thing that the ledger takes for open or settled. */
interface Judgement {
  /** As the model is shown it: `F1` is a failure, `T1` a todo, `Q1` a question, `R1` a rule. */
  readonly label: string
  readonly section: SectionKey
  readonly what: string
  readonly is: 'open' | 'settled'
  /** The entry that it was taken from: what is said of it comes later. */
  readonly since: number
  /** Only the user can say so: it is about what the user wants, or a check says otherwise. */
  readonly byUser: boolean
  /** The ledger without the mistake. */
  readonly corrected: (ledger: Ledger, id: number) => Ledger
}

/** How many failures that are behind the work are shown. */
const mostSettled = 5

function judgementsOf({ failures, todos, questions, instructions }: Ledger): Judgement[] {
  const settled = failures
    .filter(({ closed }) => closed !== undefined && closed.reason !== 'passed')
    .slice(-mostSettled)
  const shown = failures.filter((failure) => failure.closed === undefined || settled.includes(failure))
  return [
    ...shown.map((failure, at): Judgement => ({
      label: `F${at + 1}`,
      section: 'failures',
      what: `${failure.what}: ${failure.message}`,
      is: failure.closed === undefined ? 'open' : 'settled',
      since: failure.lastId,
      byUser: failure.closed === undefined && failure.role !== 'step',
      corrected: (ledger, id) => ({
        ...ledger,
        failures: ledger.failures.map((each) => {
          if (each !== failure) return each
          const { closed, resolvedBy: _, ...open } = each
          return closed === undefined ? { ...open, closed: { reason: 'said', id } } : open
        }),
      }),
    })),
    ...todos
      .filter(({ status }) => status === 'pending' || status === 'in_progress')
      .map((todo, at): Judgement => ({
        label: `T${at + 1}`,
        section: 'pending',
        what: todo.text,
        is: 'open',
        since: todo.id,
        byUser: false,
        corrected: (ledger) => ({
          ...ledger,
          todos: ledger.todos.map((each) => (each === todo ? { ...each, status: 'cancelled' as const } : each)),
        }),
      })),
    ...questions.map((question, at): Judgement => ({
      label: `Q${at + 1}`,
      section: 'blockers',
      what: question.text,
      is: 'open',
      since: question.id,
      byUser: true,
      corrected: (ledger) => ({ ...ledger, questions: ledger.questions.filter((each) => each !== question) }),
    })),
    ...instructions
      .filter(({ standing, supersededBy }) => standing.length > 0 && supersededBy === undefined)
      .map((rule, at): Judgement => ({
        label: `R${at + 1}`,
        section: 'constraints',
        what: rule.standing.join(' '),
        is: 'open',
        since: rule.id,
        byUser: true,
        corrected: (ledger) => ({
          ...ledger,
          instructions: ledger.instructions.map((each) => (each === rule ? { ...each, standing: [] } : each)),
        }),
      })),
  ]
}

/** The judgements as the model is shown them, a line each; empty where there are none. */
export function judgementLines(ledger: Ledger): string {
  return judgementsOf(ledger)
    .map(({ label, is, what }) => `${label} ${is}: ${what.replaceAll(/\s+/g, ' ').slice(0, 300)}`)
    .join('\n')
}

const correctionsBlock = /```json\s*(\{[\s\S]*?\})\s*```/g
const correctionsSchema = z.object({
  corrections: z.array(z.object({ item: z.string(), is: z.enum(['open', 'settled']), quote: z.string() })),
})

type Corrections = z.infer<typeof correctionsSchema>['corrections']

/** Takes the corrections out of what a model wrote. */
export function readCorrections(text: string): { readonly document: string; readonly corrections: Corrections } {
  const corrections: Corrections = []
  const document = text.replaceAll(correctionsBlock, (block, json: string) => {
    const parsed = correctionsSchema.safeParse(parsedJson(json))
    if (!parsed.success) return block
    corrections.push(...parsed.data.corrections)
    return ''
  })
  return { document, corrections }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // a block of something else, which belongs to the document
  }
}

export interface Corrected {
  readonly ledger: Ledger
  /** What was corrected, as claims of the document. */
  readonly items: readonly Item[]
  /** What was not, because nobody said so who could. */
  readonly problems: readonly Problem[]
}

/** `replies`: what the assistant said, all of it. */
export function correct(ledger: Ledger, corrections: Corrections, replies: readonly Quote[], tape: string): Corrected {
  const judgements = judgementsOf(ledger)
  const items: Item[] = []
  const problems: Problem[] = []
  let corrected = ledger
  for (const { item, is, quote } of corrections) {
    const judgement = judgements.find(({ label }) => label === item)
    if (judgement === undefined || judgement.is === is) continue
    const byUser = saidAfter(judgement.since, quote, ledger.instructions)
    const said = byUser ?? (judgement.byUser ? undefined : saidAfter(judgement.since, quote, replies))
    if (said === undefined) {
      const who = judgement.byUser ? 'the user' : 'anybody'
      const message = `${brief(judgement.what)} is said to be ${is}, but ${who} did not say "${brief(quote)}" after it`
      problems.push({ section: judgement.section, kind: 'contradicted', message })
      continue
    }
    corrected = judgement.corrected(corrected, said.id)
    items.push({
      text: `${is === 'open' ? 'Still open' : 'Settled'}, as ${byUser === undefined ? 'the assistant' : 'the user'} said: ${codeSpan(brief(quote))} (${brief(judgement.what)})`,
      status: 'claimed',
      refs: [`${tape}#${said.id}`],
    })
  }
  return { ledger: corrected, items, problems }
}

/** Shorter words are in any conversation. */
const leastQuote = 8
/** A character of a script that takes few of them for a sentence. */
const wholeWord = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

function saidAfter(since: number, quote: string, spoken: readonly Quote[]): Quote | undefined {
  const wanted = plain(quote)
  if (wanted.replaceAll(wholeWord, 'word').length < leastQuote) return undefined
  return spoken.findLast(({ text, id }) => id > since && plain(text).includes(wanted))
}

function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().toLowerCase()
}

function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= 160 ? line : `${line.slice(0, 159)}…`
}
