// What Baton knows about Gemini CLI: where its sessions lie, how it is started and driven, and what is particular to it.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type {
  Agent,
  CompactionQuery,
  SessionFile,
  SessionRecord,
  TurnOutcome,
  TurnOutput,
  ScreenState,
  Screen,
} from '../agent.ts'
import { fields, isFields, list } from '../fields.ts'
import { fieldsIn, filesBelow, isDocument } from '../files.ts'
import { turnFailure, jsonIn } from '../turn-output.ts'
import { geminiParser, isLimit } from './parser.ts'
import { geminiConnection } from './connection.ts'
import { dialogOf, questionIn, textOf } from '../screen-parsing.ts'

export const gemini: Agent = {
  name: 'gemini',
  connection: geminiConnection,
  label: 'Gemini CLI',
  folders: (env) => [path.join(homeOf(env), 'tmp')],
  find(folder, onUnreadable) {
    const all = filesBelow(folder, 3, (name) => /\.jsonl?$/.test(name), onUnreadable)
    const files = all.filter(({ path: at }) => at.split(path.sep).includes('chats'))
    const lines = new Set(files.filter(({ name }) => name.endsWith('l')).map((file) => file.path))
    return files
      .filter((file) => !lines.has(`${file.path}l`)) // moved over to the newer form
      .map(({ path: at, name, bytes, changed }): SessionFile => {
        const id = name.replace(/\.jsonl?$/, '').replace(/^session-/, '')
        const above = path.basename(path.dirname(at))
        return { agent: 'gemini', path: at, id, bytes, changed, ...(above === 'chats' ? {} : { parent: above }) }
      })
  },
  projectFolders: (folder, cwd) => projectsIn(folder, cwd).flatMap((project) => [project, path.join(project, 'chats')]),
  // A file is named by the first eight digits of the id.
  isSession: (id, session) => id === session || (/-[0-9a-f]{8}$/.test(id) && id.endsWith(`-${session.slice(0, 8)}`)),
  recognises: (line) =>
    typeof line.sessionId === 'string' && (typeof line.projectHash === 'string' || Array.isArray(line.messages)),
  parser: geminiParser,
  recordsNotLines: isDocument,
  records: ({ path: file }) => messagesIn(file),
  idInTranscript: true,
  hints({ path: file }) {
    const cwd = rootOf(file.slice(0, file.lastIndexOf(`${path.sep}chats${path.sep}`)))
    return cwd === undefined ? {} : { cwd }
  },
  program: 'gemini',
  start: ({ args = [], prompt, session }) => [...named(session), ...args, ...(prompt ? ['-i', prompt] : [])],
  takesId: true,
  ruleFiles: ['GEMINI.md'],
  inlineAbove: 0,
  resume: (session, { args = [], prompt } = {}) => ['--resume', session, ...args, ...(prompt ? ['-i', prompt] : [])],
  turn: (prompt, session, { args = [], session: name } = {}) => {
    const which = session === undefined ? named(name) : ['--resume', session]
    return ['--output-format', 'stream-json', ...which, ...args, '-p', prompt]
  },
  outcome,
  compactsAt,
  clear: '/clear',
  clearShows: 'usually',
  clearRedraws: true,
  resumeShows: true,
  interrupt: ['Escape'],
  interruptForgets: true,
  // Gemini CLI takes an Enter right after a paste for a part of it.
  settle: 100,
  showsWork: true,
  callsShowLate: true,
  endOnScreen: true,
  readScreen,
}

/** The folders of the project `cwd`: they name it in a file; older versions are named by its checksum. */
function projectsIn(folder: string, cwd: string): string[] {
  const hash = createHash('sha256').update(cwd).digest('hex')
  let names: string[]
  try {
    names = fs.readdirSync(folder)
  } catch {
    return []
  }
  return names
    .filter((name) => name === hash || rootOf(path.join(folder, name)) === cwd)
    .map((name) => path.join(folder, name))
}

