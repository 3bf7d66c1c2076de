// Decisions, taken only where they are marked as such: in so many words in the assistant's text, in the user's answer to a
// question, in an approved plan, or in an anchor's state. A model may find more; these are certain.

import type { Decision } from './facts.ts'
import type { Output } from './output.ts'
import { clip, isFields, line, type Asked } from './vocabulary.ts'

type Found = Omit<Decision, 'id'>

/** A look before the closer one: most of what an assistant says decides nothing. */
const HINT =
  /decid|decision|instead of|rather than|chose|going with|went with|opted|entscheid|entschied|décid|décision|decis|решил|решени|决定|決定|決め|결정/i
const LABEL =
  /^[\s>*_#-]*(?:key )?(?:decision|entscheidung|décision|decisión|decisão|decisione|beslissing|decyzja|решение|决定|決定|결정)[*_]*\s*(?:\d+\s*)?[:：][*_]*\s*(.+)$/iu
const SAID =
  /\b(?:(?:i|we)(?:'ve| have)? decided (?:to|on|against|that) .+|(?:i'll|we'll|i will|we will|let's|i'm|we're) (?:go(?:ing)? with|us(?:e|ing)|stick(?:ing)? (?:with|to)|choos(?:e|ing)|switch(?:ing)? to|keep(?:ing)?) .+? (?:instead of|rather than|over) .+|(?:i|we) (?:chose|opted for|picked|went with|settled on) .+ (?:because|since|over|instead of|rather than) .+)/i
const SAID_ELSEWHERE =
  /(?:(?:ich habe|wir haben|habe) (?:mich|uns) (?:dafür |dagegen )?entschieden.*|(?:j'ai|nous avons|on a) décidé (?:de|d').+|(?:he|hemos) decidido .+|decidi(?:mos)? .+ em vez de .+|(?:мы |я )?решил(?:и|а)? .+|(?:我|我们)?决定.+|.+(?:に|ことに)(?:決めた|決めました|しました).*)/iu
const ELSEWHERE = /entschied|décidé|decidid|decidi|решил|决定|決|しました/iu
const WHY =
  /(?:\bbecause\b|\bsince\b|\bso that\b|\bas it\b|\bdue to\b|\bweil\b|\bda\b|parce que|\bcar\b|porque|perché|потому что|так как|因为|なので|ため|왜냐하면)\s*(.+)$/iu
const RULED_OUT =
  /(?:\binstead of\b|\brather than\b|\bover\b|\bdecided against\b|\bstatt\b|au lieu de|en lugar de|en vez de|em vez de|invece di|вместо|而不是)\s+(.+?)(?:\s*(?:[,;.(]|\bbecause\b|\bsince\b|\bso that\b|\bdue to\b|\bweil\b|parce que|porque|因为|потому что)|$)/iu

const MAX_TEXT = 20_000

export function decisionsSaid(text: string): Found[] {
  const sample = text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text
  if (!HINT.test(sample)) return []
  const found: Found[] = []
  let fenced = false
  for (const raw of sample.split('\n')) {
    if (/^\s*(?:```|~~~)/.test(raw)) fenced = !fenced
    // A quoted line and a question decide nothing.
    if (fenced || /^\s*>/.test(raw) || raw.length > 2_000) continue
    const labelled = LABEL.exec(raw)?.[1]
    if (labelled) {
      found.push(explain(labelled))
      continue
    }
    if (!HINT.test(raw)) continue
    for (const sentence of raw.split(/(?<=[.!?])\s+|(?<=[。！？])/u)) {
      if (/[?？]\s*$/.test(sentence)) continue
      const said =
        SAID.exec(sentence)?.[0] ?? (ELSEWHERE.test(sentence) ? SAID_ELSEWHERE.exec(sentence)?.[0] : undefined)
      if (said && !/\b(?:if|should|could|would|haven't|not yet|before) (?:i|we|you)?\b.*decid/i.test(sentence))
        found.push(explain(said))
    }
  }
  return found.slice(0, 20)
}

function explain(text: string): Found {
  const tidy = line(text.replaceAll(/\*\*|__/g, ''))
  const why = WHY.exec(tidy)?.[1]?.replace(/[.。]$/, '')
  const ruledOut = RULED_OUT.exec(tidy)?.[1]
  return { text: tidy, ...(why && { why }), ...(ruledOut && { ruledOut }), by: 'assistant', source: 'said' }
}

/** The answers to questions that were asked with a tool; undefined for one that got none. */
export function readAnswers(asked: readonly Asked[], output: Output): (string | undefined)[] {
  if (
    output.isError ||
    /^(?:The user doesn't want|User declined|User dismissed|\[Request interrupted)/.test(output.head)
  )
    return asked.map(() => undefined)
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

function answerText(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  if (Array.isArray(value)) return value.filter((one): one is string => typeof one === 'string').join(', ') || undefined
  return isFields(value)
    ? answerText(value['answers'] ?? value['answer'] ?? value['label'] ?? value['value'])
    : undefined
}

export function answered({ text, options }: Asked, answer: string): Found {
  const others = options?.filter((option) => !answer.includes(option)) ?? []
  return {
    text: `${line(text)} → ${line(answer)}`,
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

/** The first line that says something, without its heading marks. */
export function planTitle(plan: string): string {
  const first = plan.split('\n').find((row) => row.replaceAll(/[#\s*_=-]/g, '') !== '')
  return line(first?.replace(/^[\s#*_-]+/, '') ?? '')
}
