import type { Adapter, Look, Screen, TurnOutcome, TurnOutput } from '../adapter.ts'
import { failureOf, jsonIn, type Known } from './known.ts'
import { aboutOf, composerIn, draftOf, questionIn } from './picture.ts'

/** Claude Code keeps no transcript if it believes to be run by another one. */
const scrubbed = {
  CLAUDECODE: undefined,
  CLAUDE_CODE_CHILD_SESSION: undefined,
  CLAUDE_CODE_SESSION_ID: undefined,
  CLAUDE_CODE_ENTRYPOINT: undefined,
}

/** Kept free for the summary, and for what comes before it. */
const reserve = 33_000

export const claude: Known = {
  name: 'claude',
  label: 'Claude Code',
  program: 'claude',
  env: scrubbed,
  make: (command, env): Partial<Adapter> => ({
    compactsAt: ({ window }) => {
      if (isOn(env.DISABLE_AUTO_COMPACT) || isOn(env.DISABLE_COMPACT)) return undefined
      const chosen = Number(env.CLAUDE_CODE_AUTO_COMPACT_WINDOW)
      // Without that, only the API's refusal of too long a prompt brings a compaction about.
      return chosen > 0 ? Math.max(0, Math.min(chosen, window ?? chosen) - reserve) : window
    },
    launch: ({ args = [], prompt, session } = {}) =>
      command([
        ...(session === undefined ? [] : ['--session-id', session]),
        ...args,
        ...(prompt ? ['--', prompt] : []),
      ]),
    resume: (session, { args = [], prompt } = {}) =>
      command(['--resume', session, ...args, ...(prompt ? ['--', prompt] : [])]),
    turn: (prompt, session, { args = [], session: name } = {}) => {
      const which = session !== undefined ? ['--resume', session] : name !== undefined ? ['--session-id', name] : []
      return command(['-p', '--output-format', 'json', ...which, ...args, '--', prompt])
    },
    outcome,
    clear: '/clear',
    clearShows: true,
    interrupt: ['Escape'],
    showsWork: true,
    look,
  }),
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false'
}

function look(screen: Screen): Look {
  const composer = composerIn(screen)
  const below = composer === undefined ? screen.lines : screen.lines.slice(composer.until + 1)
  const first = composer?.text[0] ?? ''
  // A bar that begins with `!` or `#` takes commands and notes.
  const isComposer = /^\s*[❯>!#]/.test(first) && !/^\s*❯\s*\d+\.\s/.test(first)
  const question = questionIn(isComposer ? below : screen.lines)
  if (question !== undefined) return { is: 'dialog', question, about: aboutOf(question) }
  if (!isComposer) {
    if (/Esc to (cancel|exit|close)|Enter to (confirm|select|continue)/i.test(screen.lines.join('\n')))
      return { is: 'dialog', question: lowest(screen.lines), about: 'other' }
    return screen.lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
  }
  const draft = draftOf(composer!.text, /^\s*[❯>]/)
  const above = screen.lines.slice(Math.max(0, composer!.from - 8), composer!.from)
  const busy =
    above.some((line) => /^\S\s\S.*…( \(|$)/.test(line)) || below.some((line) => /esc to interrupt/i.test(line))
  return busy ? { is: 'busy', draft } : { is: 'prompt', draft }
}

function lowest(lines: readonly string[]): string {
  return lines
    .filter((line) => line.trim() !== '')
    .slice(-6)
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, 300)
}

function outcome(output: TurnOutput): TurnOutcome {
  const told = jsonIn(output.out).at(-1) ?? {}
  const session = typeof told.session_id === 'string' ? told.session_id : undefined
  // An error of the API is told as a success that is an error.
  const error =
    told.is_error === true
      ? String(told.result ?? told.api_error_status ?? 'error')
      : failureOf(output, told.type === 'result')
  return { session, error }
}