/** The project that a folder belongs to; older versions do not say. */
function rootOf(project: string): string | undefined {
  try {
    return fs.readFileSync(path.join(project, '.project_root'), 'utf8').trim()
  } catch {
    return undefined
  }
}

/** Older versions keep a session as one object, and write it again each time. */
function* messagesIn(file: string): Generator<SessionRecord> {
  const whole: unknown = JSON.parse(fs.readFileSync(file, 'utf8'))
  if (!isFields(whole)) return
  const { messages, ...about } = whole
  yield { value: about, place: place(0) }
  let number = 1
  for (const message of list(messages)) yield { value: fields(message), place: place(number++) }
}

function place(number: number): string {
  return String(number).padStart(9, '0')
}

/** The share of the window at which Gemini CLI compacts by default. */
const share = 0.5

function compactsAt({ window, env }: CompactionQuery): number | undefined {
  const { compressionThreshold } = fieldsIn(path.join(homeOf(env), 'settings.json'), 'model')
  const chosen = typeof compressionThreshold === 'number' && compressionThreshold > 0 ? compressionThreshold : share
  return window === undefined ? undefined : Math.floor(window * Math.min(1, chosen))
}

function homeOf(env: NodeJS.ProcessEnv): string {
  return path.join(env.GEMINI_CLI_HOME || env.HOME || os.homedir(), '.gemini')
}

function named(session: string | undefined): string[] {
  return session === undefined ? [] : ['--session-id', session]
}

function outcome(output: TurnOutput): TurnOutcome {
  const told = jsonIn(output.out)
  const session = told.map((line) => line.session_id).find((id): id is string => typeof id === 'string')
  const result = told.findLast((line) => line.type === 'result')
  const words = (result?.error as { message?: unknown } | undefined)?.message
  const error = typeof words === 'string' ? words : turnFailure(output, result?.status === 'success')
  return { session, error, isLimit: error !== undefined && isLimit(error) }
}

/** The line above the input: a rule, or the top of a box in older versions. */
const rule = /^(─{20,}|╭─{20,}╮)$/
const inputStart = /^[\s│]*[>!*](\s|$)/
/** What it offers at the limit of a day; the other answers give up the turn, or change the model. */
const keepTrying = /^[\s│]*●?\s*(\d)[.)]\s+Keep trying\b/
const edge = /^[\s│]*$|[╰▀▄─]{5,}/

function readScreen({ lines, solid }: Screen): ScreenState {
  const composer = composerIn(lines)
  if (composer === undefined) {
    const found = choiceIn(lines)
    if (found === undefined) return lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
    const dialog = dialogOf(found)
    const again = dialog.about === 'limit' ? lines.map((line) => keepTrying.exec(line)?.[1]).find(Boolean) : undefined
    if (again !== undefined) return { is: 'limited', words: dialog.question, again: [again] }
    return dialog
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
  const isBelowRule = (row: number) => lines.slice(Math.max(0, row - 3), row).some((line) => rule.test(line.trim()))
  // A text that is being pasted may quote something, in rows that look like its beginning.
  const from = lines.findLastIndex((line, row) => inputStart.test(line) && isBelowRule(row))
  if (from < 0) return undefined
  const end = lines.findIndex((line, i) => i > from && edge.test(line))
  const until = end < 0 ? from + 1 : end
  return lines.slice(until + 1).some((line) => /^\s*[│╭✦ℹ✕⚠]/.test(line)) ? undefined : { from, until }
}

/** A question that replaces the input, with one of its answers marked. */
function choiceIn(lines: readonly string[]): ReturnType<typeof questionIn> {
  const found = questionIn(lines)
  if (found !== undefined) return found
  const at = lines.findLastIndex((line) => /^[\s│]*●\s*\d+[.)]\s+\S/.test(line))
  if (at < 0) return undefined
  const from = lines.slice(0, at).findLastIndex((line) => line.includes('╭'))
  return { question: textOf(lines.slice(from + 1, at), lines).slice(0, 300), answers: [] }
}
