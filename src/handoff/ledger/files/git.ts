// What git knows of a session's work, asked where the session's folder is on this machine. Git sees what scripts and
// generators changed, and what was undone; it never sees what is ignored. Asking never writes to the repository and runs
// nothing that the repository configures.

import { execFile } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { copyFile, lstat, mkdtemp, readFile, realpath, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { countLines } from './effect.ts'
import type { DirtyFile, Ledger } from '../facts.ts'
import { joinPath } from './paths.ts'
import { reconcile, type GitChange, type GitState } from './reconcile.ts'

export interface GitOptions {
  /** The session's folder, where the ledger does not name it. */
  readonly cwd?: string
  /** The commit the session began at, where the ledger does not name it. */
  readonly base?: string
  /** For all of git's answers together; afterwards the ledger stays as it is. Default 10 s. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** The ledger with its files reconciled with git. Without git, a repository or an answer in time: the ledger as it was. */
export async function reconcileWithGit(ledger: Ledger, options: GitOptions = {}): Promise<Ledger> {
  const cwd = options.cwd ?? ledger.git?.cwd
  if (cwd === undefined || cwd === '') return ledger
  options.signal?.throwIfAborted()
  if (!isInRepository(cwd)) return ledger
  const state = await readGit(cwd, ledger, options)
  return state ? reconcile(ledger, state) : ledger
}

/** Whether git would find a repository there. Many sessions come from folders that are not on this machine, and starting git takes long. */
function isInRepository(cwd: string): boolean {
  try {
    for (let folder = realpathSync(cwd), above = ''; folder !== above; folder = dirname((above = folder)))
      if (existsSync(join(folder, '.git'))) return true
  } catch {
    // The folder is gone.
  }
  return false
}

/** Git's answers; undefined when git has nothing to say about the folder. */
async function readGit(cwd: string, ledger: Ledger, options: GitOptions = {}): Promise<GitState | undefined> {
  const deadline = AbortSignal.timeout(options.timeoutMs ?? 10_000)
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline
  const scratch = await mkdtemp(join(tmpdir(), 'baton-index-'))
  try {
    return await ask(cwd, ledger, options.base, join(scratch, 'index'), signal)
  } catch (error) {
    // No git, no repository, a folder that is gone, or no answer in time: the tape alone speaks. A caller's abort is not that.
    options.signal?.throwIfAborted()
    if (error instanceof Error) return undefined
    throw error
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** `git diff` refreshes the index as it goes, so it is given a copy. */
async function ask(
  cwd: string,
  ledger: Ledger,
  known: string | undefined,
  index: string,
  signal: AbortSignal,
): Promise<GitState | undefined> {
  const place = await git(cwd, ['rev-parse', '--show-toplevel', '--show-prefix', '--git-path', 'index'], signal)
  const [root = '', prefix = '', own = ''] = place.split('\n')
  if (root === '') return undefined
  await copyIndex(resolve(cwd, own), index)
  const run: Run = (args, input) => git(root, args, signal, { index, input })
  const head = (await run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']).catch(() => '')).trim()
  const branch = (await run(['symbolic-ref', '--quiet', '--short', 'HEAD']).catch(() => '')).trim()
  const base = await baseOf(run, head, known ?? ledger.git?.base, ledger.span?.from)
  const names = await run(['diff', '--name-status', '-z', '-M', ...diffOptions, base.tree, '--'])
  const numbers = await run(['diff', '--numstat', '-z', '-M', ...diffOptions, base.tree, '--'])
  const dirty = readStatus(
    await run(['status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=all', '--ignore-submodules=all']),
  )
  const untracked = dirty.filter(({ status, path }) => status === '??' && !path.endsWith('/'))
  const changes = [
    ...readChanges(names, readNumbers(numbers)),
    ...untracked.map(({ path }): GitChange => ({ action: 'created', path, untracked: true })),
  ]
  const placeOf = placer(cwd, await realpath(cwd), root, prefix)
  const changed = new Set(ledger.files.filter(({ state }) => state !== 'read').map(({ path }) => path))
  const checked = await Promise.all(
    changes.map((change, at) => inspect(change, root, placeOf, changed, ledger.span?.from, at < maxRead)),
  ).then((found) => withoutLater(run, found, { base: base.tree, head, known: changed, ledger }))
  const { exists, ignored } = await rest(run, ledger, cwd, root, new Set(checked.map(({ path }) => path)))
  return {
    cwd: joinPath('', cwd),
    ...(branch !== '' && { branch }),
    ...(head !== '' && { head }),
    ...(base.commit !== undefined && { base: base.commit }),
    changes: checked,
    dirty: dirty.map(({ path, status }) => ({ path: placeOf(path), status })),
    exists,
    ignored,
  }
}

/** As old as the original: git takes a file that was changed in the same moment for unchanged by an index that is younger. */
async function copyIndex(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to)
  } catch (error) {
    // A repository without a commit may have no index yet; git then starts from an empty one. Anything else would make
    // every file look changed.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  const at = Math.floor((await lstat(from)).mtimeMs) / 1000
  await utimes(to, at, at)
}

const diffOptions = [
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--no-relative',
  '--ignore-submodules=all',
  '-l',
  '2000',
]
/** New files whose lines are counted by reading them. */
const maxRead = 500
const maxBytes = 1024 * 1024

type Run = (args: readonly string[], input?: string) => Promise<string>

function git(
  cwd: string,
  args: readonly string[],
  signal: AbortSignal,
  given: { index?: string; input?: string } = {},
): Promise<string> {
  const safe = [
    '-c',
    'core.fsmonitor=false',
    '-c',
    'core.hooksPath=/dev/null',
    '-c',
    'diff.external=',
    '-c',
    'core.untrackedCache=keep',
    '-c',
    'core.quotePath=false',
  ]
  const env: NodeJS.ProcessEnv = { ...process.env, GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' }
  // Inside a git hook these point elsewhere.
  for (const name of [
    'GIT_DIR',
    'GIT_WORK_TREE',
    'GIT_INDEX_FILE',
    'GIT_PREFIX',
    'GIT_EXTERNAL_DIFF',
    'GIT_OBJECT_DIRECTORY',
    'GIT_COMMON_DIR',
    'GIT_CEILING_DIRECTORIES',
  ])
    delete env[name]
  if (given.index !== undefined) env['GIT_INDEX_FILE'] = given.index
  return new Promise((resolve, reject) => {
    const child = execFile(
      'git',
      [...safe, ...args],
      { cwd, env, signal, maxBuffer: 256 * 1024 * 1024, encoding: 'utf8' },
      (error, stdout) => (error ? reject(error) : resolve(stdout)),
    )
    // A git that ends early closes its input; its exit status tells.
    child.stdin?.on('error', () => {})
    child.stdin?.end(given.input ?? '')
  })
}

/** What to compare with: the commit the session began at, else the last before its first entry, else nothing at all. */
async function baseOf(
  run: Run,
  head: string,
  known: string | undefined,
  since: string | undefined,
): Promise<{ tree: string; commit?: string }> {
  if (known !== undefined) {
    const commit = (await run(['rev-parse', '--verify', '--quiet', `${known}^{commit}`]).catch(() => '')).trim()
    if (commit !== '') return { tree: commit, commit }
  }
  const empty = async (): Promise<{ tree: string }> => ({
    tree: (await run(['hash-object', '-t', 'tree', '--stdin'])).trim(),
  })
  if (head === '') return empty()
  if (since === undefined || Number.isNaN(Date.parse(since))) return { tree: head, commit: head }
  const before = (await run(['rev-list', '-1', `--before=${Math.floor(Date.parse(since) / 1000)}`, head])).trim()
  return before === '' ? empty() : { tree: before, commit: before }
}

function readNumbers(text: string): Map<string, { added: number; removed: number }> {
  const numbers = new Map<string, { added: number; removed: number }>()
  const fields = text.split('\0')
  for (let at = 0; at < fields.length; at += 1) {
    const match = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(fields[at] ?? '')
    if (!match) continue
    // A rename prints an empty name, then both names.
    let path = match[3] ?? ''
    if (path === '') {
      path = fields[at + 2] ?? ''
      at += 2
    }
    if (match[1] !== '-') numbers.set(path, { added: Number(match[1]), removed: Number(match[2]) })
  }
  return numbers
}

function readChanges(text: string, numbers: Map<string, { added: number; removed: number }>): GitChange[] {
  const changes: GitChange[] = []
  const fields = text.split('\0')
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const letter = fields[at]?.[0]
    const path = fields[at + 1] ?? ''
    if (letter === 'R' || letter === 'C') {
      const to = fields[at + 2] ?? ''
      at += 1
      changes.push({
        action: letter === 'R' ? 'renamed' : 'created',
        path: to,
        ...(letter === 'R' && { from: path }),
        ...numbers.get(to),
      })
    } else {
      const action = letter === 'A' ? 'created' : letter === 'D' ? 'deleted' : 'edited'
      changes.push({ action, path, ...numbers.get(path) })
    }
  }
  return changes
}

function readStatus(text: string): DirtyFile[] {
  return text
    .split('\0')
    .filter((field) => field.length > 3)
    .map((field) => ({ status: field.slice(0, 2), path: field.slice(3) }))
}

/** From a path in the repository to the path that facts use. */
function placer(cwd: string, real: string, root: string, prefix: string): (path: string) => string {
  return (path) => {
    if (prefix === '') return path
    if (path.startsWith(prefix)) return path.slice(prefix.length)
    // The session may have known the folder by another name than git does.
    const outside = `${root}/${path}`
    const common =
      real.endsWith(prefix.slice(0, -1)) && cwd.endsWith(prefix.slice(0, -1)) ? cwd.slice(0, -prefix.length) : root
    return common === root ? outside : joinPath(common, path)
  }
}

/** What a session starts may go on for a moment after its last entry. */
const afterEnd = 120_000

/** Marks what somebody did after the session had ended: in a commit of its own, or in a file that no commit of the session has. */
async function withoutLater(
  run: Run,
  found: readonly Inspected[],
  { base, head, known, ledger }: { base: string; head: string; known: ReadonlySet<string>; ledger: Ledger },
): Promise<GitChange[]> {
  const end = Date.parse(ledger.span?.to ?? '') + afterEnd
  const isKnown = ({ path, from }: GitChange) => known.has(path) || (from !== undefined && known.has(from))
  const unknown = new Set(found.filter(({ change }) => change.foreign !== true && !isKnown(change)))
  // Not a number, where the tape has no dates.
  if (!(end < Date.now()) || unknown.size === 0) return found.map(({ change }) => change)
  const own = head === '' ? '' : (await run(['rev-list', '-1', `--before=${Math.floor(end / 1000)}`, head])).trim()
  // A clock that was wrong may date the commit that the session began at after its end.
  const last = own === '' ? base : own
  const between = async (from: string, to: string): Promise<Set<string>> =>
    from === to
      ? new Set()
      : new Set((await run(['diff', '--name-only', '-z', ...diffOptions, from, to, '--'])).split('\0'))
  const work = await between(base, last)
  const later = head === '' ? new Set<string>() : await between(last, head)
  return found.map((each) => {
    const { change, name, changedAt } = each
    if (!unknown.has(each) || work.has(name)) return change
    const isLater = changedAt === undefined ? later.has(name) : changedAt > end
    return isLater ? { ...change, foreign: true } : change
  })
}

interface Inspected {
  readonly change: GitChange
  /** In the repository. */
  readonly name: string
  /** Undefined where the file is gone. */
  readonly changedAt?: number
}

/** Adds what only the disk can tell: when the file changed last, and how many lines a new one has. */
async function inspect(
  change: GitChange,
  root: string,
  placeOf: (path: string) => string,
  known: ReadonlySet<string>,
  since: string | undefined,
  mayRead: boolean,
): Promise<Inspected> {
  const path = placeOf(change.path)
  const placed: GitChange = { ...change, path, ...(change.from !== undefined && { from: placeOf(change.from) }) }
  const name = change.path
  if (change.action === 'deleted') return { change: placed, name }
  const file = `${root}/${change.path}`
  const stat = await lstat(file).catch(() => undefined)
  const start = since === undefined ? Number.NaN : Date.parse(since)
  // Two seconds, for disks and transcripts that round.
  const foreign = stat !== undefined && !known.has(path) && stat.mtimeMs < start - 2_000 && start <= Date.now()
  const readable = change.untracked === true && mayRead && stat?.isFile() === true && stat.size <= maxBytes
  const text = readable ? await readFile(file).catch(() => undefined) : undefined
  const lines =
    text !== undefined && !text.subarray(0, 8_000).includes(0)
      ? { added: countLines(text.toString('latin1')), removed: 0 }
      : {}
  return {
    change: { ...placed, ...lines, ...(foreign && { foreign }) },
    name,
    ...(stat !== undefined && { changedAt: stat.mtimeMs }),
  }
}

/** Files that the tape calls changed and git does not: are they there, and are they ignored? */
async function rest(
  run: Run,
  ledger: Ledger,
  cwd: string,
  root: string,
  changed: ReadonlySet<string>,
): Promise<{ exists: Set<string>; ignored: Set<string> }> {
  const exists = new Set<string>()
  const ignored = new Set<string>()
  const asked = ledger.files.filter(
    ({ path, state }) => state !== 'read' && !changed.has(path) && !path.startsWith('~'),
  )
  await Promise.all(
    asked.map(async ({ path }) => {
      if (await lstat(joinPath(cwd, path)).catch(() => undefined)) exists.add(path)
    }),
  )
  const inside = asked.filter(({ path }) => exists.has(path) && (!path.startsWith('/') || path.startsWith(`${root}/`)))
  if (inside.length > 0) {
    const byPath = new Map(inside.map(({ path }) => [joinPath(cwd, path), path]))
    // Status 1: none is ignored.
    const answer = await run(['check-ignore', '-z', '--stdin'], [...byPath.keys()].join('\0')).catch(() => '')
    for (const path of answer.split('\0')) {
      const own = byPath.get(path)
      if (own !== undefined) ignored.add(own)
    }
  }
  for (const { path } of asked)
    if (path.startsWith('/') && !path.startsWith(`${root}/`) && exists.has(path)) ignored.add(path)
  return { exists, ignored }
}
