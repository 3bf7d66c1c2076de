// Reads the screen of Gemini CLI: whether it waits for a prompt, works, or asks the person something.

import type { ScreenState, Screen } from '../agent.ts'
import { aboutOf, questionIn } from '../screen-parsing.ts'

/** The line above the input: a rule, or the top of a box in older versions. */
const rule = /^(─{20,}|╭─{20,}╮)$/
const place = /^[\s│]*[>!*](\s|$)/
const edge = /^[\s│]*$|[╰▀▄─]{5,}/

export function readScreen({ lines, solid }: Screen): ScreenState {
  const composer = composerIn(lines)
  if (composer === undefined) {
    const question = choiceIn(lines)
    if (question !== undefined) return { is: 'dialog', question, about: aboutOf(question) }
    return lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
  }
  const { from, until } = composer
  const rows = solid.slice(from, until).map((row) => row.replaceAll('│', ' ').trim())
  const typed = rows
    .join('\n')
    .replace(/^[>!*]\s*/, '')
    .trim()
  const draft = typed.startsWith('Type your message') ? '' : typed
  const busy = lines.slice(Math.max(0, from - 12), from).some((line) => /\(esc to cancel/i.test(line))
  return busy ? { is: 'busy', draft } : { is: 'prompt', draft }
}

/** The input. Earlier prompts are drawn like it, but have more text or a question below them. */
function composerIn(lines: readonly string[]): { from: number; until: number } | undefined {
  const from = lines.findLastIndex((line) => place.test(line))
  if (from < 0 || !lines.slice(Math.max(0, from - 3), from).some((line) => rule.test(line.trim()))) return undefined
  const end = lines.findIndex((line, i) => i > from && edge.test(line))
  const until = end < 0 ? from + 1 : end
  return lines.slice(until + 1).some((line) => /^\s*[│╭✦ℹ✕⚠]/.test(line)) ? undefined : { from, until }
}

/** A question that replaces the input, with one of its answers marked. */
function choiceIn(lines: readonly string[]): string | undefined {
  const found = questionIn(lines)
  if (found !== undefined) return found
  const at = lines.findLastIndex((line) => /^[\s│]*●\s*\d+[.)]\s+\S/.test(line))
  if (at < 0) return undefined
  const from = lines.slice(0, at).findLastIndex((line) => line.includes('╭'))
  const words = lines.slice(from + 1, at).map((line) => line.replaceAll(/[│╭╮╰╯]/g, ' ').trim())
  return words.join(' ').replaceAll(/\s+/g, ' ').trim().slice(0, 300)
}
