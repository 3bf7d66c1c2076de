// What Baton knows about Claude Code: where its sessions lie, how it is started and driven, and what is particular to it.

import path from 'node:path'
import type { Agent, SessionFile, TurnOutcome, TurnOutput, CompactionQuery, ScreenState, Screen } from '../agent.ts'
import { filesBelow, readJson } from '../files.ts'
import { turnFailure, jsonIn } from '../turn-output.ts'
import { claudeParser } from './parser.ts'
import { projectFolder, projectsIn, status } from './status.ts'
import { claudeConnection } from './connection.ts'
import { fields } from '../fields.ts'
import { aboutOf, choiceIn, composerIn, dialogOf, draftOf, questionIn, textOf } from '../screen-parsing.ts'

/** Claude Code keeps no transcript if these say that another Claude Code runs it. */
const scrubbed = {
  CLAUDECODE: undefined,
  CLAUDE_CODE_CHILD_SESSION: undefined,
  CLAUDE_CODE_SESSION_ID: undefined,
  CLAUDE_CODE_ENTRYPOINT: undefined,
}

export const claude: Agent = {
  name: 'claude',
  connection: claudeConnection,
  label: 'Claude Code',
  folders: (env) => [projectsIn(env)],
  find,
  projectFolders: (folder, cwd) => [projectFolder(folder, cwd)],
  recognises: (line) =>
    (typeof line.sessionId === 'string' && typeof line.type === 'string' && !('projectHash' in line)) ||
    (line.type === 'summary' && typeof line.leafUuid === 'string') ||
    (line.type === 'file-history-snapshot' && 'snapshot' in line),
  // The lines of a subagent name the session that it works for; only the name of its file is its own.
  idInName: (stem) => (stem.startsWith('agent-') ? stem : undefined),
  parser: claudeParser,
  subagents(file, judged) {
    const found = find(subagentsFolder(file)).filter(({ path: at }) => !judged.has(at))
    for (const { path: at } of found) judged.add(at)
    return found
  },
  subagentsFolder,
  status,
  program: 'claude',
  start: ({ args = [], prompt, session, documents }) => [
    ...(session === undefined ? [] : ['--session-id', session]),
    ...allowed(documents),
    ...args,
    ...(prompt ? ['--', prompt] : []),
  ],
  takesId: true,
  ruleFiles: ['CLAUDE.md', '.claude/CLAUDE.md', 'CLAUDE.local.md'],
  env: scrubbed,
  resume: (session, { args = [], prompt, documents } = {}) => [
    '--resume',
    session,
    ...allowed(documents),
    ...args,
    ...(prompt ? ['--', prompt] : []),
  ],
  turn: (prompt, session, { args = [], session: name, documents } = {}) => {
    const which = session !== undefined ? ['--resume', session] : name !== undefined ? ['--session-id', name] : []
    return ['-p', '--output-format', 'json', ...which, ...allowed(documents), ...args, '--', prompt]
  },
  outcome,
  compactsAt,
  clear: '/clear',
  clearShows: true,
  interrupt: ['Escape'],
  takesWordsInTurn: true,
  showsWork: true,
  readScreen,
}

/** Lets it read and write its handoff documents without a question, for this run alone. A path with an anchor begins with `//`. */
function allowed(documents: string | undefined): string[] {
  if (documents === undefined) return []
  return [`--allowedTools=Edit(/${documents}/**),Read(/${documents}/**)`]
}

function find(folder: string, onUnreadable?: (folder: string) => void): SessionFile[] {
  const files = filesBelow(folder, 3, (name) => name.endsWith('.jsonl'), onUnreadable)
  return files.map(({ path: at, name, bytes, changed }) => {
    const id = name.slice(0, -'.jsonl'.length)
    const parent = id.startsWith('agent-') ? parentOf(at) : undefined
    return parent === undefined
      ? { agent: 'claude', path: at, id, bytes, changed }
      : { agent: 'claude', path: at, id, bytes, changed, parent }
  })
}

function subagentsFolder(file: SessionFile): string {
  return path.join(path.dirname(file.path), file.id, 'subagents')
}

/** `<session>/subagents/agent-….jsonl`; older versions keep them beside the session and do not say whose they are. */
function parentOf(file: string): string | undefined {
  const above = path.dirname(file)
  return path.basename(above) === 'subagents' ? path.basename(path.dirname(above)) : undefined
}

function outcome(output: TurnOutput): TurnOutcome {
  const told = jsonIn(output.out).at(-1) ?? {}
  const session = typeof told.session_id === 'string' ? told.session_id : undefined
  // An error of the API is reported as a success with `is_error`.
  const error =
    told.is_error === true
      ? String(told.result ?? told.api_error_status ?? 'error')
      : turnFailure(output, told.type === 'result')
  return { session, error }
}

