// What is true of a session, as plainly as it can be read: what was typed, which calls changed files, how commands ended, and what
// git says was changed where the folder is a repository on this machine.

import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Entry } from '../store/index.ts'

export interface Truth {
  /** What the user typed first and last. */
  readonly requests: readonly string[]
  /** Everything else that the user typed, but for remarks of a few words. */
  readonly words: readonly string[]
  /** What the assistant said at the end. */
  readonly result: readonly string[]
  /** Items of the last todo list that are not done. */
  readonly todos: readonly string[]
  /** Commands that were run as checks and failed at their last run. */
  readonly failing: readonly string[]
  /** Checks that failed at some time, and passed at their last run. */
  readonly passing: readonly string[]
  /** Files that calls of the agent changed. */
  readonly files: readonly string[]
  /** Names of files and folders that stand in calls and their results, whatever became of them. */
  readonly named: ReadonlySet<string>
  readonly folder: string | undefined
  /** Dates of the first and the last entry. */
  readonly from: string | undefined
  readonly to: string | undefined
}

/** Shorter messages, such as "go on", say nothing that a document has to keep. */
const fewWords = 5

export function truthOf(entries: Iterable<Entry>): Truth {
  const typed: string[] = []
  let result: string | undefined
  let todos: readonly string[] = []
  let folder: string | undefined
  let from: string | undefined
  let to: string | undefined
  const calls = new Map<string, Call>()
  const runs = new Map<string, { failed: boolean; everFailed: boolean }>()
  const files = new Set<string>()
  const named = new Set<string>()
  for (const { kind, payload, meta, date } of entries) {
    from ??= date
    to = date
    const fields = record(payload)
    if (kind === 'event' && fields.name === 'session') folder ??= text(record(fields.data).cwd)
    if (kind === 'message' && meta.isSidechain !== true) {
      const words = wordsOf(fields.content).trim()
      if (fields.role === 'user' && isTyped(fields, meta, words)) typed.push(words)
      if (fields.role === 'assistant' && words !== '') result = words
    }
    for (const each of kind === 'tool_call' ? list(fields.calls) : []) {
      const { id, name, arguments: args } = record(each)
      const call = { name: String(name), args: argumentsOf(args) }
      calls.set(String(id), call)
      gatherNames(JSON.stringify(args), named)
      const planned = meta.isSidechain === true ? undefined : todosIn(call)
      if (planned !== undefined) todos = planned
    }
    for (const each of kind === 'tool_result' ? list(fields.results) : []) {
      const answer = record(each)
      const call = calls.get(String(answer.call_id))
      if (call === undefined) continue
      calls.delete(String(answer.call_id))
      gatherNames(typeof answer.output === 'string' ? answer.output : JSON.stringify(answer.output), named)
      const exit = exitOf(answer)
      const failed = answer.is_error === true || (exit !== undefined && exit !== 0)
      const command = commandOf(call)
      // Agents that mark a failure say nothing about a success: it counts once the command is known to be marked.
      const isTold = exit !== undefined || answer.is_error === true || (command !== undefined && runs.has(command))
      if (command !== undefined && isTold && isCheck(command)) {
        const before = runs.get(command)
        runs.set(command, { failed, everFailed: failed || before?.everFailed === true })
      }
      if (!failed) for (const path of changedBy(call)) files.add(path)
    }
  }
  const checks = [...runs]
  const [first, ...rest] = typed
  const last = rest.pop()
  return {
    requests: [first, last].filter((each) => each !== undefined),
    words: rest.filter((each) => each.split(/\s+/).length >= fewWords),
    result: result === undefined ? [] : [result],
    todos,
    failing: checks.filter(([, { failed }]) => failed).map(([command]) => command),
    passing: checks.filter(([, { failed, everFailed }]) => !failed && everFailed).map(([command]) => command),
    files: [...files],
    named,
    folder,
    from,
    to,
  }
}

/** Enough for the longest sessions; beyond it a name is taken for known. */
const mostNames = 200_000

/** Each part of what may be a path. */
function gatherNames(text: string | undefined, names: Set<string>): void {
  if (text === undefined || names.size > mostNames) return
  for (const [word] of text.matchAll(/[\p{L}\p{N}_.@~+-]{2,}/gu)) names.add(word)
}

interface Call {
  readonly name: string
  readonly args: Fields
}

type Fields = Readonly<Record<string, unknown>>

