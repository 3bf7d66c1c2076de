import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Adapter, Look, Screen, TurnOutcome, TurnOutput } from '../adapter.ts'
import { failureOf, jsonIn, type Known } from './known.ts'
import { aboutOf, draftOf, questionIn } from './picture.ts'

/** Without it a server of its own goes on with the turn when the screen is closed. */
const noDaemon = ['--disable', 'daemon_auto_start']

/** Where Codex compacts, unless it is told otherwise. */
const share = 0.9

export const codex: Known = {
  name: 'codex',
  label: 'Codex',
  program: 'codex',
  make: (command, env): Partial<Adapter> => ({
    compactsAt: ({ window }) => {
      const own = window === undefined ? undefined : Math.floor(window * share)
      const chosen = chosenLimit(
        path.join(env.CODEX_HOME || path.join(env.HOME || os.homedir(), '.codex'), 'config.toml'),
      )
      // A larger one than its own does not count.
      return chosen === undefined ? own : Math.min(chosen, own ?? chosen)
    },
    launch: ({ args = [], prompt } = {}) => command([...noDaemon, ...args, ...(prompt ? ['--', prompt] : [])]),
    resume: (session, { args = [], prompt } = {}) =>
      command(['resume', ...noDaemon, ...args, session, ...(prompt ? ['--', prompt] : [])]),
    turn: (prompt, session, { args = [] } = {}) => {
      const which = session === undefined ? [] : ['resume']
      const id = session === undefined ? [] : [session]
      return command(['exec', ...which, '--json', '--skip-git-repo-check', ...args, ...id, '--', prompt])
    },
    outcome,
    clear: '/new',
    interrupt: ['Escape'],
    // What follows a paste within 120 ms counts as a part of it.
    settle: 160,
    look,
  }),
}

/** `model_auto_compact_token_limit`, outside of any table. */
function chosenLimit(file: string): number | undefined {
  let text: string
  try {
    text = fs.readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  const top = text.split(/^\s*\[/m)[0] ?? ''
  const found = /^\s*model_auto_compact_token_limit\s*=\s*([\d_]+)/m.exec(top)?.[1]
  return found === undefined ? undefined : Number(found.replaceAll('_', ''))
}

/** `  scripted default · /the/folder`: the line under the place to type. */
const footer = /^\s{2}\S.* · \S/

function look({ lines, solid }: Screen): Look {
  const question = questionIn(lines)
  if (question !== undefined) return { is: 'dialog', question, about: aboutOf(question) }
  const at = lines.findLastIndex((line) => /^›(\s|$)/.test(line))
  if (at < 0) return lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
  if (lines.slice(0, 12).some((line) => /^\s*(model|directory):\s*loading/i.test(line))) return { is: 'starting' }
  const end = lines.findIndex((line, i) => i > at && (line.trim() === '' || footer.test(line)))
  const draft = draftOf(solid.slice(at, end < 0 ? undefined : end), /^›/)
  const above = lines.slice(Math.max(0, at - 6), at)
  // It shows this only until its words begin to come: that it is missing says nothing.
  return above.some((line) => /^\s*[•◦].*esc to interrupt/i.test(line))
    ? { is: 'busy', draft }
    : { is: 'prompt', draft }
}

function outcome(output: TurnOutput): TurnOutcome {
  const told = jsonIn(output.out)
  const begun = told.find((line) => line.type === 'thread.started')
  const session = typeof begun?.thread_id === 'string' ? begun.thread_id : undefined
  const failed = told.findLast((line) => line.type === 'turn.failed')
  const ended = told.some((line) => line.type === 'turn.completed')
  const over = ended || failed !== undefined
  const words = (failed?.error as { message?: unknown } | undefined)?.message
  if (typeof words === 'string') return { session, over, error: readable(words) }
  return { session, over, error: failed === undefined ? failureOf(output, ended) : 'the turn failed' }
}

/** Some errors are JSON within the message. */
function readable(words: string): string {
  try {
    const { error } = JSON.parse(words) as { error?: { message?: unknown } }
    return typeof error?.message === 'string' ? error.message : words
  } catch {
    return words
  }
}
