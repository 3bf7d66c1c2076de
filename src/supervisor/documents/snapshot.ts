// Uncommitted work, kept under `refs/baton/…` before a session is cleared. Made with an index of its own, so that the
// person's index, files and branch stay as they are; no hook runs, and nobody needs to have a name set up.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { CancelledError } from '../../errors.ts'

export type Snapshot =
  | {
      readonly status: 'taken'
      readonly ref: string
      readonly commit: string
      /** Files that differ from the last commit. */
      readonly files: number
      /** Not in it, and why. */
      readonly left: readonly { readonly path: string; readonly why: string }[]
      /** The operation that git is in the middle of. */
      readonly during?: string
      /** Brings the files back. */
      readonly restore: string
      /** Of submodules with work of their own, by path. */
      readonly submodules: Readonly<Record<string, Snapshot>>
    }
  /** Everything is committed. */
  | { readonly status: 'clean' }
  /** There is nothing to take one of. */
  | { readonly status: 'none'; readonly reason: string }
  | { readonly status: 'failed'; readonly reason: string }

export interface SnapshotOptions {
  readonly signal?: AbortSignal
  readonly now?: Date
  /** Bytes of one new file, and of all together; more is left out and said. */
  readonly largest?: number
  readonly most?: number
  /** New files; of more of them only so many are taken that were written last. */
  readonly count?: number
  readonly newest?: number
}

const megabyte = 1 << 20
const deepest = 3

/** Never throws, but for the signal: a snapshot that fails must not stop what it was to protect. */
export async function snapshotWork(
  cwd: string,
  session: string,
  options: SnapshotOptions = {},
  depth = 0,
): Promise<Snapshot> {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-index-'))
  try {
    return await take(cwd, session, options, scratch, depth)
  } catch (error) {
    if (options.signal?.aborted === true) throw new CancelledError('The snapshot was cancelled')
    return { status: 'failed', reason: error instanceof Error ? error.message : String(error) }
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true })
  }
}

async function take(
  cwd: string,
  session: string,
  options: SnapshotOptions,
  scratch: string,
  depth: number,
): Promise<Snapshot> {
  const { signal, now = new Date() } = options
  const outer = new Git(cwd, {}, signal)
  const [asked, listed] = await Promise.all([
    outer.try('rev-parse', '--is-inside-work-tree', '--show-toplevel', '--absolute-git-dir'),
    outer.try('status', '--porcelain=v2', '--branch', '--no-renames', '-z', '--untracked-files=all'),
  ])
  if (asked.code !== 0) {
    if (/not a git repository/i.test(asked.err)) return { status: 'none', reason: `${cwd} is not a git repository` }
    if (/must be run in a work tree/i.test(asked.err)) return { status: 'none', reason: 'a repository without files' }
    throw new GitError(asked.err)
  }
  const [inside, top = cwd, folder = ''] = asked.out.trim().split('\n')
  if (inside !== 'true') return { status: 'none', reason: 'inside the folder of git itself' }
  if (listed.code !== 0) throw new GitError(listed.err)
  const status = statusOf(listed.out)
  const submodules = await below(status.dirtySubmodules, top, session, options, depth)
  if (status.isClean) return { status: 'clean' }
  const git = new Git(top, { GIT_INDEX_FILE: path.join(scratch, 'index') }, signal)
  // A copy knows which files have not changed since; one that is missing is an index without a file in it.
  const index = path.join(folder, 'index')
  if (fs.existsSync(index)) {
    const copy = path.join(scratch, 'index')
    fs.copyFileSync(index, copy)
    // As old as the original: git takes a file that was changed in the same moment for unchanged by an index that is younger.
    const at = Math.floor(fs.statSync(index).mtimeMs) / 1000
    fs.utimesSync(copy, at, at)
  }
  const { taken, left } = chosen(status.fresh, top, options)
  if (status.hasChanges) left.push(...unread(await git.try('add', '--ignore-errors', '--update', '--', ':/')))
  if (taken.length > 0) {
    const fed = ['add', '--ignore-errors', '--pathspec-from-file=-', '--pathspec-file-nul']
    left.push(...unread(await git.feed(taken.join('\0'), ...fed)))
  }
  const tree = (await git.run('write-tree')).trim()
  const { head } = status
  const message = `Uncommitted work of ${session}, kept before its context was cleared`
  const parent = head === undefined ? [] : ['-p', head]
  const [files, commit] = await Promise.all([
    changedFiles(git, head, tree),
    git.run('commit-tree', tree, ...parent, '-m', message).then((told) => told.trim()),
  ])
  if (files === 0 && Object.keys(submodules).length === 0)
    return left.length === 0 ? { status: 'clean' } : { status: 'none', reason: reasonsOf(left) }
  const ref = `refs/baton/${refName(session)}/${now.toISOString().replaceAll(':', '-')}`
  await git.run('update-ref', ref, commit, '')
  const during = operationIn(folder)
  return {
    status: 'taken',
    ref,
    commit,
    files,
    left,
    ...(during === undefined ? {} : { during }),
    restore: `git -C ${quoted(top)} restore --source=${quoted(ref)} --worktree -- :/`,
    submodules,
  }
}

