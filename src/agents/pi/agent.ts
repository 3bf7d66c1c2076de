// What Baton knows about pi: where its sessions lie, how it is started and driven, and what is particular to it.

import os from 'node:os'
import path from 'node:path'
import type { Agent, CompactionQuery, SessionFile, TurnOutcome, TurnOutput, ScreenState, Screen } from '../agent.ts'
import { fields, list } from '../fields.ts'
import { fieldsIn, filesBelow, readJson } from '../files.ts'
import { turnFailure, jsonIn } from '../turn-output.ts'
import { piParser } from './parser.ts'
import { piConnection } from './connection.ts'
import { composerIn, draftOf, textOf } from '../screen-parsing.ts'

export const pi: Agent = {
  name: 'pi',
  connection: piConnection,
  label: 'pi',
  folders: (env) => [env.PI_CODING_AGENT_SESSION_DIR || path.join(homeOf(env), 'sessions')],
  find(folder, onUnreadable) {
    const files = filesBelow(folder, 1, (name) => name.endsWith('.jsonl'), onUnreadable)
    return files.map(({ path: at, name, bytes, changed }): SessionFile => {
      const stem = name.slice(0, -'.jsonl'.length)
      return { agent: 'pi', path: at, id: stem.slice(stem.indexOf('_') + 1), bytes, changed }
    })
  },
  projectFolders: (folder, cwd) => [path.join(folder, `--${cwd.replace(/^[/\\]/, '').replaceAll(/[/\\:]/g, '-')}--`)],
  recognises: (line) => line.type === 'session' && typeof line.id === 'string' && 'cwd' in line,
  parser: piParser,
  estimatesUnanswered: true,
  hints({ path: file }) {
    const at = file.lastIndexOf(`${path.sep}sessions${path.sep}`)
    return at < 0 ? {} : { windows: windowsIn(path.join(file.slice(0, at), 'models.json')) }
  },
  program: 'pi',
  start: ({ args = [], prompt }) => [...args, ...(prompt ? [plain(prompt)] : [])],
  ruleFiles: ['AGENTS.md', 'CLAUDE.md'],
  resume: (session, { args = [], prompt } = {}) => ['--session', session, ...args, ...(prompt ? [plain(prompt)] : [])],
  turn: (prompt, session, { args = [] } = {}) => {
    const which = session === undefined ? [] : ['--session', session]
    return ['--mode', 'json', ...which, ...args, plain(prompt)]
  },
  outcome,
  compactsAt,
  clear: '/new',
  clearRedraws: true,
  interrupt: ['Escape'],
  takesWordsInTurn: true,
  showsWork: true,
  readScreen,
}

/** Context windows of the models that the user has configured. */
function windowsIn(file: string): Record<string, number> {
  const windows: Record<string, number> = {}
  for (const provider of Object.values(fields(fields(readJson(file)).providers))) {
    for (const each of list(fields(provider).models)) {
      const { id, contextWindow } = fields(each)
      if (typeof id === 'string' && typeof contextWindow === 'number') windows[id] = contextWindow
    }
  }
  return windows
}

/** pi would take a prompt that begins with `-` or `@` for a flag or a file name. */
function plain(prompt: string): string {
  return /^[-@]/.test(prompt) ? ` ${prompt}` : prompt
}

/** The tokens that pi keeps free for the answer by default. */
const reserve = 16_384

function compactsAt({ window, env }: CompactionQuery): number | undefined {
  const { enabled = true, reserveTokens = reserve } = fieldsIn(path.join(homeOf(env), 'settings.json'), 'compaction')
  if (enabled === false || window === undefined) return undefined
  return Math.max(0, window - (typeof reserveTokens === 'number' ? reserveTokens : reserve))
}

function homeOf(env: NodeJS.ProcessEnv): string {
  return env.PI_CODING_AGENT_DIR || path.join(env.HOME || os.homedir(), '.pi', 'agent')
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
  return { session, error: failed ?? turnFailure(output, end !== undefined) }
}

/** The meter, such as `0.0%/40k (auto)`: the last thing that pi draws when it starts. */
const footer = /(\d|\?)%?\/[\d.]+[kM]?\b/

/** Newer versions write into the border of the input what they do, and all of them how much of the input is out of sight. */
const border = /^──.*─$/

function readScreen(screen: Screen): ScreenState {
  const composer = composerIn(screen, border)
  if (composer === undefined) return { is: 'starting' }
  const isUp = screen.lines.slice(composer.until + 1).some((line) => footer.test(line))
  const picks = composer.text.some((line) => /^\s*(→|❯|›)\s/.test(line))
  if (picks) {
    const question = textOf(composer.text, screen.lines).slice(0, 300)
    // Before it has drawn the rest, it asks only whether the folder is trusted.
    return { is: 'dialog', question, about: isUp ? 'other' : 'trust' }
  }
  if (!isUp) return { is: 'unknown' }
  const draft = draftOf(composer.text, /^/)
  const above = screen.lines.slice(Math.max(0, composer.from - 6), composer.from)
  // pi loses what is typed while it counts down to a retry.
  if (above.some((line) => /Retrying \(\d+\/\d+\)/.test(line))) return { is: 'busy', draft, deaf: true }
  const inBorder = (above.at(-1) ?? '').replaceAll(/↑ \d+ more|─/g, '').trim()
  const isWorking = inBorder !== '' || above.some((line) => /^\s*[⠁-⣿]\s/.test(line))
  return isWorking ? { is: 'busy', draft } : { is: 'prompt', draft }
}
