// Words that make an item what it is. The next document is made from this one as it stands in a transcript, where Markdown is all that
// there is: a field that is not written is lost at the first hop, and one that is written costs tokens in every item. So a few
// kinds of items are known by their words, and those are written and read here alone.

import { termsOf, weightIn, wordsOf } from '../ledger/words/terms.ts'
import { codeSpan } from '../safety/fence.ts'
import type { Item } from './document.ts'

/** How the step begins that asks for an answer. */
const toAnswer = "Get the user's answer to: "

export function questionStep(question: string): string {
  return toAnswer + question
}

export function isQuestionStep({ text }: Item): boolean {
  return text.startsWith(toAnswer)
}

const ran = 'Ran '
/** How an item about a command ends whose output stands below it. */
const whichPrinted = ', which printed'

export function printedBy(command: string, times: string): string {
  return `${ran}${codeSpan(command)}${times}${whichPrinted}`
}

/** What a command printed is a fact: a command may print it only once. */
export function isPrinted({ text, data, status }: Item): boolean {
  return status === 'verified' && data !== undefined && text.startsWith(`${ran}\``) && text.endsWith(whichPrinted)
}

/** The command that an item about a failure names first, as code. */
export function namedCommand({ text }: Item): string | undefined {
  return /^(`+) ?([^\n]*?) ?\1(?!`)/.exec(text)?.[2]
}

const asAbove = "As in the user's words"

export const asUserSaid = `${asAbove} above`

/** It only points at words that stand elsewhere in the document. */
export function repeatsUser({ text }: Item): boolean {
  return text.startsWith(asAbove)
}

const supersededBy = ' [superseded where later words differ: '

/** Words of the user with later ones about the same. */
export function withLaterWords(text: string, later: string): string {
  return text.includes(supersededBy) ? text : `${text}${supersededBy}${later}]`
}

export function hasLaterWords({ text }: Item): boolean {
  return text.includes(supersededBy)
}

const onEarlierList = '(on the list of an earlier turn'

/** A todo of a list that was written before the last request. */
export function onListOfEarlierTurn(text: string, mayBeDone: boolean): string {
  return `${text} ${onEarlierList}${mayBeDone ? '; may be done by now' : ''})`
}

/** A todo as it was written down. */
export function bareTodo(text: string): string {
  const at = text.indexOf(` ${onEarlierList}`)
  return at < 0 ? text : text.slice(0, at)
}

export const answeredLast = "Answered the user's last request"

const saidLast = 'The assistant said last'
const said = 'Said'
const answersIt = 'That answers the assistant'
const followsIt = 'That follows what the assistant said'

/** `code`: the words as code, empty where they stand below; `remark`: what is to be said about them. */
export const saidByAssistant = {
  last: (code: string, remark = '') => (code === '' ? saidLast + remark : `${saidLast}${remark}: ${code}`),
  earlier: (code: string, remark = '') => `${said}${remark}: ${code}`,
  before: (code: string, asked: boolean) => `${asked ? answersIt : followsIt}: ${code}`,
}

/** The same item in a later document: what was said last then is not what was said last. */
export function saidEarlier(item: Item, code: (text: string) => string): Item {
  const { text, data, refs } = item
  if (!text.startsWith(saidLast)) return item
  const words = data === undefined ? text.replace(/^[^:`]*: /, `${said}: `) : saidByAssistant.earlier(code(data))
  return reply(words, refs)
}

function reply(text: string, refs: Item['refs']): Item {
  return asReply({ text, status: 'claimed', refs })
}

/** Said of a reply whose changes are gone. */
export const undoneSince = ' (its changes were undone)'

const saidPattern = new RegExp(`^${said}(?: \\(its changes were undone\\))?: `)

/** A reply that a line tells whole may hold decisions that are told nowhere else. */
export function asReply(item: Item): Item {
  if (!saidPattern.test(item.text)) return item
  return { ...item, tag: /\[…\d+ characters…\]/.test(item.text) ? 'reply' : 'wholeReply' }
}

/** The reply that ended an earlier session, as an item of a later document; undefined where its words stand elsewhere. */
export function closedEarlier({ data, refs }: Item, code: (text: string) => string): Item | undefined {
  if (data === undefined) return undefined
  return reply(saidByAssistant.earlier(code(data)), refs)
}

const hadSaid = 'The assistant had said'

/** What a step quotes of the assistant's last words, `code`; `before`: the words of the sentence in front of them. */
export const quotedInStep = {
  closing: (code: string, before = '') =>
    before === '' ? `${saidLast}: ${code}` : `${before} ${lower(saidLast)}: ${code}`,
  stopped: (code: string) => `${hadSaid}: ${code}`,
}

function lower(words: string): string {
  return words.charAt(0).toLowerCase() + words.slice(1)
}

const inStep = {
  closing: new RegExp(`(?:${saidLast}|${lower(saidLast)}): ((\`+)[\\s\\S]*?\\2)(?!\`)`),
  stopped: new RegExp(`${hadSaid}: ((\`+)[\\s\\S]*?\\2)(?!\`)`),
}

/**
 * The words of the assistant that a step quotes, as an item of a later document: the step is over, what was said is not. Undefined
 * where it quotes none, or a single word such as "Understood."
 */
export function saidInStep(item: Item, how: keyof typeof inStep): Item | undefined {
  const code = inStep[how].exec(item.text)?.[1]
  if (code === undefined || wordsOf(code).length < 2 || weightIn(termsOf(code)) === 0) return undefined
  const { short: _, data: __, ...rest } = item
  return asReply({ ...rest, text: saidByAssistant.earlier(code), status: 'claimed' })
}

const quotesPattern = new RegExp(`^(?:${saidLast}[^:\`]*|${said}[^:\`]*|${answersIt}|${followsIt}): \``)
const belowPattern = new RegExp(`^${saidLast}[^:\`]*$`)

/** Whether an item reports what the assistant said, in its words: that it was said is a fact. */
export function quotesAssistant({ text, data }: Item): boolean {
  return quotesPattern.test(text) || (data !== undefined && belowPattern.test(text))
}
