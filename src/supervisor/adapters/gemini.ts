import os from 'node:os'
import path from 'node:path'
import type { Adapter, Look, Screen, TurnOutcome, TurnOutput } from '../adapter.ts'
import { fieldsIn } from './files.ts'
import { failureOf, type Known } from './known.ts'
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
    launch: ({ args = [], prompt } = {}) => command([...args, ...(prompt ? ['-i', prompt] : [])]),
    resume: (session, { args = [], prompt } = {}) =>
      command(['--resume', session, ...args, ...(prompt ? ['-i', prompt] : [])]),
    turn: (prompt, session, { args = [] } = {}) =>
      command([
        '--output-format',
        'json',
        ...(session === undefined ? [] : ['--resume', session]),
        ...args,
        '-p',
        prompt,
      ]),
    outcome,
    clear: '/clear',
    clearShows: true,
    interrupt: ['Escape'],
    showsWork: true,
    look,
  }),
}

function look({ lines, solid }: Screen): Look {
  const question = questionIn(lines)
  if (question !== undefined) return { is: 'dialog', question, about: aboutOf(question) }
  // The place to type: `> words` between two bars or in a box, with continuing lines below.
  const at = lines.findLastIndex((line) => /^[\s│]*[>!*](\s|$)/.test(line))
  if (at < 0) return lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
  const end = lines.findIndex((line, i) => i > at && /^[\s│]*$|[╰▀▄─]{5,}/.test(line))
  const rows = solid.slice(at, end < 0 ? at + 1 : end).map((row) => row.replaceAll('│', ' ').trim())
  const typed = rows
    .join('\n')
    .replace(/^[>!*]\s*/, '')
    .trim()
  const draft = typed.startsWith('Type your message') ? '' : typed
  const busy = lines.slice(Math.max(0, at - 12)).some((line) => /\(esc to cancel/i.test(line))
  return busy ? { is: 'busy', draft } : { is: 'prompt', draft }
}

function outcome(output: TurnOutput): TurnOutcome {
  // One object over several lines; errors come as one of their own, among other words.
  const told = objectIn(output.out) ?? {}
  const failed = objectIn(output.err) ?? told
  const session = [told.session_id, failed.session_id].find((each): each is string => typeof each === 'string')
  const words = (failed.error as { message?: unknown } | undefined)?.message
  return { session, error: typeof words === 'string' ? words : failureOf(output, 'response' in told) }
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const from = text.search(/^\{/m)
  const until = text.lastIndexOf('}')
  if (from < 0 || until < from) return undefined
  try {
    return JSON.parse(text.slice(from, until + 1)) as Readonly<Record<string, unknown>>
  } catch {
    return undefined
  }
}
