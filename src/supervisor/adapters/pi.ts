import os from 'node:os'
import path from 'node:path'
import type { Adapter, Look, Screen, TurnOutcome, TurnOutput } from '../adapter.ts'
import { fieldsIn } from './files.ts'
import { failureOf, jsonIn, type Known } from './known.ts'
import { composerIn, draftOf, lastWritten } from './picture.ts'

const reserve = 16_384

export const pi: Known = {
  name: 'pi',
  label: 'pi',
  program: 'pi',
  make: (command, env): Partial<Adapter> => ({
    compactsAt: ({ window }) => {
      const { enabled = true, reserveTokens = reserve } = fieldsIn(
        path.join(folder(env), 'settings.json'),
        'compaction',
      )
      if (enabled === false || window === undefined) return undefined
      return Math.max(0, window - (typeof reserveTokens === 'number' ? reserveTokens : reserve))
    },
    launch: ({ args = [], prompt } = {}) => command([...args, ...(prompt ? [plain(prompt)] : [])]),
    resume: (session, { args = [], prompt } = {}) =>
      command(['--session', session, ...args, ...(prompt ? [plain(prompt)] : [])]),
    turn: (prompt, session, { args = [] } = {}) =>
      command(['--mode', 'json', ...(session === undefined ? [] : ['--session', session]), ...args, plain(prompt)]),
    outcome,
    clear: '/new',
    clearRedraws: true,
    interrupt: ['Escape'],
    showsWork: true,
    look,
  }),
}

/** Words that begin so would be taken for a flag or for the name of a file. */
function plain(prompt: string): string {
  return /^[-@]/.test(prompt) ? ` ${prompt}` : prompt
}

function folder(env: NodeJS.ProcessEnv): string {
  return env.PI_CODING_AGENT_DIR || path.join(env.HOME || os.homedir(), '.pi', 'agent')
}

/** `0.0%/40k (auto)`: the last thing that is drawn at the start. */
const footer = /(\d|\?)%?\/[\d.]+[kM]?\b/

function look(screen: Screen): Look {
  const composer = composerIn(screen)
  const below = composer === undefined ? [] : screen.lines.slice(composer.until + 1)
  if (composer === undefined || !below.some((line) => footer.test(line)))
    return lastWritten(screen.lines) < 0 || composer === undefined ? { is: 'starting' } : { is: 'unknown' }
  const picks = composer.text.some((line) => /^\s*(→|❯|›)\s/.test(line))
  if (picks) return { is: 'dialog', question: draftOf(composer.text, /^/).slice(0, 300), about: 'other' }
  const draft = draftOf(composer.text, /^/)
  const above = screen.lines.slice(Math.max(0, composer.from - 6), composer.from)
  // What is typed while it counts down to a retry is lost.
  if (above.some((line) => /Retrying \(\d+\/\d+\)/.test(line))) return { is: 'busy', draft, deaf: true }
  return above.some((line) => /^\s*[⠁-⣿]\s/.test(line)) ? { is: 'busy', draft } : { is: 'prompt', draft }
}

function outcome(output: TurnOutput): TurnOutcome {
  const told = jsonIn(output.out)
  const head = told.find((line) => line.type === 'session')
  const session = typeof head?.id === 'string' ? head.id : undefined
  const retried = told.findLast((line) => line.type === 'auto_retry_end')
  const end = told.findLast((line) => line.type === 'agent_end')
  const last = Array.isArray(end?.messages) ? (end.messages as Readonly<Record<string, unknown>>[]).at(-1) : undefined
  const failed = typeof last?.errorMessage === 'string' ? last.errorMessage : undefined
  if (retried?.success === false) return { session, error: String(retried.finalError ?? 'error') }
  return { session, error: failed ?? failureOf(output, end !== undefined) }
}
