import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { type Snapshot, snapshotWork } from '../../../src/supervisor/documents/snapshot.ts'
import { temporaryFolder } from '../../support/workspace.ts'

const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null', GIT_OPTIONAL_LOCKS: '0' }
const person = ['-c', 'user.name=A', '-c', 'user.email=a@b']

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function repository(): string {
  const at = path.join(temporaryFolder(), "a repo's folder")
  fs.mkdirSync(at)
  git(at, 'init', '-q', '-b', 'main')
  write(at, { 'kept.txt': 'one\n', 'gone.txt': 'gone\n', 'sub/deep.txt': 'deep\n', '.gitignore': 'ignored\n' })
  commit(at, 'first')
  return at
}

function write(at: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(at, name)), { recursive: true })
    fs.writeFileSync(path.join(at, name), content)
  }
}

function commit(at: string, message: string): void {
  git(at, 'add', '-A')
  git(at, ...person, 'commit', '-qm', message)
}

/** Everything that a snapshot must leave alone. */
function stateOf(at: string): unknown {
  return {
    status: git(at, 'status', '--porcelain=v2', '--branch'),
    index: fs.readFileSync(path.join(at, '.git/index')).toString('base64'),
    touched: fs.statSync(path.join(at, '.git/index')).mtimeMs,
    head: git(at, 'rev-parse', 'HEAD'),
    stash: git(at, 'stash', 'list'),
  }
}

function taken(snapshot: Snapshot): Extract<Snapshot, { status: 'taken' }> {
  if (snapshot.status !== 'taken') throw new Error(JSON.stringify(snapshot))
  return snapshot
}

test('changed, staged, deleted and new files are kept, and nothing else is touched [C18]', async () => {
  const at = repository()
  write(at, { 'kept.txt': 'two\n', 'sub/new ü.txt': 'new\n', 'staged.txt': 'staged\n', ignored: 'x\n' })
  fs.rmSync(path.join(at, 'gone.txt'))
  git(at, 'add', 'staged.txt')
  const before = stateOf(at)
  const { ref, files, left, restore } = taken(await snapshotWork(path.join(at, 'sub'), 'fix: the/bug #1'))
  expect(stateOf(at)).toEqual(before)
  expect(ref).toMatch(/^refs\/baton\/fix-the-bug-1\/\d{4}-/)
  expect({ files, left }).toEqual({ files: 4, left: [] })
  expect(git(at, 'show', `${ref}:kept.txt`)).toBe('two\n')
  expect(git(at, 'ls-tree', '-r', '-z', '--name-only', ref).split('\0').sort()).toEqual(
    ['', '.gitignore', 'kept.txt', 'staged.txt', 'sub/deep.txt', 'sub/new ü.txt'].sort(),
  )
  expect(git(at, 'rev-parse', `${ref}^`)).toBe(git(at, 'rev-parse', 'HEAD'))

  git(at, 'reset', '-q', '--hard')
  git(at, 'clean', '-qfd')
  execFileSync('sh', ['-c', restore], { env })
  expect(fs.readFileSync(path.join(at, 'sub/new ü.txt'), 'utf8')).toBe('new\n')
  expect(fs.readFileSync(path.join(at, 'kept.txt'), 'utf8')).toBe('two\n')
  expect(fs.existsSync(path.join(at, 'gone.txt'))).toBe(false)
})

test('no hook runs, and nobody needs a name [C18]', async () => {
  const at = repository()
  for (const hook of ['pre-commit', 'post-index-change', 'reference-transaction', 'post-commit']) {
    const file = path.join(at, '.git/hooks', hook)
    fs.writeFileSync(file, `#!/bin/sh\ntouch "${at}/../hooked-${hook}"\nexit 1\n`, { mode: 0o755 })
  }
  git(at, 'config', 'user.useConfigOnly', 'true')
  write(at, { 'kept.txt': 'two\n' })
  taken(await snapshotWork(at, 's'))
  expect(fs.readdirSync(path.dirname(at)).filter((name) => name.startsWith('hooked'))).toEqual([])
})

test('where there is nothing to keep, it says so [C18]', async () => {
  const at = repository()
  expect(await snapshotWork(at, 's')).toEqual({ status: 'clean' })
  write(at, { ignored: 'x' })
  expect(await snapshotWork(at, 's')).toEqual({ status: 'clean' })
  const plain = temporaryFolder()
  expect(await snapshotWork(plain, 's')).toEqual({ status: 'none', reason: `${plain} is not a git repository` })
  const bare = path.join(plain, 'bare')
  git(plain, 'init', '-q', '--bare', bare)
  expect(await snapshotWork(bare, 's')).toMatchObject({ status: 'none' })
  expect(await snapshotWork(path.join(plain, 'missing'), 's')).toMatchObject({ status: 'failed' })
})

