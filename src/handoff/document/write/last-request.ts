// What the user wants now. A last message often says no more than "yes, do it": it is read with those before it, back to
// the one that says what, and with the words of the assistant that it answers.

import type { Instruction, Ledger, Quote } from '../../ledger/facts.ts'
import { lazyPattern } from '../../lazy-pattern.ts'
import { isConcrete } from '../check/concrete.ts'

export interface LastRequest {
  /** Oldest first; the last is the user's last request. */
  readonly quotes: readonly Instruction[]
  /** What the assistant had said, where the last of them makes no sense without it. */
  readonly answered?: Quote
}

const mostQuotes = 4
const shortAnswer = 80

/** Words with a space behind them, in languages that put one there. */
const spacedAssent =
  "ok|okay|k|yes|yeah|yep|yup|ya|sure|right|correct|exactly|true|good|great|perfect|nice|cool|fine|awesome|excellent|wonderful|alright|thanks|thank you|thx|ty|lgtm|agreed|approved|confirmed|done|please|do (?:it|so|that|this)(?: all)?|all of (?:it|them|that)|go(?: ahead| for it| on)?|continue|proceed|carry on|keep going|next|ship it|(?:that |it |this )?(?:looks?|sounds?|seems?|is) (?:good|right|great|fine|ok|okay|correct|perfect)(?: to me)?|both|the (?:first|second|third|last|former|latter)(?: one)?|option \\w|ja|jo|jawohl|gerne|klar|genau|passt|gut|super|danke|mach(?: das| weiter)?|weiter|bitte|oui|d'accord|vas-y|parfait|merci|bien|sí|si|claro|vale|gracias|adelante|perfecto|sim|obrigad[oa]|certo|pode|va bene|grazie|perfetto|goed|prima|dank je|graag|tak|dobrze|dzięki|evet|tamam|да|ага|хорошо|давай|ок|спасибо|продолжай|так|добре|네|예|응|좋아요?|계속|감사합니다|نعم|हाँ|vâng|được"
const unspacedAssent = '好的?|可以|行|对|是的?|嗯|继续|谢谢|はい|うん|お願いします|続けて|ありがとう|いいね'
const assentPattern = lazyPattern(
  String.raw`^[^\p{L}\p{N}]*(?:(?:(?:${spacedAssent})(?![\p{L}\p{M}\p{N}])|${unspacedAssent})[^\p{L}\p{N}]*)+$`,
)

/** Whether a message only agrees, thanks or asks to continue: "yes", "looks good, go on". */
function isAssent(text: string): boolean {
  return text.length <= shortAnswer && assentPattern().test(text.trim().toLowerCase())
}

/** Whether a message tells the next agent nothing: a command for the agent's program, "continue", "thanks". */
export function isIdle(text: string): boolean {
  return isCommand(text) || isAssent(text) || (text.length <= shortAnswer && !isConcrete(text))
}

/** A command for the agent's program: it is about nothing that was said. */
function isCommand(text: string): boolean {
  return /^\/[\w:-]*$/.test(text.trim())
}

export function lastRequestOf({ instructions, lastRequest, replies }: Ledger): LastRequest {
  const last = instructions.findLastIndex((one) => one.id === lastRequest?.id)
  if (last < 0) return { quotes: lastRequest === undefined ? [] : [{ ...lastRequest, standing: [] }] }
  const quotes: Instruction[] = []
  for (let at = last; at >= 0 && quotes.length < mostQuotes; at--) {
    const one = instructions[at]!
    if (quotes.length > 0 && (one.supersededBy !== undefined || isIdle(one.text))) continue
    quotes.unshift(one)
    if (!leans(one)) break
  }
  const first = quotes.findLast(({ within }) => within !== true)
  const answered =
    first !== undefined && leans(first) && !isCommand(first.text)
      ? replies.findLast(({ id }) => id <= (first.answers ?? first.id))
      : undefined
  return { quotes, answered }
}

/** Entry of the message that began the turn: the last request, or the one that it was added to. */
export function turnIdOf({ instructions, lastRequest }: Ledger): number {
  const last = instructions.findLastIndex((one) => one.id === lastRequest?.id)
  const first = last < 0 ? undefined : instructions.slice(0, last + 1).findLast(({ within }) => within !== true)
  return first?.id ?? lastRequest?.id ?? 0
}

/** A word of any language, and no name of anything: "sigue", "続行". */
export function isOneWord(text: string): boolean {
  return /^\s*(?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]{1,4}|[\p{L}\p{M}'’-]{1,20})[.!…。！]*\s*$/u.test(
    text,
  )
}

/** Whether a message makes sense only with what was said before it. */
function leans({ text, answers, within }: Instruction): boolean {
  return within === true || isIdle(text) || (text.length <= shortAnswer && (answers !== undefined || isOneWord(text)))
}