/** The tokens that Claude Code keeps free for the summary and what comes before it. */
const reserve = 33_000
/** Claude Code ignores settings that name a smaller window. */
const smallest = 100_000

/** Where Claude Code compacts by itself: by its environment and by its settings files, for all models or for one. */
function compactsAt({ window, model, cwd, env: outer }: CompactionQuery): number | undefined {
  const files = settingsFiles(outer, cwd).map((file) => fields(readJson(file)))
  const env: NodeJS.ProcessEnv = { ...outer }
  for (const { env: own } of files) {
    for (const [name, value] of Object.entries(fields(own))) if (typeof value === 'string') env[name] ??= value
  }
  if (isOn(env.DISABLE_AUTO_COMPACT) || isOn(env.DISABLE_COMPACT)) return undefined
  if (files.some(({ autoCompactEnabled }) => autoCompactEnabled === false)) return undefined
  const share = Number(env.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE)
  const overridden = share > 0 && share <= 100 && window !== undefined ? [Math.floor((window * share) / 100)] : []
  const own = Number(env.CLAUDE_CODE_AUTO_COMPACT_WINDOW)
  // Which file wins depends on the version: the lowest is safe.
  const windows = [...(own > 0 ? [own] : []), ...files.flatMap((file) => windowsIn(file, model))]
  const chosen = windows.map((each) => Math.max(0, Math.min(Math.max(each, smallest), window ?? each) - reserve))
  const points = [...overridden, ...chosen]
  // Without any of these, it compacts only when the API refuses a prompt for being too long.
  return points.length === 0 ? window : Math.min(...points)
}

function settingsFiles(env: NodeJS.ProcessEnv, cwd: string | undefined): string[] {
  const user = path.join(path.dirname(projectsIn(env)), 'settings.json')
  const project =
    cwd === undefined ? [] : [path.join(cwd, '.claude/settings.local.json'), path.join(cwd, '.claude/settings.json')]
  return ['/etc/claude-code/managed-settings.json', ...project, user]
}

/** Within one file, what is said for the model replaces what is said for all. */
function windowsIn(
  { autoCompactWindow, modelSettings }: ReturnType<typeof fields>,
  model: string | undefined,
): number[] {
  const named = Object.entries(fields(modelSettings)).find(([name]) => isModel(name, model))
  const own = named === undefined ? undefined : fields(named[1]).autoCompactWindow
  const chosen = own ?? autoCompactWindow
  return typeof chosen === 'number' && chosen > 0 ? [chosen] : []
}

/** A canonical name also means its dated spellings and those of other providers. */
function isModel(name: string, model: string | undefined): boolean {
  return model !== undefined && (model === name || model.includes(name))
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false'
}

/** What it shows in an empty input. It is drawn faint, but not where `NO_COLOR` is set. */
const hint =
  /^(Resend your message to try again|Once fixed, resend your message|Run \/rewind to go back|Press up to edit queued messages|Try ".+")$/

function readScreen(screen: Screen): ScreenState {
  const composer = composerIn(screen)
  const below = composer === undefined ? screen.lines : screen.lines.slice(composer.until + 1)
  const first = composer?.text[0] ?? ''
  // An input that begins with `!` or `#` takes commands and notes.
  const isComposer = /^\s*[❯>!#]/.test(first) && !/^\s*❯\s*\d+\.\s/.test(first)
  const question = questionIn(isComposer ? below : screen.lines)
  if (question !== undefined) return dialogOf(question)
  if (!isComposer) {
    const choice = choiceIn(screen.lines)
    if (choice !== undefined) return { is: 'dialog', question: choice, about: aboutOf(choice) }
    if (/Esc to (cancel|exit|close)|Enter to (confirm|select|continue)/i.test(screen.lines.join('\n')))
      return { is: 'dialog', question: lowest(screen.lines), about: 'other' }
    return screen.lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
  }
  const typed = draftOf(composer!.text, /^\s*[❯>]/)
  const draft = hint.test(typed) ? '' : typed
  const above = screen.lines.slice(Math.max(0, composer!.from - 8), composer!.from)
  const busy =
    above.some((line) => /^\S\s\S.*…( \(|$)/.test(line)) || below.some((line) => /esc to interrupt/i.test(line))
  return busy ? { is: 'busy', draft } : { is: 'prompt', draft }
}

function lowest(lines: readonly string[]): string {
  const written = lines.filter((line) => line.trim() !== '')
  return textOf(written.slice(-6), lines).slice(0, 300)
}
