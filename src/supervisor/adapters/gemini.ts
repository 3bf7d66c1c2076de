import os from 'node:os'
import path from 'node:path'
import type { Adapter, Look, Screen, TurnOutcome, TurnOutput } from '../adapter.ts'
import { fieldsIn } from './files.ts'
import { failureOf, jsonIn, type Known } from './known.ts'
import { aboutOf, questionIn } from './picture.ts'

/** Where Gemini CLI compacts, unless it is told otherwise. */
const share = 0.5

export const gemini: Known = {
  name: 'gemini',
  label: 'Gemini CLI',
  program: 'gemini',
  make: (command, env): Partial<Adapter> => ({
    compactsAt: ({ window }) => {
      const file = path.join(env.GEMINI_CLI_HOME || env.HOME || os.homedir(), '.gemini', 'settings.json')
      const { compressionThreshold } = fieldsIn(file, 'model')
      const chosen = typeof compressionThreshold === 'number' && compressionThreshold > 0 ? compressionThreshold : share
      return window === undefined ? undefined : Math.floor(window * Math.min(1, chosen))
    },
    launch: ({ args = [], prompt, session } = {}) =>
      command([...named(session), ...args, ...(prompt ? ['-i', prompt] : [])]),
    resume: (session, { args = [], prompt } = {}) =>
      command(['--resume', session, ...args, ...(prompt ? ['-i', prompt] : [])]),
    turn: (prompt, session, { args = [], session: name } = {}) => {
      const which = session === undefined ? named(name) : ['--resume', session]
      return command(['--output-format', 'stream-json', ...which, ...args, '-p', prompt])
    },
    outcome,
    clear: '/clear',
    clearShows: 'usually',
    clearRedraws: true,
    interrupt: ['Escape'],
    // It takes an Enter right behind a paste for a part of it.
    settle: 100,
    showsWork: true,
    endOnScreen: true,
    inline: true,
    look,
  }),
}

function named(session: string | undefined): string[] {
  return session === undefined ? [] : ['--session-id', session]
}

/** Above the place to type: a rule, or the lid of a box in older versions. */
const rule = /^(─{20,}|╭─{20,}╮)$/
const place = /^[\s│]*[>!*](\s|$)/
const edge = /^[\s│]*$|[╰▀▄─]{5,}/

function look({ lines, solid }: Screen): Look {
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

/** Where something is typed. What was said before is drawn alike, but more of it, or a question, stands below. */
function composerIn(lines: readonly string[]): { from: number; until: number } | undefined {
  const from = lines.findLastIndex((line) => place.test(line))
  if (from < 0 || !lines.slice(Math.max(0, from - 3), from).some((line) => rule.test(line.trim()))) return undefined
  const end = lines.findIndex((line, i) => i > from && edge.test(line))
  const until = end < 0 ? from + 1 : end
  return lines.slice(until + 1).some((line) => /^\s*[│╭✦ℹ✕⚠]/.test(line)) ? undefined : { from, until }
}

/** A question stands in the place of what is typed: one of its answers is marked. */
function choiceIn(lines: readonly string[]): string | undefined {
  const found = questionIn(lines)
  if (found !== undefined) return found
  const at = lines.findLastIndex((line) => /^[\s│]*●\s*\d+[.)]\s+\S/.test(line))
  if (at < 0) return undefined
  const from = lines.slice(0, at).findLastIndex((line) => line.includes('╭'))
  const words = lines.slice(from + 1, at).map((line) => line.replaceAll(/[│╭╮╰╯]/g, ' ').trim())
  return words.join(' ').replaceAll(/\s+/g, ' ').trim().slice(0, 300)
}

function outcome(output: TurnOutput): TurnOutcome {
  const told = jsonIn(output.out)
  const session = told.map((line) => line.session_id).find((id): id is string => typeof id === 'string')
  const result = told.findLast((line) => line.type === 'result')
  const words = (result?.error as { message?: unknown } | undefined)?.message
  return { session, error: typeof words === 'string' ? words : failureOf(output, result?.status === 'success') }
}