test('a repository without a commit is kept too [C18]', async () => {
  const at = temporaryFolder()
  git(at, 'init', '-q')
  write(at, { 'a.txt': 'a' })
  const { ref, files } = taken(await snapshotWork(at, 's'))
  expect(files).toBe(1)
  expect(git(at, 'show', `${ref}:a.txt`)).toBe('a')
})

test('huge, countless and strange new files are left out, and named [C18]', async () => {
  const at = repository()
  write(at, { 'big.bin': 'x'.repeat(3_000), 'small.txt': 'x', 'other.txt': 'y' })
  execFileSync('sh', ['-c', 'mkfifo pipe'], { cwd: at })
  git(at, 'init', '-q', 'inner')
  write(at, { 'inner/x.txt': 'x' })
  git(path.join(at, 'inner'), 'add', '.')
  git(path.join(at, 'inner'), ...person, 'commit', '-qm', 'x')
  const { left, files } = taken(await snapshotWork(at, 's', { largest: 2_000, most: 1 }))
  expect(files).toBe(1)
  expect(left.map(({ path }) => path).sort()).toEqual(['big.bin', 'inner/', 'small.txt'])
  expect(left.find(({ path }) => path === 'big.bin')!.why).toBe('3 KiB, more than 2 KiB')
  write(at, { 'kept.txt': 'two\n' })
  fs.utimesSync(path.join(at, 'other.txt'), 0, 4_000_000_000)
  const many = taken(await snapshotWork(at, 's', { count: 2, newest: 1 }))
  expect(many).toMatchObject({ files: 2, left: [{ path: '.', why: '4 new files; all but the newest 1' }] })
  expect(git(at, 'show', `${many.ref}:other.txt`)).toBe('y')
})

test('in the middle of a conflict the files are kept as they are [C18]', async () => {
  const at = repository()
  git(at, 'checkout', '-qb', 'side')
  write(at, { 'kept.txt': 'side\n' })
  commit(at, 'side')
  git(at, 'checkout', '-q', 'main')
  write(at, { 'kept.txt': 'main\n' })
  commit(at, 'main')
  expect(() => git(at, ...person, 'rebase', 'side')).toThrow('rebase')
  const before = stateOf(at)
  const { ref, during } = taken(await snapshotWork(at, 's'))
  expect(during).toBe('rebase')
  expect(git(at, 'show', `${ref}:kept.txt`)).toContain('<<<<<<<')
  expect(stateOf(at)).toEqual(before)
  git(at, 'rebase', '--abort')
})

test('work inside a submodule is kept there [C18]', async () => {
  const at = repository()
  const other = repository()
  git(at, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other, 'lib')
  commit(at, 'lib')
  write(at, { 'lib/kept.txt': 'changed inside\n' })
  const { submodules } = taken(await snapshotWork(at, 's'))
  const inner = taken(submodules['lib']!)
  expect(git(path.join(at, 'lib'), 'show', `${inner.ref}:kept.txt`)).toBe('changed inside\n')
})

test('what cannot be written or read is told, never thrown [C18]', async () => {
  const at = repository()
  write(at, { 'kept.txt': 'two\n', 'loop.txt': 'x' })
  const broken = path.join(at, '.git/objects')
  fs.renameSync(broken, `${broken}-away`)
  fs.writeFileSync(broken, '')
  const failed = await snapshotWork(at, 's')
  expect(['failed', 'none']).toContain(failed.status)
  expect('reason' in failed && failed.reason.length > 0).toBe(true)
})

test('many snapshots of one session do not collide [C18]', async () => {
  const at = repository()
  write(at, { 'kept.txt': 'two\n' })
  const all = await Promise.all([1, 2, 3].map((n) => snapshotWork(at, 's', { now: new Date(1_790_000_000_000 + n) })))
  expect(new Set(all.map((each) => taken(each).ref)).size).toBe(3)
})

test('a change of the same size, right after a commit, is not overlooked [C18]', async () => {
  for (let round = 0; round < 8; round++) {
    const at = repository()
    write(at, { 'kept.txt': 'two\n' })
    const { ref } = taken(await snapshotWork(at, 's'))
    expect(git(at, 'show', `${ref}:kept.txt`)).toBe('two\n')
  }
})