interface Status {
  /** The last commit; missing before the first. */
  readonly head: string | undefined
  readonly isClean: boolean
  /** Whether files that git knows differ from the index. */
  readonly hasChanges: boolean
  /** Files that git does not know. */
  readonly fresh: readonly string[]
  /** With files of their own that are not committed there. */
  readonly dirtySubmodules: readonly string[]
}

/** Of `git status --porcelain=v2 --branch --no-renames -z`. */
function statusOf(told: string): Status {
  const entries = told.split('\0').filter((entry) => entry !== '')
  const pathsOf = (form: RegExp) => entries.flatMap((entry) => form.exec(entry)?.[1] ?? [])
  const [head] = pathsOf(/^# branch\.oid ([0-9a-f]+)$/)
  return {
    head,
    isClean: entries.every((entry) => entry.startsWith('#')),
    hasChanges: entries.some((entry) => /^(?:1 .[^.]|u) /.test(entry)),
    fresh: pathsOf(/^\? (.+)$/s),
    dirtySubmodules: pathsOf(/^1 .. S.(?:M.|.U) \S+ \S+ \S+ \S+ \S+ (.+)$/s),
  }
}

/** Submodules that hold work of their own: only their commits are part of what is above them. */
async function below(
  places: readonly string[],
  top: string,
  session: string,
  options: SnapshotOptions,
  depth: number,
): Promise<Record<string, Snapshot>> {
  const found: Record<string, Snapshot> = {}
  if (depth >= deepest) return found
  for (const place of places) found[place] = await snapshotWork(path.join(top, place), session, options, depth + 1)
  return found
}

/** The new files that are kept, and those that are left out. */
function chosen(names: readonly string[], top: string, options: SnapshotOptions) {
  const { largest = 10 * megabyte, most = 200 * megabyte, count = 20_000, newest = 1_000 } = options
  const left: { path: string; why: string }[] = []
  const taken: string[] = []
  let found = names.flatMap((name) => {
    const stat = fs.lstatSync(path.join(top, name), { throwIfNoEntry: false })
    return stat === undefined ? [] : [{ name, stat }]
  })
  // Of so many, most were made by a program; those that were written last are the work.
  if (found.length > count) {
    left.push({ path: '.', why: `${found.length} new files; all but the newest ${newest}` })
    found = found.sort((a, b) => b.stat.mtimeMs - a.stat.mtimeMs).slice(0, newest)
  }
  let sum = 0
  for (const { name, stat } of found) {
    if (name.endsWith('/')) left.push({ path: name, why: 'a repository of its own' })
    else if (!stat.isFile() && !stat.isSymbolicLink()) left.push({ path: name, why: 'no ordinary file' })
    else if (stat.size > largest) left.push({ path: name, why: `${sizeOf(stat.size)}, more than ${sizeOf(largest)}` })
    else if (sum + stat.size > most) left.push({ path: name, why: `beyond ${sizeOf(most)} in all` })
    else {
      sum += stat.size
      taken.push(name)
    }
  }
  return { taken, left }
}

/** Files that could not be read; anything else that went wrong is an error. */
function unread({ code, err }: Told): { path: string; why: string }[] {
  if (code === 0) return []
  const found = [...err.matchAll(/^error: open\("(.+)"\): (.+)$/gm)]
  if (found.length === 0 || /insufficient permission|unable to write|No space left/i.test(err)) throw new GitError(err)
  return found.map(([, path = '', why = '']) => ({ path, why }))
}

async function changedFiles(git: Git, head: string | undefined, tree: string): Promise<number> {
  const told =
    head === undefined
      ? await git.run('ls-tree', '-r', '--name-only', '-z', tree)
      : await git.run('diff-tree', '-r', '--name-only', '--no-renames', '-z', head, tree)
  return told.split('\0').filter((name) => name !== '').length
}

class Git {
  readonly #cwd: string
  readonly #env: NodeJS.ProcessEnv
  readonly #signal: AbortSignal | undefined

  constructor(cwd: string, env: Record<string, string>, signal: AbortSignal | undefined) {
    this.#cwd = cwd
    this.#signal = signal
    const own = Object.entries(process.env).filter(([name]) => !/^GIT_(DIR|WORK_TREE|INDEX_FILE|PREFIX)$/.test(name))
    const person = { NAME: 'Baton', EMAIL: 'baton@localhost' }
    this.#env = {
      ...Object.fromEntries(own),
      // Without this, even looking may write the index anew.
      GIT_OPTIONAL_LOCKS: '0',
      GIT_LITERAL_PATHSPECS: '0',
      GIT_TERMINAL_PROMPT: '0',
      LC_ALL: 'C',
      ...Object.fromEntries(
        ['AUTHOR', 'COMMITTER'].flatMap((role) =>
          Object.entries(person).map(([what, value]) => [`GIT_${role}_${what}`, value]),
        ),
      ),
      ...env,
    }
  }

  async run(...args: string[]): Promise<string> {
    const { code, out, err } = await this.#git(args)
    if (code !== 0) throw new GitError(err)
    return out
  }

  /** The input names files, one by one and as they are. */
  feed(input: string, ...args: string[]): Promise<Told> {
    return this.#git(['--literal-pathspecs', ...args], input)
  }

  try(...args: string[]): Promise<Told> {
    return this.#git(args)
  }

  #git(args: readonly string[], input = ''): Promise<Told> {
    const quiet = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'advice.addEmbeddedRepo=false']
    return new Promise((resolve, reject) => {
      const child = spawn('git', [...quiet, ...args], {
        cwd: this.#cwd,
        env: this.#env,
        stdio: ['pipe', 'pipe', 'pipe'],
        ...(this.#signal === undefined ? {} : { signal: this.#signal }),
      })
      // One of our own: that of `spawn` goes on where there is no program.
      const timer = setTimeout(() => child.kill(), 60_000)
      const out: Buffer[] = []
      const err: Buffer[] = []
      child.stdout.on('data', (bytes: Buffer) => out.push(bytes))
      child.stderr.on('data', (bytes: Buffer) => err.push(bytes))
      child.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer)
        reject(error.code === 'ENOENT' ? new GitError('there is no git, or the folder is gone') : error)
      })
      child.on('close', (code) => {
        clearTimeout(timer)
        resolve({ code, out: String(Buffer.concat(out)), err: String(Buffer.concat(err)) })
      })
      // It may not read all of it.
      child.stdin.on('error', () => undefined)
      child.stdin.end(input)
    })
  }
}

