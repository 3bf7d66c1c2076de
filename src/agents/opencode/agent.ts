// What Baton knows about opencode: where its sessions lie, how it is started and driven, and what is particular to it.

import os from 'node:os'
import path from 'node:path'
import type { Agent, CompactionQuery, TurnOutcome, TurnOutput, ScreenState, Screen } from '../agent.ts'
import { fields } from '../fields.ts'
import { fieldsIn, readJson } from '../files.ts'
import { turnFailure, jsonIn } from '../turn-output.ts'
import {
  exportedRecords,
  isExport,
  findSessions,
  outlinesOf,
  recordsOf,
  runningCalls,
  subagentsOf,
  windowsIn,
} from './sessions.ts'
import { opencodeParser } from './parser.ts'
import { isDatabase } from './sqlite.ts'
import { opencodeConnection } from './connection.ts'
import { textOf } from '../screen-parsing.ts'

export const opencode: Agent = {
  name: 'opencode',
  connection: opencodeConnection,
  label: 'opencode',
  folders: (env) => [
    path.join(env.XDG_DATA_HOME || path.join(env.HOME || os.homedir(), '.local', 'share'), 'opencode'),
  ],
  find: findSessions,
  // Sessions are rows of a database; `opencode export` prints one of them as a document.
  recognises: isExport,
  sharesFile: true,
  runningCalls: (file) => (isDatabase(file.path) ? runningCalls(file) : []),
  subagents: (file, judged) => (isDatabase(file.path) ? subagentsOf(file, judged) : []),
  logOf: (file) => `${file}-wal`,
  parser: opencodeParser,
  recordsNotLines: () => true,
  records: (file, after) => (isDatabase(file.path) ? recordsOf(file, after) : exportedRecords(file)),
  outlines: outlinesOf,
  // opencode's own table of models, then the models of the user, at their usual places.
  hints({ path: file }) {
    const home = path.resolve(path.dirname(file), '../../..')
    const known = readJson(path.join(home, '.cache/opencode/models.json'))
    const own = fields(readJson(path.join(home, '.config/opencode/opencode.json'))).provider
    return { windows: { ...windowsIn(known), ...windowsIn(own) } }
  },
  program: 'opencode',
  start: ({ args = [], prompt }) => [...args, ...(prompt ? ['--prompt', prompt] : [])],
  ruleFiles: ['AGENTS.md', 'CLAUDE.md'],
  resume: (session, { args = [], prompt } = {}) => ['-s', session, ...args, ...(prompt ? ['--prompt', prompt] : [])],
  turn: (prompt, session, { args = [] } = {}) => {
    const which = session === undefined ? [] : ['-s', session]
    return ['run', '--format', 'json', ...which, ...args, '--', ...wordsOf(prompt)]
  },
  outcome,
  compactsAt,
  clear: '/new',
  // opencode asks for a second Escape after the first.
  interrupt: ['Escape', 'Escape'],
  showsWork: true,
  readScreen,
}

/**
 * opencode joins its arguments with blanks, and quotes those that contain one, so it is given the words of a prompt one by one. It
 * fails on a word that it takes for a number: such a word is bound to the one before it by a blank that does not count.
 */
function wordsOf(prompt: string): string[] {
  const words: string[] = []
  for (const word of prompt.split(' ')) {
    const before = words.at(-1)
    if (before !== undefined && (isNumber(word) || isNumber(before))) words[words.length - 1] = `${before}\u00A0${word}`
    else words.push(word)
  }
  return words
}

function isNumber(word: string): boolean {
  return word.trim() !== '' && Number.isFinite(Number(word))
}

/** The tokens that opencode keeps free for an answer by default. */
const usualOutput = 32_000

function compactsAt({ window, env }: CompactionQuery): number | undefined {
  const home = env.XDG_CONFIG_HOME || path.join(env.HOME || os.homedir(), '.config')
  const file = path.join(home, 'opencode', 'opencode.json')
  if (fieldsIn(file, 'compaction').auto === false || window === undefined) return undefined
  return Math.max(0, window - outputOf(file, window))
}

/** The largest answer of a model with that window, by the user's configuration. */
function outputOf(file: string, window: number): number {
  const outputs: number[] = []
  for (const provider of Object.values(fieldsIn(file, 'provider'))) {
    const { models = {} } = (provider ?? {}) as {
      models?: Record<string, { limit?: { context?: number; output?: number } }>
    }
    for (const { limit } of Object.values(models)) {
      if (limit?.context === window && typeof limit.output === 'number') outputs.push(limit.output)
    }
  }
  return outputs.length === 0 ? usualOutput : Math.max(...outputs)
}

function outcome(output: TurnOutput): TurnOutcome {
  const told = jsonIn(output.out)
  const session = told.map((line) => line.sessionID).find((id): id is string => typeof id === 'string')
  const failed = told.findLast((line) => line.type === 'error')
  if (failed === undefined) return { session, error: turnFailure(output, told.length > 0) }
  const { name, data } = (failed.error ?? {}) as { name?: unknown; data?: { message?: unknown } }
  return { session, error: String(data?.message ?? name ?? 'error') }
}

const question = /△\s*(.+)|Permission required/

function readScreen({ lines }: Screen): ScreenState {
  const asked = lines.findLastIndex((line) => question.test(line))
  if (asked >= 0 && lines.slice(asked).some((line) => /Allow once|Reject|Allow always/.test(line))) {
    const rows = lines.slice(asked, asked + 6).map((line) => line.replace('△', ' '))
    return { is: 'dialog', question: textOf(rows, lines).slice(0, 300), about: 'permission' }
  }
  // The input has bars to its left and a foot below; its last line names the model.
  const foot = lines.findLastIndex((line) => /^\s*╹▀{10,}/.test(line))
  if (foot < 0) return lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
  const width = lines[foot]!.length
  let from = foot
  while (from > 0 && /^\s*┃/.test(lines[from - 1]!) && !/┃\s*$/.test(lines[from - 1]!.trimStart().slice(1))) from--
  const rows = lines.slice(from, foot - 1).map((row) => row.slice(0, width).replace(/^\s*┃/, '').trim())
  const typed = rows.join('\n').trim()
  const draft = typed.startsWith('Ask anything…') ? '' : typed
  const below = lines.slice(foot, foot + 3).join('\n')
  if (!/ctrl\+p|esc (again to )?interrupt/.test(below)) return { is: 'starting' }
  return /esc (again to )?interrupt/.test(below) ? { is: 'busy', draft } : { is: 'prompt', draft }
}
