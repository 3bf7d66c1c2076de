import { execFileSync } from 'node:child_process'
import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { reconcileWithGit } from '../../../../src/handoff/ledger/files/git.ts'
import type { Ledger } from '../../../../src/handoff/ledger/ledger.ts'
import { changes, Session } from '../session.ts'

let folder: string
let root: string
let session: Session

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'baton-git-')))
  root = join(folder, 'repo')
  session = running()
  await mkdir(root)
  git('init', '-q', '-b', 'main')
  git('config', 'user.email', 'a@b.c')
  git('config', 'user.name', 'a')
  await write('src/a.ts', 'one\ntwo\nthree\n')
  await write('src/b.ts', 'b\n')
  await write('.gitignore', 'ignored/\n')
  git('add', '-A')
  git('commit', '-qm', 'start')
  session.add('event', { name: 'session', data: { cwd: root, git: { branch: 'main', commit_hash: head() } } })
})

/** What git finds on disk is the session's only if it was changed while it ran. */
function running(): Session {
  return new Session(Date.now() - 60_000)
}

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' })
}

function head(): string {
  return git('rev-parse', 'HEAD').trim()
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}

function edited(path: string): void {
  session.tool('Edit', { file_path: join(root, path), old_string: 'x', new_string: 'y' }, 'updated')
}

function states({ files }: Ledger): Record<string, string> {
  return Object.fromEntries(files.map(({ path, state, source }) => [path, `${state} ${source}`]))
}