interface Told {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

class GitError extends Error {
  constructor(said: string) {
    const lines = said.split('\n').filter((line) => line.trim() !== '' && !/^(hint|warning):/.test(line))
    super(lines.slice(0, 3).join(' ') || said.trim() || 'git took too long, and was ended')
  }
}

function operationIn(folder: string): string | undefined {
  const signs = {
    'rebase-merge': 'rebase',
    'rebase-apply': 'rebase',
    MERGE_HEAD: 'merge',
    CHERRY_PICK_HEAD: 'cherry-pick',
    REVERT_HEAD: 'revert',
    BISECT_LOG: 'bisect',
  }
  return Object.entries(signs).find(([name]) => fs.existsSync(path.join(folder, name)))?.[1]
}

/** As a part of a ref: git allows little. */
function refName(session: string): string {
  const name = session
    .replaceAll(/[^\p{L}\p{N}_-]+/gu, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 100)
  return name || 'session'
}

function reasonsOf(left: readonly { path: string; why: string }[]): string {
  return `only what is not kept: ${left
    .slice(0, 3)
    .map((each) => `${each.path} (${each.why})`)
    .join(', ')}`
}

function sizeOf(bytes: number): string {
  return bytes < megabyte ? `${Math.ceil(bytes / 1024)} KiB` : `${Math.round(bytes / megabyte)} MiB`
}

function quoted(text: string): string {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
