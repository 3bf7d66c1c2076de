// The items that tell what the user and the assistant said: requests, what binds, decisions, questions, and replies.

import type { Decision, Instruction, Ledger, Quote } from '../../ledger/facts.ts'
import { clip } from '../../ledger/tools/tool-calls.ts'
import { questionIn } from '../../ledger/words/message-text.ts'
import { asks, lengthOf, sentencesOf } from '../../ledger/words/sentences.ts'
import { codeSpan } from '../../safety/fence.ts'
import { isDenied } from '../check/claims.ts'
import type { Item } from '../document.ts'
import { oneLine } from '../markdown/normalise.ts'
import { answeredLast, asReply, asUserSaid, saidByAssistant, undoneSince } from '../phrases.ts'
import { inheritedRequest } from './inherited.ts'
import { isIdle } from './last-request.ts'
import { longest, type Material } from './material.ts'
import { code, isBlank, withoutClosingLine, withoutEnd } from './next-step.ts'
import { besidesStanding, namesFile, standingPart, wholeQuote } from './quotes.ts'
import { shorten } from './shorten.ts'

/** The reply that ended the work, at length: it often is the whole result. */
export function closing(material: Material): Item[] {
  const { ending, lastWords } = material.ledger
  if (ending.state !== 'answered' || lastWords === undefined) return []
  const told = material.steps.some(({ saysEnd }) => saysEnd) ? withoutClosingLine(lastWords.text) : lastWords.text
  return [
    {
      ...material.item(answeredLast, [lastWords.id]),
      status: 'claimed',
      ...(told !== '' && { data: shorten(told, longest) }),
      tag: 'closing',
    },
  ]
}

export function requests(material: Material): Item[] {
  const { goal, inherited } = material.ledger
  const { quotes, answered } = material.lastRequest
  // What was said on refusing a call stands under what binds, with what was refused.
  const others = quotes.filter((one) => one.id !== goal?.id && !isRefusalTold(one))
  const items = [...(goal === undefined ? [] : [goal]), ...others]
    .filter((quote) => !isBlank(quote))
    .map((quote): Item => ({
      ...withLater(material, material.quote(quote), quote.id),
      ...(isRule(material, quote.id) && { tag: 'rule' }),
    }))
  if (items.length > 0 && answered !== undefined) items.push(answeredBy(material, answered))
  if (items.length > 0) return items
  if (material.goal !== undefined) return [material.item(`The next session is for: ${material.goal}`)]
  if (inheritedRequest(material.ledger) !== undefined) return []
  if (inherited !== undefined)
    return [{ ...material.item(`Go on from ${inherited.name}`, [inherited.id]), tag: 'filler' }]
  return [{ ...material.item('The tape holds no request by the user'), tag: 'filler' }]
}

/** A request with words that bind, or with words that were only taken notice of, may have been taken back in part. */
function withLater(material: Material, item: Item, id: number): Item {
  const one = material.ledger.instructions.find((each) => each.id === id)
  if (one === undefined) return item
  const sentences = one.noted === true ? sentencesOf(one.text) : one.standing
  return { ...item, text: material.laterWords.mark(item.text, sentences, id) }
}

/** Whether all of a message binds; it need not be told twice. */
function isRule(material: Material, id: number): boolean {
  return material.ledger.instructions.some((one) => one.id === id && isWholly(one))
}

/** What the user's last words answer: a bare "yes" means nothing without the question. */
function answeredBy(material: Material, { text, id }: Quote): Item {
  const question = questionIn(text)
  const words = question ?? lastLine(text)
  const besides = withoutEnd(text, words)
  return {
    ...material.item(saidByAssistant.before(code(words), question !== undefined), [id]),
    status: 'claimed',
    ...(besides !== '' && { data: besides }),
  }
}