describe('files reconciled with git', () => {
  it('[H13] what scripts changed shows up, marked as found by git, with its lines', async () => {
    edited('src/a.ts')
    await write('src/a.ts', 'one\n2\nthree\nfour\n')
    session.bash('./generate.sh')
    await write('src/gen/ö ü.ts', '1\n2\n')
    await write('src/b.ts', 'b\nb\n')
    await write('ignored/x', '1')
    const facts = await reconcileWithGit(session.ledger())
    expect(
      facts.files.map(({ path, action, added, removed, source, verified }) => ({
        path,
        action,
        added,
        removed,
        source,
        verified,
      })),
    ).toEqual([
      { path: 'src/a.ts', action: 'edited', added: 2, removed: 1, source: 'tape', verified: true },
      { path: 'src/b.ts', action: 'edited', added: 1, removed: 0, source: 'git', verified: true },
      { path: 'src/gen/ö ü.ts', action: 'created', added: 2, removed: 0, source: 'git', verified: true },
    ])
    expect(facts.counts.filesChanged).toBe(3)
    expect(facts.git).toMatchObject({ cwd: root, branch: 'main', commit: head(), base: head(), checked: true })
    expect(facts.git?.dirty?.map(({ path, status }) => `${status} ${path}`).sort()).toEqual([
      ' M src/a.ts',
      ' M src/b.ts',
      '?? src/gen/ö ü.ts',
    ])
  })

  it('[H13] work that was committed in between counts', async () => {
    edited('src/a.ts')
    await write('src/a.ts', 'changed\n')
    git('commit', '-qam', 'work')
    git('checkout', '-qb', 'feature')
    const facts = await reconcileWithGit(session.ledger())
    expect(changes(facts)).toEqual(['edited src/a.ts'])
    expect(facts.git).toMatchObject({ branch: 'feature', commit: head(), dirty: [] })
    expect(facts.git?.base).not.toBe(head())
  })

  it('[H13] a session that left its branch, or never had one, is on none', () => {
    session.add('event', { name: 'session', data: { gitBranch: 'feature' } })
    expect(session.ledger().git).toMatchObject({ branch: 'feature' })
    session.add('event', { name: 'session', data: { gitBranch: 'HEAD' } })
    expect(session.ledger().git).toMatchObject({ cwd: root, commit: head() })
    expect(session.ledger().git).not.toHaveProperty('branch')
  })

  it('[H13] what was undone, only scratch, or ignored', async () => {
    edited('src/a.ts')
    session.tool('Write', { file_path: join(root, 'tmp.js'), content: 'x' }, 'File created successfully')
    session.tool('Write', { file_path: join(root, 'ignored/kept.txt'), content: 'x' }, 'File created successfully')
    session.tool('Write', { file_path: join(root, 'ignored/gone.txt'), content: 'x' }, 'File created successfully')
    await write('ignored/kept.txt', 'x')
    expect(states(await reconcileWithGit(session.ledger()))).toEqual({
      'src/a.ts': 'undone tape',
      'tmp.js': 'scratch tape',
      'ignored/kept.txt': 'changed tape',
      'ignored/gone.txt': 'scratch tape',
    })
  })

  it('[H13] renames, with git and without, and folders that were removed', async () => {
    session.bash('git mv src/a.ts src/c.ts')
    git('mv', 'src/a.ts', 'src/c.ts')
    session.bash('mv src/b.ts src/d.ts')
    await rename(join(root, 'src/b.ts'), join(root, 'src/d.ts'))
    expect(changes(await reconcileWithGit(session.ledger()))).toEqual([
      'renamed src/c.ts < src/a.ts',
      'renamed src/d.ts < src/b.ts',
    ])
    session = running()
    session.add('event', { name: 'session', data: { cwd: root } })
    git('reset', '-q', '--hard')
    await rm(join(root, 'src'), { recursive: true })
    session.bash('rm -rf src')
    const facts = await reconcileWithGit(session.ledger(), { base: head() })
    expect(facts.files).toMatchObject([
      { path: 'src/a.ts', action: 'deleted', source: 'tape', firstId: 2 },
      { path: 'src/b.ts', action: 'deleted', source: 'tape', firstId: 2 },
    ])
  })

  it('[H13] what was dirty before the session began is not its work', async () => {
    await write('src/b.ts', 'dirty before\n')
    await write('notes.txt', 'old\n')
    const past = new Date(Date.UTC(2025, 0, 1))
    await utimes(join(root, 'src/b.ts'), past, past)
    await utimes(join(root, 'notes.txt'), past, past)
    session.tool('Read', { file_path: join(root, 'src/b.ts') }, 'x')
    const facts = await reconcileWithGit(session.ledger())
    expect(changes(facts)).toEqual([])
    expect(facts.git?.dirty).toHaveLength(2)
  })

  it('[H13] without a known commit, the last one before the first entry is the start', async () => {
    session = new Session()
    const day = (date: string) => ({ env: { ...process.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date } })
    execFileSync('git', ['commit', '-q', '--amend', '-m', 'old', '--date', '2025-06-01T00:00:00Z'], {
      cwd: root,
      ...day('2025-06-01T00:00:00Z'),
    })
    await write('src/a.ts', 'during\n')
    execFileSync('git', ['commit', '-qam', 'during'], { cwd: root, ...day('2026-01-01T00:01:00Z') })
    session.user('go')
    const facts = await reconcileWithGit(session.ledger(), { cwd: root })
    expect(changes(facts)).toEqual(['edited src/a.ts'])
  })

  it('[H13] what somebody did after the session had ended is not its work', async () => {
    session = new Session(Date.now() - 3_600_000)
    session.add('event', { name: 'session', data: { cwd: root, git: { commit_hash: head() } } })
    edited('src/a.ts')
    session.bash('./generate.sh')
    const during = new Date(Date.now() - 3_590_000)
    await write('src/a.ts', 'changed\n')
    await write('src/made.ts', 'made\n')
    await utimes(join(root, 'src/made.ts'), during, during)
    git('add', '-A')
    git('commit', '-qm', 'the work, committed by hand an hour later')
    await write('src/later.ts', 'later\n')
    git('rm', '-q', 'src/b.ts')
    git('add', '-A')
    git('commit', '-qm', 'other work')
    await write('notes.txt', 'notes\n')
    const found = changes(await reconcileWithGit(session.ledger()))
    expect(found.sort()).toEqual(['created src/made.ts', 'edited src/a.ts'])
  })

  it('[H13] from a folder inside the repository, files beside it keep their whole path', async () => {
    session = running()
    const cwd = join(root, 'src')
    session.add('event', { name: 'session', data: { cwd } })
    session.tool('Edit', { file_path: join(root, '.gitignore'), old_string: 'a', new_string: 'b' }, 'updated')
    await appendFile(join(root, '.gitignore'), 'more\n')
    await write('src/a.ts', 'x\n')
    const facts = await reconcileWithGit(session.ledger(), { base: head() })
    expect(states(facts)).toEqual({ [join(root, '.gitignore')]: 'changed tape', 'a.ts': 'changed git' })
  })

  it('[H13] in a worktree, and through a symbolic link', async () => {
    const tree = join(folder, 'tree with space')
    git('worktree', 'add', '-q', '-b', 'side', tree)
    await symlink(tree, join(folder, 'link'))
    await writeFile(join(tree, 'src/a.ts'), 'x\n')
    session = running()
    session.tool('Edit', { file_path: join(folder, 'link/src/a.ts'), old_string: 'a', new_string: 'b' }, 'updated')
    const facts = await reconcileWithGit(session.ledger({ cwd: join(folder, 'link') }), { base: head() })
    expect(states(facts)).toEqual({ 'src/a.ts': 'changed tape' })
    expect(facts.git).toMatchObject({ branch: 'side' })
  })

  it('[H13] before the first commit everything is new', async () => {
    root = join(folder, 'fresh')
    await mkdir(root)
    git('init', '-q', '-b', 'trunk')
    await write('a.txt', '1\n')
    await write('b.txt', '1\n')
    git('add', 'a.txt')
    session = running()
    session.user('go')
    const facts = await reconcileWithGit(session.ledger({ cwd: root }))
    expect(changes(facts)).toEqual(['created a.txt', 'created b.txt'])
    expect(facts.git).toMatchObject({ branch: 'trunk', checked: true })
    expect(facts.git?.commit).toBeUndefined()
  })

  it('[H13] without a repository, a folder or time, the tape alone speaks', async () => {
    edited('src/a.ts')
    const facts = session.ledger()
    expect(await reconcileWithGit(facts, { cwd: join(folder, 'nowhere') })).toEqual(facts)
    expect(await reconcileWithGit(facts, { cwd: folder })).toEqual(facts)
    expect(await reconcileWithGit(facts, { timeoutMs: 0 })).toEqual(facts)
    await expect(reconcileWithGit(facts, { signal: AbortSignal.abort() })).rejects.toThrow('aborted')
  })

  it('[H13] asking writes nothing and runs nothing that the repository configures', async () => {
    const trap = join(folder, 'trap.sh')
    const sprung = join(folder, 'sprung')
    await writeFile(trap, `#!/bin/sh\necho "$0" >> '${sprung}'\n`)
    await chmod(trap, 0o755)
    git('config', 'core.fsmonitor', trap)
    git('config', 'diff.external', trap)
    git('config', 'diff.t.textconv', trap)
    git('config', 'core.hooksPath', folder)
    await writeFile(join(folder, 'post-index-change'), `#!/bin/sh\necho hook >> '${sprung}'\n`, { mode: 0o755 })
    await write('.gitattributes', '*.ts diff=t\n')
    await write('src/a.ts', 'x\n')
    const touched = new Date()
    await utimes(join(root, 'src/b.ts'), touched, touched)
    const index = await readFile(join(root, '.git/index'))
    const { mtimeMs } = await stat(join(root, '.git/index'))
    const facts = await reconcileWithGit(session.ledger())
    expect(changes(facts)).toContain('edited src/a.ts')
    expect(await readFile(join(root, '.git/index'))).toEqual(index)
    expect((await stat(join(root, '.git/index'))).mtimeMs).toBe(mtimeMs)
    await expect(stat(sprung)).rejects.toThrow('ENOENT')
  })
})
