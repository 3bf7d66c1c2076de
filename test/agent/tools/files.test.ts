import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { permissionPolicy } from '../../../src/agent/permissions/policy.ts'
import { fsEdit, fsList, fsRead, fsSearch, fsWrite } from '../../../src/agent/tools/index.ts'
import type { AgentTool, ToolContext } from '../../../src/agent/tools/tool.ts'
import { searchFiles } from '../../../src/agent/tools/search-worker.ts'
import { temporaryFolder } from '../../support/workspace.ts'
import { bench } from './calling.ts'

function folderWith(files: Record<string, string | Buffer>): string {
  const cwd = fs.realpathSync(temporaryFolder())
  for (const [file, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(cwd, file)), { recursive: true })
    fs.writeFileSync(path.join(cwd, file), content)
  }
  return cwd
}

function contextOf(cwd: string): Omit<ToolContext, 'tape'> {
  const { signal } = new AbortController()
  return { cwd, callId: '1', entryId: 1, runId: 'r', signal, onOutput: () => {} }
}

function makePipe(file: string): void {
  execFileSync('bash', ['-c', 'mkfifo "$0"', file])
}

describe('fs.read', () => {
  it('gives a small file exactly', async () => {
    const { text } = await bench(folderWith({ 'a.txt': 'one\r\n\ttwo\n\nłódź 🎉' }))
    expect(await text(fsRead, { path: 'a.txt' })).toBe('one\r\n\ttwo\n\nłódź 🎉')
  })

  it('pages through a large file: the pages together are the file', async () => {
    const content = Array.from({ length: 5_000 }, (_, i) => `line ${i + 1} ${'x'.repeat(i % 90)}`).join('\n')
    const { text } = await bench(folderWith({ 'a.txt': content }))
    const pages: string[] = []
    for (let offset: number | undefined = 1; offset !== undefined;) {
      const page: string = await text(fsRead, { path: 'a.txt', offset })
      expect(Buffer.byteLength(page)).toBeLessThan(32 * 1024)
      const footer: RegExpExecArray | null =
        /\n\[lines \d+-\d+ of 5000; (?:continue with offset (\d+)|the end)\]$/.exec(page)
      pages.push(page.slice(0, footer?.index))
      offset = footer?.[1] === undefined ? undefined : Number(footer[1])
    }
    expect(pages.length).toBeGreaterThan(2)
    expect(pages.join('\n')).toBe(content)
  })

  it('gives any lines of any text', async () => {
    const cwd = folderWith({})
    const { text } = await bench(cwd)
    const words = fc.string({ unit: fc.constantFrom('a', 'ß', '🎉', ' ', '\n', '\n'), maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(words, fc.nat(8), fc.nat(8), async (content, skip, more) => {
        fs.writeFileSync(path.join(cwd, 'f'), content)
        const lines = content.split('\n').slice(0, content.endsWith('\n') || content === '' ? -1 : undefined)
        const run = text(fsRead, { path: 'f', offset: skip + 1, limit: more + 1 })
        if (lines.length === 0) expect(await run).toBe('[the file is empty]')
        else if (skip >= lines.length) await expect(run).rejects.toThrow(`has ${lines.length} lines`)
        else {
          const expected = lines.slice(skip, skip + more + 1).join('\n')
          const got = await run
          expect(got === expected || got.startsWith(`${expected}\n[lines ${skip + 1}-`)).toBe(true)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('cuts a line that is one long stretch, and says how much of it', async () => {
    const { text } = await bench(folderWith({ 'min.js': `${'é'.repeat(500_000)}\nend` }))
    const output = await text(fsRead, { path: 'min.js' })
    expect(output).toMatch(/^é+ \[… 995904 more bytes in this line\]\nend$/)
  })

  it('reads the beginning of a huge file without reading all of it', async () => {
    const cwd = folderWith({ huge: 'first\nsecond\n'.repeat(2_000) })
    fs.truncateSync(path.join(cwd, 'huge'), 2 ** 36)
    const { text } = await bench(cwd)
    expect(await text(fsRead, { path: 'huge', limit: 2 })).toBe(
      `first\nsecond\n[lines 1-2 of a file of ${2 ** 36} bytes; continue with offset 3]`,
    )
  })

  it('names what is not text, is not a file, or is not there', async () => {
    const cwd = folderWith({ 'a.png': Buffer.from('89504e470d0a1a0a0000', 'hex'), 'b.bin': Buffer.alloc(9), e: '' })
    makePipe(path.join(cwd, 'pipe'))
    const { text, call } = await bench(cwd)
    expect(await text(fsRead, { path: 'a.png' })).toBe('[image: image/png, 10 bytes]\n[image a.png, image/png]')
    expect(await text(fsRead, { path: 'b.bin' })).toBe('[binary file: application/octet-stream, 9 bytes]')
    expect(await text(fsRead, { path: 'e' })).toBe('[the file is empty]')
    await expect(call(fsRead, { path: 'none' })).rejects.toThrow('none is not there')
    await expect(call(fsRead, { path: '.' })).rejects.toThrow('. is a folder: use fs.list')
    await expect(call(fsRead, { path: 'pipe' })).rejects.toThrow('pipe is a pipe, not a file')
    await expect(call(fsRead, { path: 'e/f' })).rejects.toThrow('not a folder')
    await expect(call(fsRead, { path: 'a\0b' })).rejects.toThrow('null byte')
    await expect(call(fsRead, { path: '' })).rejects.toThrow('empty')
    await expect(call(fsRead, { path: 'x'.repeat(300) })).rejects.toThrow('too long')
    await expect(call(fsRead, { path: '/dev/zero' })).rejects.toThrow('device')
  })
})

describe('fs.write', () => {
  it('makes the file with its folders, or replaces it and keeps its mode', async () => {
    const cwd = folderWith({ 'run.sh': 'old' })
    fs.chmodSync(path.join(cwd, 'run.sh'), 0o755)
    const { text } = await bench(cwd)
    expect(await text(fsWrite, { path: 'a/b/c.txt', content: 'one\ntwo\n' })).toBe('Created a/b/c.txt (8 bytes)')
    expect(fs.readFileSync(path.join(cwd, 'a/b/c.txt'), 'utf8')).toBe('one\ntwo\n')
    expect(await text(fsWrite, { path: 'run.sh', content: 'new' })).toBe('Replaced run.sh (3 bytes)')
    expect(fs.statSync(path.join(cwd, 'run.sh')).mode & 0o777).toBe(0o755)
    expect(fs.readdirSync(cwd).sort()).toEqual(['a', 'run.sh'])
  })

  it('writes through a link to where it leads, and leaves the link', async () => {
    const cwd = folderWith({ 'real.txt': 'old' })
    fs.symlinkSync('real.txt', path.join(cwd, 'link.txt'))
    fs.symlinkSync('later.txt', path.join(cwd, 'dangling.txt'))
    const { call } = await bench(cwd)
    await call(fsWrite, { path: 'link.txt', content: 'new' })
    await call(fsWrite, { path: 'dangling.txt', content: 'made' })
    expect(fs.readlinkSync(path.join(cwd, 'link.txt'))).toBe('real.txt')
    expect(fs.readFileSync(path.join(cwd, 'real.txt'), 'utf8')).toBe('new')
    expect(fs.readFileSync(path.join(cwd, 'later.txt'), 'utf8')).toBe('made')
  })

  it('goes where it led when it was asked about, not where it leads now', async () => {
    const cwd = folderWith({ 'in/file': 'in' })
    const outside = folderWith({ file: 'outside' })
    const { tape } = await bench(cwd)
    const context = { ...contextOf(cwd), tape }
    const write = fsWrite.input.parse({ path: 'in/file', content: 'changed' })
    const read = fsRead.input.parse({ path: 'in/file' })
    await fsWrite.access!(write, context)
    await fsRead.access!(read, context)
    fs.renameSync(path.join(cwd, 'in'), path.join(cwd, 'was'))
    fs.symlinkSync(outside, path.join(cwd, 'in'))
    await expect(fsWrite.run(write, context)).rejects.toThrow('moved or replaced by a link')
    await expect(fsRead.run(read, context)).rejects.toThrow('moved or replaced by a link')
    fs.rmSync(path.join(cwd, 'in'))
    fs.mkdirSync(path.join(cwd, 'in'))
    fs.symlinkSync(path.join(outside, 'file'), path.join(cwd, 'in/file'))
    await expect(fsWrite.run(write, context)).rejects.toThrow('link')
    await expect(fsRead.run(read, context)).rejects.toThrow('link')
    expect(fs.readFileSync(path.join(outside, 'file'), 'utf8')).toBe('outside')
  })

  it('never leaves the workspace while a folder is swapped for a link again and again', async () => {
    const cwd = folderWith({ 'in/deep/file': 'mine' })
    const outside = folderWith({ 'deep/file': 'theirs' })
    const { tape } = await bench(cwd)
    const context = { ...contextOf(cwd), tape }
    const policy = permissionPolicy({ cwd, yes: true })
    const swap = 'while :; do mv in was; ln -s "$0" in; rm in; mv was in; done'
    const swapper = spawn('bash', ['-c', swap, outside], { cwd, stdio: 'ignore' })
    const outcomes = { done: 0, refused: 0 }
    try {
      for (let i = 0; i < 20_000 && (outcomes.done < 40 || outcomes.refused < 40); i += 1) {
        const tool: AgentTool = i % 2 === 0 ? fsRead : fsWrite
        const input = tool.input.parse({ path: 'in/deep/file', content: 'mine' })
        const access = await tool.access!(input, context)
        if (access.kind === 'read' && access.paths.some((each) => each.startsWith(outside))) continue
        if (typeof policy.decide(tool, input, access) === 'object') continue
        const output = await tool.run(input, context).catch(() => undefined)
        if (tool === fsRead && output !== undefined) expect(output.output).toBe('mine')
        outcomes[output === undefined ? 'refused' : 'done'] += 1
      }
    } finally {
      const ended = once(swapper, 'exit')
      swapper.kill('SIGKILL')
      await ended
    }
    expect(Math.min(outcomes.done, outcomes.refused)).toBeGreaterThan(0)
    expect(fs.readFileSync(path.join(outside, 'deep/file'), 'utf8')).toBe('theirs')
    expect(fs.readdirSync(path.join(outside, 'deep'))).toEqual(['file'])
  })

  it('refuses a circle of links, a folder, and what lies below a file', async () => {
    const cwd = folderWith({ file: '', 'folder/x': '' })
    fs.symlinkSync('b', path.join(cwd, 'a'))
    fs.symlinkSync('a', path.join(cwd, 'b'))
    const { call } = await bench(cwd)
    await expect(call(fsWrite, { path: 'a', content: '' })).rejects.toThrow('circle of links')
    await expect(call(fsWrite, { path: 'folder', content: '' })).rejects.toThrow('is a folder')
    await expect(call(fsWrite, { path: 'file/x', content: '' })).rejects.toThrow('not a folder')
  })

  const canMount = spawnSync('bash', ['-c', 'unshare --mount true']).status === 0
  it.runIf(canMount)('says so when the disk is full or read-only, and leaves what was there', async () => {
    const cwd = folderWith({})
    const program = path.join(folderWith({}), 'write.mjs')
    const entry = `
      import { fsWrite } from './src/agent/tools/fs-write.ts'
      const [, , cwd, size] = process.argv
      const run = fsWrite.run({ path: 'kept', content: 'x'.repeat(Number(size)) }, { cwd })
      console.log(await run.then(({ output }) => output, (error) => error.message))`
    await build({
      stdin: { contents: entry, resolveDir: process.cwd() },
      outfile: program,
      bundle: true,
      platform: 'node',
      format: 'esm',
    })
    const script = `
      set -e; mount -t tmpfs -o size=64k none "$1"; cd "$1"; write() { "$2" "$3" "$1" "$4"; }
      write "$@" 5; write "$@" 1000000; ls -A; wc -c < kept
      mount -o remount,ro "$1"; write "$@" 6; wc -c < kept`
    const args = ['-c', 'exec unshare --mount bash -c "$@"', 'bash', script, 'bash', cwd, process.execPath, program]
    expect(execFileSync('bash', args, { encoding: 'utf8' }).split('\n')).toEqual([
      'Created kept (5 bytes)',
      'kept was not written: the disk is full. What was there before is still there',
      'kept',
      '5',
      'kept is on a file system that is read-only',
      '5',
      '',
    ])
  })

  it('says so when the folder is read-only', async () => {
    const cwd = folderWith({ 'shut/file': 'kept' })
    fs.chmodSync(cwd, 0o755)
    fs.chmodSync(path.join(cwd, 'shut'), 0o555)
    const { call } = await bench(cwd)
    // Root may write anywhere, so for a moment this process is nobody.
    const isRoot = process.getuid?.() === 0
    if (isRoot) process.seteuid!(65_534)
    try {
      await expect(call(fsWrite, { path: 'shut/file', content: '' })).rejects.toThrow('permission denied')
    } finally {
      if (isRoot) process.seteuid!(0)
      fs.chmodSync(path.join(cwd, 'shut'), 0o755)
    }
    expect(fs.readFileSync(path.join(cwd, 'shut/file'), 'utf8')).toBe('kept')
  })
})

describe('fs.edit', () => {
  it('replaces a text that is there once, also with $ in it', async () => {
    const cwd = folderWith({ 'a.ts': 'const a = 1\nconst b = 2\n' })
    const { text } = await bench(cwd)
    expect(await text(fsEdit, { path: 'a.ts', old_string: 'b = 2', new_string: 'b = "$& $1"' })).toBe(
      'Edited a.ts at line 2',
    )
    expect(fs.readFileSync(path.join(cwd, 'a.ts'), 'utf8')).toBe('const a = 1\nconst b = "$& $1"\n')
  })

  it('refuses a text that is there twice, unless all are meant', async () => {
    const cwd = folderWith({ 'a.ts': 'x\ny\nx\n' })
    const { call, text } = await bench(cwd)
    const edit = { path: 'a.ts', old_string: 'x', new_string: 'z' }
    await expect(call(fsEdit, edit)).rejects.toThrow('old_string is in a.ts 2 times, on lines 1, 3')
    expect(await text(fsEdit, { ...edit, replace_all: true })).toBe('Edited a.ts at line 1 and 1 more places')
    expect(fs.readFileSync(path.join(cwd, 'a.ts'), 'utf8')).toBe('z\ny\nz\n')
  })

  it('shows the nearest lines for a text that is not there', async () => {
    const { call } = await bench(folderWith({ 'a.ts': 'import fs\n\nfunction load(file: string) {\n  return 1\n}\n' }))
    const edit = call(fsEdit, { path: 'a.ts', old_string: 'function load(path: string) {', new_string: 'x' })
    await expect(edit).rejects.toMatchObject({
      message: 'old_string is not in a.ts',
      hint: 'The nearest lines are:\n3: function load(file: string) {',
    })
  })

  it('keeps the line ends of Windows and a mark at the beginning', async () => {
    const cwd = folderWith({ 'a.txt': '\ufeffone\r\ntwo\r\nthree\r\n' })
    const { call } = await bench(cwd)
    await call(fsEdit, { path: 'a.txt', old_string: 'one\ntwo', new_string: '1\n2' })
    expect(fs.readFileSync(path.join(cwd, 'a.txt'), 'utf8')).toBe('\ufeff1\r\n2\r\nthree\r\n')
  })

  it('does not touch what is not UTF-8', async () => {
    const bytes = Buffer.from([0x61, 0xe4, 0x62])
    const cwd = folderWith({ latin: bytes })
    const { call } = await bench(cwd)
    await expect(call(fsEdit, { path: 'latin', old_string: 'a', new_string: 'b' })).rejects.toThrow('not UTF-8')
    expect(fs.readFileSync(path.join(cwd, 'latin')).equals(bytes)).toBe(true)
  })

  it('takes turns: edits of one file at the same time are all there', async () => {
    const count = 40
    const cwd = folderWith({ 'a.txt': Array.from({ length: count }, (_, i) => `<${i}>`).join('\n') })
    fs.symlinkSync('a.txt', path.join(cwd, 'b.txt'))
    const { call } = await bench(cwd)
    await Promise.all(
      Array.from({ length: count }, (_, i) =>
        call(fsEdit, { path: i % 2 ? 'a.txt' : 'b.txt', old_string: `<${i}>`, new_string: `(${i})` }),
      ),
    )
    const expected = Array.from({ length: count }, (_, i) => `(${i})`).join('\n')
    expect(fs.readFileSync(path.join(cwd, 'a.txt'), 'utf8')).toBe(expected)
  })
})

describe('fs.list and fs.search', () => {
  it('lists a folder with sizes and links, without what nobody reads', async () => {
    const cwd = folderWith({ 'b.txt': 'abc', 'a/c.txt': '', '.git/HEAD': '', 'node_modules/x/y': '' })
    fs.symlinkSync('/etc', path.join(cwd, 'out'))
    const { text } = await bench(cwd)
    expect(await text(fsList, {})).toBe('a/\nb.txt (3 bytes)\nout -> /etc')
    expect(await text(fsList, { depth: 3 })).toBe('a/\na/c.txt (0 bytes)\nb.txt (3 bytes)\nout -> /etc')
    expect(await text(fsList, { all: true, limit: 2 })).toBe(
      '.git/\na/\n[only the first 2; name a folder in it, or a glob]',
    )
    expect(await text(fsList, { glob: '**/*.txt' })).toBe('a/c.txt\nb.txt')
    expect(await text(fsList, { glob: '*.{txt,md}' })).toBe('b.txt')
  })

  it('searches what git knows, by expression or as it is written', async () => {
    const cwd = folderWith({ 'a.ts': 'one\nfoo(bar)\n', 'b.md': 'foo', 'out/c.ts': 'foo', '.gitignore': 'out\n' })
    fs.writeFileSync(path.join(cwd, 'data.bin'), Buffer.from('foo\0foo'))
    fs.symlinkSync('a.ts', path.join(cwd, 'link.ts'))
    const { text, call } = await bench(cwd)
    expect(await text(fsSearch, { pattern: 'foo' })).toBe('a.ts:2: foo(bar)\nb.md:1: foo\nout/c.ts:1: foo')
    execFileSync('git', ['init', '-q'], { cwd })
    expect(await text(fsSearch, { pattern: 'foo' })).toBe('a.ts:2: foo(bar)\nb.md:1: foo')
    expect(await text(fsSearch, { pattern: 'foo', all: true })).toContain('out/c.ts:1: foo')
    expect(await text(fsSearch, { pattern: 'foo(bar)', literal: true })).toBe('a.ts:2: foo(bar)')
    expect(await text(fsSearch, { pattern: '^FOO$', ignore_case: true })).toBe('b.md:1: foo')
    expect(await text(fsSearch, { pattern: String.raw`foo\(\w+\)\-?\_?` })).toBe('a.ts:2: foo(bar)')
    expect(await text(fsSearch, { pattern: 'foo', glob: '**/*.ts' })).toBe('a.ts:2: foo(bar)')
    expect(await text(fsSearch, { pattern: 'foo', path: 'b.md' })).toBe('b.md:1: foo')
    expect(await text(fsSearch, { pattern: 'nothing' })).toMatch(/^\[nothing found in \d files\]$/)
    expect(await text(fsSearch, { pattern: 'foo', limit: 1 })).toMatch(/^a\.ts:2: foo\(bar\)\n\[only the first 1 lines/)
    await expect(call(fsSearch, { pattern: '(' })).rejects.toThrow('The pattern cannot be read')
    await expect(call(fsSearch, { pattern: 'x', path: 'none' })).rejects.toThrow('none is not there')
  })

  it('a catastrophic expression is stopped when the turn is, and holds up nobody meanwhile', async () => {
    const cwd = folderWith({ 'a.txt': 'found aab\n', 'b.txt': `${'a'.repeat(40_000)}!\n` })
    const { call } = await bench(cwd)
    const abort = new AbortController()
    const run = call(fsSearch, { pattern: '^(a+)+$' }, { signal: abort.signal })
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
      if (turns === 20) abort.abort()
    }, 10)
    await expect(run).rejects.toThrow('aborted')
    clearInterval(timer)
    expect(turns).toBeGreaterThanOrEqual(20)
  })

  it('gives what it has found when time is up, and says where it was', async () => {
    const cwd = folderWith({ 'a.txt': 'aaa\n', 'b.txt': `${'a'.repeat(40_000)}!\n`, 'c.txt': 'aaa\n' })
    const job = { folder: cwd, files: ['a.txt', 'b.txt', 'c.txt'], source: '^(a+)+$', flags: 'u', maxFileBytes: 1e6 }
    const bounds = { limit: 10, timeoutMs: 2_000, signal: new AbortController().signal }
    expect(await searchFiles(job, bounds)).toMatchObject({
      hits: [{ file: 'a.txt', line: 1, text: 'aaa' }],
      stopped: 'time',
      at: 'b.txt',
    })
  })

  it('passes over what is large, gone or a pipe, and shows of a long line what is around the match', async () => {
    const cwd = folderWith({ large: 'foo\n'.repeat(2_000_000), long: `${'x'.repeat(5_000)}foo${'y'.repeat(5_000)}` })
    makePipe(path.join(cwd, 'pipe'))
    const { text } = await bench(cwd)
    expect(await text(fsSearch, { pattern: 'foo' })).toMatch(/^long:1: …x+fooy+…\n\[over 4 MB: 1 file left out\]$/)
  })

  it('does not show lines of files that may not be read, or only after a question', async () => {
    const cwd = folderWith({ a: 'token', '.env': 'token', 'keys/b': 'token', 'ask/c': 'token' })
    const outside = folderWith({ d: 'token', 'e.pem': 'token' })
    const deny = ['fs.read **/.env', 'fs.search keys/**', '* **/*.pem', `* ${outside}/**/*.pem`]
    const permissions = permissionPolicy({ cwd, deny, ask: ['fs.read ask/**'] })
    const { text } = await bench(cwd)
    expect(await text(fsSearch, { pattern: 'token' }, { permissions })).toBe('a:1: token')
    expect(await text(fsSearch, { pattern: 'token', path: 'ask' }, { permissions })).toBe('[nothing found in 1 files]')
    expect(await text(fsSearch, { pattern: 'token', path: outside }, { permissions })).toBe('d:1: token')
    expect(await text(fsSearch, { pattern: 'token' })).toMatch(/^\.env:1: token\na:1/)
  })
})
