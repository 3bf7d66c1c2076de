// Decisions that are certain: the user's answer to a question, an approved plan, an anchor's state.

import type { Decision } from '../facts.ts'
import type { Output } from '../tools/output.ts'
import { clip, isFields, line, type Asked } from '../tools/tool-calls.ts'
import { asks } from './sentences.ts'

type Found = Omit<Decision, 'id'>

/** Each decision once, in the order in which they were made. */
export class DecisionBook {
  #all: Decision[] = []
  readonly #texts = new Set<string>()

  add(found: readonly Found[], id: number): void {
    for (const decision of found) {
      if (this.#texts.has(decision.text)) continue
      this.#texts.add(decision.text)
      this.#all.push({ ...decision, id })
    }
  }

  /** What the user refused without a word. */
  reject(refused: string, id: number): void {
    this.add([{ text: rejected(refused), by: 'user', source: 'answer' }], id)
  }

  /** It was done after all, a file perhaps with another tool: whoever refused it before without a word has let it pass. */
  allowed(refused: string, isFile: boolean): void {
    const text = rejected(refused)
    const end = refused.slice(refused.indexOf(' '))
    const isIt = (decision: Decision) =>
      decision.why === undefined &&
      (decision.text === text || (isFile && decision.text.startsWith(rejected('')) && decision.text.endsWith(end)))
    for (const decision of this.#all.filter(isIt)) this.#texts.delete(decision.text)
    this.#all = this.#all.filter((decision) => !isIt(decision))
  }

  /** Books what the user chose in a dialog: it leaves the questions that they asked something about, and those without an answer. */
  answer(asked: readonly Asked[], output: Output, id: number): { askedBack: Asked[]; left: Asked[] } {
    const answers = readAnswers(asked, output)
    const isOpen = (each: Asked, index: number) => answers[index] !== undefined && asksBack(each, answers[index])
    this.add(
      asked.flatMap((each, index) =>
        answers[index] === undefined || isOpen(each, index) ? [] : [answered(each, answers[index])],
      ),
      id,
    )
    return { askedBack: asked.filter(isOpen), left: asked.filter((_, index) => answers[index] === undefined) }
  }

  /** Some agents print the plan with its approval. */
  approve(plan: string, output: Output, id: number): void {
    const title = planTitle(plan || (/## Approved Plan[^\n]*\n([\s\S]+)/.exec(output.head)?.[1] ?? ''))
    this.add([{ text: title === '' ? 'Approved the plan' : `Approved plan: ${title}`, by: 'user', source: 'plan' }], id)
  }

  facts(): readonly Decision[] {
    return this.#all
  }
}

export function rejected(refused: string): string {
  return `Rejected: ${refused}`
}

/** The answers to questions that were asked with a tool; undefined for one that got none. */
function readAnswers(asked: readonly Asked[], output: Output): (string | undefined)[] {
  if (
    output.isError ||
    /^(?:The user doesn't want|User declined|User dismissed|\[Request interrupted)/.test(output.head)
  )
    return asked.map(({ text }) => answerInDeclined(text, output.head))
  const answers = isFields(output.fields?.['answers']) ? output.fields['answers'] : undefined
  return asked.map(({ text, key }, index) => {
    const structured = answers
      ? (answers[text] ?? (key === undefined ? undefined : answers[key]) ?? answers[String(index)])
      : undefined
    const given = answerText(structured)
    if (given !== undefined) return given
    const at = output.head.indexOf(`"${text}"="`)
    if (at >= 0) {
      const start = at + text.length + 4
      const end = output.head.slice(start).search(/"(?:,? "|\.? |,|\.|$)/)
      return output.head.slice(start, end < 0 ? undefined : start + end)
    }
    // A single question whose answer is the whole output.
    return asked.length === 1 && !answers && output.head.trim() !== '' ? line(output.head) : undefined
  })
}

/** A dialog that the user left to ask something back still names what was chosen until then. */
function answerInDeclined(question: string, head: string): string | undefined {
  const at = head.indexOf(`- "${question}"\n`)
  return at < 0 ? undefined : /^\s*Answer: (.+)/.exec(head.slice(at + question.length + 5))?.[1]
}

function answerText(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  if (Array.isArray(value)) return value.filter((one): one is string => typeof one === 'string').join(', ') || undefined
  return isFields(value)
    ? answerText(value['answers'] ?? value['answer'] ?? value['label'] ?? value['value'])
    : undefined
}

/** Whether whoever answers a dialog asks something in return: nothing is decided then. An option may be a question, too. */
function asksBack({ options = [] }: Asked, answer: string): boolean {
  return asks(answer) && !options.some((option) => answer.includes(option))
}

export function answered({ text, options }: Asked, answer: string): Found {
  const others = options?.filter((option) => !answer.includes(option)) ?? []
  return {
    text: `${line(text)} → ${line(answer)}`,
    answered: { question: line(text), answer: line(answer) },
    ...(others.length > 0 && others.length < (options?.length ?? 0) && { ruledOut: others.join(', ') }),
    by: 'user',
    source: 'answer',
  }
}

/** `decisions` of an anchor's state: texts, or `{decision, rationale, alternatives}` as tasks write them. */
export function decisionsOfState(state: unknown): Found[] {
  const list = isFields(state) ? (state['decisions'] ?? state['key_decisions']) : undefined
  if (!Array.isArray(list)) return []
  return list.slice(0, 200).flatMap((one): Found[] => {
    if (typeof one === 'string' && one !== '') return [{ text: clip(one, 1_000), by: 'assistant', source: 'anchor' }]
    if (!isFields(one)) return []
    const text = one['decision'] ?? one['text'] ?? one['title']
    if (typeof text !== 'string' || text === '') return []
    const why = one['rationale'] ?? one['why'] ?? one['reason']
    const out = one['alternatives'] ?? one['ruledOut'] ?? one['ruled_out']
    const ruledOut = Array.isArray(out)
      ? out.filter((item): item is string => typeof item === 'string').join(', ')
      : out
    return [
      {
        text: clip(text, 1_000),
        ...(typeof why === 'string' && why !== '' && { why: clip(why, 1_000) }),
        ...(typeof ruledOut === 'string' && ruledOut !== '' && { ruledOut: clip(ruledOut, 1_000) }),
        by: one['by'] === 'user' ? 'user' : 'assistant',
        source: 'anchor',
      },
    ]
  })
}

/** The first line that says something, without its heading marks; of a plan that begins with its steps, all of them. */
export function planTitle(plan: string): string {
  const rows = plan.split('\n').filter((row) => row.replaceAll(/[#\s*_=-]/g, '') !== '')
  const steps = /^\s*(?:[-*•]|\d+[.)])\s/
  const title = steps.test(rows[0] ?? '') ? rows.filter((row) => steps.test(row)).join('; ') : rows[0]
  return clip(line(title?.replace(/^[\s#*_-]+/, '') ?? ''), longestPlan)
}

/** The steps of a longer plan are told by those that come first. */
const longestPlan = 240