/** What the user said that binds whatever follows, in the order in which it was said: later words win. */
export function constraints(material: Material): Item[] {
  const { goal } = material.ledger
  const standing = material.ledger.instructions.filter(isStanding)
  const shown = [...(goal === undefined ? [] : [goal]), ...material.lastRequest.quotes]
  const quoted = new Set(shown.flatMap((one) => (one.text.length <= wholeQuote ? [one.id] : [])))
  const items = standing
    .filter((one) => one.refused !== undefined || !quoted.has(one.id))
    .map((one): Item => {
      const said = one.refused === undefined ? standingPart(one) : one.standing.join(' ')
      const refusing = one.refused === undefined ? '' : ` [refusing ${clip(oneLine(one.refused), refusedLimit)}]`
      const marked = (text: string) => material.laterWords.mark(text, one.standing, one.id)
      return {
        ...material.quote({ id: one.id, text: marked(said + refusing) }),
        ...(one.refused === undefined && { short: marked(one.standing.join(' […] ')) }),
        ...(namesFile(said) && { tag: 'ruleForFile' }),
      }
    })
  if (items.length > 0) return items
  // Words that were carried out, or whose turn is not over, may still bind: only their reader can tell.
  if (standing.length === 0) return shown.length === 0 ? [] : [{ ...material.item(noneBesides), tag: 'filler' }]
  return [
    material.item(
      asUserSaid,
      standing.map((one) => one.id),
    ),
  ]
}

export function otherRequests(material: Material): Item[] {
  const { instructions, goal, decisions } = material.ledger
  // A short answer stands behind its question, and says little without it.
  const answers = new Set(decisions.map(({ answered }) => answered?.answer))
  const isToldAsAnswer = (text: string) => lengthOf(text) < leastReply && answers.has(oneLine(text))
  const shown = new Set([goal?.id, ...material.lastRequest.quotes.map(({ id }) => id)])
  const others = instructions.filter((one) => one.supersededBy === undefined && !isWholly(one))
  const told = new Set<string>()
  return others
    .filter((one) => !shown.has(one.id) && !isIdle(one.text) && !isToldAsAnswer(one.text))
    .map((one) => ({ ...one, text: besidesRules(material, one) }))
    .reverse()
    .filter(({ text }) => !told.has(text) && told.add(text))
    .map((one) => material.quote(one))
}

/** What is not shown under what binds. Nobody worked on what was only taken notice of: it may bind as well. */
function besidesRules(material: Material, one: Instruction): string {
  const text = besidesStanding(one)
  return one.noted === true && text !== '' ? material.laterWords.mark(text, sentencesOf(text), one.id) : text
}

/** What the assistant said at the end of each turn: the story of the session, in its own words. */
export function replies(material: Material): Item[] {
  return toldReplies(material)
    .map(({ text, id }) => {
      const remark = isUndone(id, material.ledger) ? undoneSince : ''
      return asReply({ ...material.item(saidByAssistant.earlier(code(text), remark), [id]), status: 'claimed' })
    })
    .reverse()
}

/** Whether every file that was changed in the turn which ended with that reply is again as it was before the session. */
function isUndone(id: number, { replies, files }: Ledger): boolean {
  const before = replies.findLast((reply) => reply.id < id)?.id ?? 0
  const touched = files.filter(
    ({ edits, state, firstId = 0, lastId = 0 }) =>
      firstId <= id && (state === 'undone' ? firstId : lastId) > before && (edits > 0 || state === 'changed'),
  )
  return touched.length > 0 && touched.every(({ state }) => state === 'undone')
}

/** Whether a line tells all of a reply, as it was said: then nothing of it needs to be told again. */
function isToldWhole({ text }: Quote): boolean {
  return code(text) === codeSpan(text.trim())
}

function toldReplies(material: Material): Quote[] {
  const { replies } = material.ledger
  return (
    replies
      .filter(({ text }, at) => !replies.slice(at + 1).some((later) => later.text === text))
      .filter(({ text }) => lengthOf(text) >= leastReply && !/[:：]\s*$/.test(text))
      // What was said in the middle of a turn announces what followed, and that was stopped.
      .filter(({ cut }) => cut !== true)
      // What was said last is told as such, and what the user's last words answer stands beside them.
      .filter(({ id }) => id !== material.lastRequest.answered?.id && id !== material.ledger.lastWords?.id)
      .filter(({ text }) => !isDenied(text, material.ledger))
      // What was asked and answered is told with the answer.
      .filter(({ text }) => !sentencesOf(text).every(asks))
      // A question that is still open is told as one.
      .filter(({ id }) => !material.ledger.questions.some((question) => question.id === id))
  )
}