function record(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function wordsOf(content: unknown): string {
  if (typeof content === 'string') return content
  return list(content)
    .map((part) => (record(part).type === 'text' ? (text(record(part).text) ?? '') : ''))
    .join('\n')
}

/** Agents put their own words into the user's turn; they stand in tags or brackets, or are marked. */
function isTyped(message: Fields, meta: Fields, words: string): boolean {
  if (words === '' || meta.isMeta === true || message.display === false || message.customType !== undefined)
    return false
  return !/^(?:<[a-z][\w-]*>|\[Request interrupted|Caveat: |This session is being continued|Read (?:the )?handoff)/.test(
    words,
  )
}

function argumentsOf(args: unknown): Fields {
  if (typeof args !== 'string') return record(args)
  return args.includes('*** Begin Patch') ? { patch: args } : { command: args }
}

function commandOf({ args }: Call): string | undefined {
  const given = args.command ?? args.cmd
  const command = Array.isArray(given) ? String(given.at(-1)) : text(given)
  return command === undefined || args.old_str !== undefined ? undefined : command.trim()
}

/** Something that says whether the work is right: it names a test, a build or a check, and does nothing else. */
function isCheck(command: string): boolean {
  return (
    command.length < 200 &&
    !/[\n;|]|&&/.test(command) &&
    /\b(?:tests?|pytest|vitest|jest|check|lint|tsc|typecheck|build|verify|ci)\b/.test(command) &&
    !/^(?:ls|cat|grep|rg|find|git|echo|sed|head|tail|cd|mkdir|rm)\b/.test(command)
  )
}

function exitOf(answer: Fields): number | undefined {
  if (typeof answer.exit === 'number') return answer.exit
  const { exit_code: code } = record(answer.output)
  if (typeof code === 'number') return code
  const words = wordsOf(answer.output)
  const told =
    /^(?:Exit code:?|Process exited with code) (-?\d+)/m.exec(words.slice(0, 400)) ??
    /Command exited with code (\d+)\s*$/.exec(words)
  return told === null ? undefined : Number(told[1])
}

const pathKeys = ['file_path', 'filePath', 'path', 'absolute_path', 'notebook_path']
const contentKeys = ['content', 'new_string', 'newString', 'newText', 'edits', 'new_str', 'new_source', 'file_text']

function pathsIn(args: Fields): string[] {
  return [
    ...pathKeys.flatMap((key) => text(args[key]) ?? []),
    ...list(args.changes).flatMap((change) => [text(record(change).path) ?? [], text(record(change).to) ?? []].flat()),
    ...Array.from(
      patchOf(args)?.matchAll(/^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$/gm) ?? [],
      ([, path]) => path!,
    ),
  ]
}

function patchOf(args: Fields): string | undefined {
  return [args.patch, args.input, args.patchText].map(text).find((each) => each?.includes('*** Begin Patch'))
}

function changedBy({ args }: Call): string[] {
  const writes =
    contentKeys.some((key) => args[key] !== undefined) || patchOf(args) !== undefined || args.changes !== undefined
  return writes ? pathsIn(args) : []
}

function todosIn({ args }: Call): string[] | undefined {
  const items = args.todos ?? args.plan
  if (!Array.isArray(items)) return undefined
  return items.map(record).flatMap((item) => {
    const done = /^(?:completed|complete|done|cancelled)$/.test(String(item.status))
    return done ? [] : (text(item.content) ?? text(item.step) ?? text(item.text) ?? [])
  })
}

const run = promisify(execFile)

/** Paths below the folder; undefined where git cannot say, or would also name what somebody else did since. */
export async function changesByGit(
  folder: string,
  from: string,
  to: string,
  exists: (folder: string) => boolean = fs.existsSync,
): Promise<string[] | undefined> {
  if (!exists(folder)) return undefined
  try {
    const base = (await git(folder, ['rev-list', '-1', `--before=${from}`, 'HEAD'])).trim()
    if (base === '') return undefined
    const committed = await git(folder, [
      'log',
      '--no-merges',
      '--name-only',
      '--relative',
      '--format=',
      `--until=${to}`,
      `${base}..HEAD`,
    ])
    const open = await git(folder, ['status', '--porcelain', '--no-renames', '--untracked-files=all', '.'])
    const prefix = (await git(folder, ['rev-parse', '--show-prefix'])).trim()
    const dirty = lines(open)
      .map((line) => line.slice(3))
      .filter((file) => file.startsWith(prefix))
      .map((file) => file.slice(prefix.length))
      .filter((file) => changedBetween(path.join(folder, file), from, to))
    return [...new Set([...lines(committed), ...dirty])]
  } catch {
    return undefined // no repository, or none that git can read
  }
}

async function git(folder: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run('git', ['--no-optional-locks', '-C', folder, ...args], { maxBuffer: 1 << 26 })
  return stdout
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

/** Clocks and disks round: a minute either way still counts. */
const slack = 60_000

function changedBetween(file: string, from: string, to: string): boolean {
  const stat = fs.statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return true
  return stat.mtimeMs >= Date.parse(from) - slack && stat.mtimeMs <= Date.parse(to) + slack
}
