// What Baton knows about Codex: where its sessions lie, how it is started and driven, and what is particular to it.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { UnsupportedError } from '../../errors.ts'
import type { Agent, CompactionQuery, SessionFile, SessionRecord, TurnOutcome, TurnOutput } from '../agent.ts'
import { fields, isFields, json } from '../fields.ts'
import { filesBelow, firstBytes, type FoundFile } from '../files.ts'
import { turnFailure, jsonIn } from '../turn-output.ts'
import { codexParser } from './parser.ts'
import { codexConnection } from './connection.ts'
import { dialogOf, draftOf, questionIn } from '../screen-parsing.ts'

/** The line below the input, such as `  gpt-5 default · /the/folder`. */
const footer = /^\s{2}\S.* · \S/

export const codex: Agent = {
  name: 'codex',
  connection: codexConnection,
  label: 'Codex',
  folders: (env) => {
    const home = homeOf(env)
    return [path.join(home, 'sessions'), path.join(home, 'archived_sessions')]
  },
  find: (folder, onUnreadable) =>
    filesBelow(folder, 3, (name) => /^rollout-.*\.jsonl(\.zst)?$/.test(name), onUnreadable).map(sessionFile),
  // Sessions lie in a folder for each day, by the time of their launch.
  projectFolders: (folder, _cwd, since, until) => [...new Set([...daysOf(folder, since), ...daysOf(folder, until)])],
  subagents: subagentsOf,
  recognises: (line) =>
    isFields(line.payload) &&
    ['session_meta', 'response_item', 'event_msg', 'turn_context'].includes(String(line.type)),
  parser: codexParser,
  recognisesBytes: isPacked,
  recordsNotLines: (file) => file.endsWith('.zst') || isPacked(firstBytes(file, 4)),
  records: ({ path: file }) => unpacked(file),
  program: 'codex',
  start: ({ args = [], prompt }) => [...args, ...(prompt ? ['--', prompt] : [])],
  ruleFiles: ['AGENTS.md', 'AGENTS.override.md'],
  // Otherwise a background server of Codex continues the turn after the screen is closed.
  supervisedArgs: ['--no-daemon'],
  resume: (session, { args = [], prompt } = {}) => ['resume', ...args, session, ...(prompt ? ['--', prompt] : [])],
  turn: (prompt, session, { args = [] } = {}) => {
    const which = session === undefined ? [] : ['resume']
    const id = session === undefined ? [] : [session]
    return ['exec', ...which, '--json', '--skip-git-repo-check', ...args, ...id, '--', prompt]
  },
  outcome,
  compactsAt,
  // `/new` asks in a git repository where the new conversation is to run.
  clear: '/clear',
  interrupt: ['Escape'],
  takesWordsInTurn: true,
  // Codex shows its model only the beginning and the end of what a command prints: 10,000 bytes, for models that it does not know.
  inlineAbove: 9_000,
  // Codex takes keys within 120 ms after a paste for a part of it.
  settle: 160,
  readScreen({ lines, solid }) {
    const question = questionIn(lines)
    if (question !== undefined) return dialogOf(question)
    const at = lines.findLastIndex((line) => /^›(\s|$)/.test(line))
    if (at < 0) return lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
    if (lines.slice(0, 12).some((line) => /^\s*(model|directory):\s*loading/i.test(line))) return { is: 'starting' }
    const end = lines.findIndex((line, i) => i > at && (line.trim() === '' || footer.test(line)))
    const draft = draftOf(solid.slice(at, end < 0 ? undefined : end), /^›/)
    const above = lines.slice(Math.max(0, at - 6), at)
    // Codex shows this only until its answer begins, so its absence proves nothing.
    return above.some((line) => /^\s*[•◦].*esc to interrupt/i.test(line))
      ? { is: 'busy', draft }
      : { is: 'prompt', draft }
  },
}

function sessionFile({ path: at, name, bytes, changed }: FoundFile): SessionFile {
  const id = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/.exec(name)?.[1]
  return { agent: 'codex', path: at, id: id ?? name.replace(/\.jsonl(\.zst)?$/, ''), bytes, changed }
}

/** Threads that were spawned by a session, or by one of those: they lie beside all others, and their first line names it. */
function subagentsOf(file: SessionFile, judged: Set<string>): SessionFile[] {
  const folder = path.resolve(path.dirname(file.path), '../../..')
  const days = new Set([path.dirname(file.path), daysOf(folder, Date.now()).at(-1)!])
  const begun = path.basename(file.path)
  return [...days]
    .flatMap((day) => filesBelow(day, 0, (name) => name >= begun && name.endsWith('.jsonl')))
    .filter(({ path: at, bytes }) => bytes > 0 && at !== file.path && !judged.has(at))
    .map((each) => {
      judged.add(each.path)
      const head = firstBytes(each.path, 1_000).toString('utf8')
      const root = /"session_id":"([^"]+)"/.exec(head)?.[1]
      const parent = /"parent_thread_id":"([^"]+)"/.exec(head)?.[1]
      return parent === undefined || ![root, parent].includes(file.id) ? undefined : { ...sessionFile(each), parent }
    })
    .filter((each) => each !== undefined)
}

function daysOf(folder: string, time: number): string[] {
  const date = new Date(time)
  const two = (number: number) => String(number).padStart(2, '0')
  const year = path.join(folder, String(date.getFullYear()))
  const month = path.join(year, two(date.getMonth() + 1))
  return [year, month, path.join(month, two(date.getDate()))]
}

/** Codex packs sessions that have not been touched for long, with zstd. */
function isPacked(bytes: Buffer): boolean {
  return bytes.length >= 4 && bytes.readUInt32LE(0) === 0xfd2fb528
}

function* unpacked(file: string): Generator<SessionRecord> {
  const { stdout, error, status, stderr } = spawnSync('zstd', ['-dcq', file], { maxBuffer: 2 ** 30 })
  if (error !== undefined || status !== 0) {
    const why = error === undefined ? stderr.toString().trim() : error.message
    throw new UnsupportedError(`${file} is packed, and zstd could not unpack it: ${why}`, {
      hint: 'Install zstd, or resume the session in Codex, which unpacks it.',
    })
  }
  let number = 0
  for (const line of stdout.toString('utf8').split('\n')) {
    number++
    if (line.trim() !== '') yield { value: fields(json(line)), place: String(number).padStart(9, '0') }
  }
}

/** The share of the window at which Codex compacts by default. */
const share = 0.9

function compactsAt({ window, env }: CompactionQuery): number | undefined {
  const own = window === undefined ? undefined : Math.floor(window * share)
  const chosen = chosenLimit(path.join(homeOf(env), 'config.toml'))
  // Codex ignores a limit that is larger than its default.
  return chosen === undefined ? own : Math.min(chosen, own ?? chosen)
}

/** `model_auto_compact_token_limit` in the top level of config.toml. */
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

function homeOf(env: NodeJS.ProcessEnv): string {
  return env.CODEX_HOME || path.join(env.HOME || os.homedir(), '.codex')
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
  return { session, over, error: failed === undefined ? turnFailure(output, ended) : 'the turn failed' }
}

/** The message of some errors is JSON that contains another message. */
function readable(words: string): string {
  try {
    const { error } = JSON.parse(words) as { error?: { message?: unknown } }
    return typeof error?.message === 'string' ? error.message : words
  } catch {
    return words
  }
}