/** What a person confirmed comes first; what the assistant only said is its claim. */
export function decisions(material: Material): Item[] {
  const told = material.lastRequest.answered === undefined ? undefined : material.lastRequest.quotes.at(-1)?.id
  // What was refused with a comment is told with that comment, under what binds.
  const bound = new Set(material.ledger.instructions.filter(isStanding).map(({ id }) => id))
  // What the last words say is told with them.
  const { lastWords } = material.ledger
  const whole = new Set(
    toldReplies(material)
      .filter(isToldWhole)
      .map(({ id }) => id),
  )
  if (lastWords !== undefined && lastWords.text.length <= wholeClosing) whole.add(lastWords.id)
  // A commit is told as what was done.
  const commits = material.ledger.deeds.flatMap(({ text }) => /\b[0-9a-f]{7,40}\b/.exec(text)?.[0].slice(0, 7) ?? [])
  const isTold = ({ id, text }: Decision) => whole.has(id) || commits.some((commit) => text.includes(commit))
  const others = material.ledger.decisions.filter(
    (decision) =>
      decision.id !== told &&
      (decision.why === undefined || !bound.has(decision.id)) &&
      !(decision.rank !== undefined && isTold(decision)),
  )
  const said = others.filter(({ rank }) => rank !== undefined).sort((a, b) => a.rank! - b.rank!)
  const items = [...others.filter(({ rank }) => rank === undefined).reverse(), ...said].map((decision) => {
    const { text, answered, why, ruledOut, by, source, id } = decision
    return {
      ...material.item(text, [id]),
      // The answer binds; of the question it is enough to know which one it was.
      ...(answered !== undefined && { short: `${clip(answered.question, questionLimit)} → ${answered.answer}` }),
      status: source === 'said' && by === 'assistant' ? ('claimed' as const) : ('verified' as const),
      ...(why !== undefined && { why }),
      ...(ruledOut !== undefined && { ruledOut }),
    }
  })
  return [...items.filter((item) => item.status === 'verified'), ...items.filter((item) => item.status === 'claimed')]
}

export function lastWords(material: Material): Item[] {
  const { lastWords, ending } = material.ledger
  if (lastWords === undefined || ending.state === 'answered' || ending.state === 'asks') return []
  const denied = isDenied(lastWords.text, material.ledger) ? ' (the open failures deny it)' : ''
  const isTold = lastWords.id === material.lastRequest.answered?.id || material.steps.some(({ saysLast }) => saysLast)
  if (denied === '' && isTold) return []
  const inLine = saidByAssistant.last(code(lastWords.text), denied)
  const isLong = code(lastWords.text) !== codeSpan(lastWords.text.trim())
  return [
    {
      ...material.item(inLine, [lastWords.id]),
      status: 'claimed',
      tag: 'words',
      // In full they stand below; a line of them would only repeat their beginning.
      ...(isLong && { text: saidByAssistant.last('', denied), short: inLine, data: shorten(lastWords.text, longest) }),
    },
  ]
}

/**
 * Questions that nobody waits for any more; the others are the next steps. What the user said instead may be an answer in
 * other words: whoever reads both can tell.
 */
export function questions(material: Material): Item[] {
  return material.ledger.questions.flatMap(({ text, options = [], passedOver, id }) => {
    if (passedOver === undefined) return []
    const choice = options.length === 0 ? '' : ` (${options.join(' / ')})`
    const asked = `Perhaps not answered: ${code(text + choice)}`
    if (passedOver === '') return [material.item(asked, [id])]
    const said = codeSpan(clip(oneLine(passedOver), insteadLimit))
    return [{ ...material.item(`${asked}; the user said next: ${said}`, [id]), short: asked }]
  })
}

function isStanding({ standing, supersededBy }: Instruction): boolean {
  return standing.length > 0 && supersededBy === undefined
}

/** Whether what was said on refusing a call is shown there with all its sentences; a question is not. */
function isRefusalTold(one: Instruction): boolean {
  return one.refused !== undefined && isStanding(one) && one.standing.join(' ') === oneLine(one.text)
}

/** Whether all of a message is shown under what binds. */
function isWholly(one: Instruction): boolean {
  return isStanding(one) && (one.refused !== undefined || standingPart(one) === one.text.trim())
}

const noneBesides = "None besides the user's own words"

/** Closing words up to this length are told whole in all but the smallest documents. */
const wholeClosing = 1_000

/** Of a question that was answered, its beginning tells what it was about. */
const questionLimit = 70

/** Of what the user said instead of answering, its beginning tells whether it is an answer. */
const insteadLimit = 80

/** Of a command that the user refused, its beginning tells which one it was. */
const refusedLimit = 60

/** Replies shorter than this, such as "Done!", tell nothing about the work. */
const leastReply = 40

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? ''
}
