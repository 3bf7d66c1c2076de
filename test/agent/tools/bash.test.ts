import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { withoutModelKeys } from '../../../src/agent/tools/bash.ts'
import { bash, blobRead } from '../../../src/agent/tools/index.ts'
import { temporaryFolder } from '../../support/workspace.ts'
import { bench } from './calling.ts'
import { isAlive, numberIn } from '../../support/processes.ts'

const onLinux = process.platform === 'linux'

describe('a command', () => {
  it('gives its exit status, and its output and errors in the order they were written', async () => {
    const { call } = await bench(temporaryFolder())
    const { output, isError } = await call(bash, {
      command: 'for i in 1 2 3; do echo out $i; echo err $i >&2; done; exit 7',
    })
    expect(isError).toBeUndefined()
    expect(output).toMatch(/^Exit code: 7\nWall time: [\d.]+ s\nOutput:\nout 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3$/)
  })

  it('can open /dev/stdout and /dev/stderr', async () => {
    const { text } = await bench(temporaryFolder())
    expect(await text(bash, { command: 'echo one > /dev/stderr; echo two > /dev/stdout' })).toMatch(/one\ntwo$/)
  })

  it('has no input and no terminal to wait for', async () => {
    const { text } = await bench(temporaryFolder())
    const command = 'cat; read -r x || echo no input; (exec 3</dev/tty) 2>/dev/null || echo no terminal'
    expect(await text(bash, { command })).toMatch(/Output:\nno input\nno terminal$/)
  })

  it('is shown as it runs, and whole at its end, also without a last newline', async () => {
    const { text } = await bench(temporaryFolder())
    const live: string[] = []
    const output = await text(
      bash,
      { command: 'printf héé; printf "\\n%s" end' },
      { onOutput: (part) => live.push(part) },
    )
    expect(output).toMatch(/Output:\nhéé\nend$/)
    expect(live.join('')).toBe('héé\nend')
  })

  it('that closes its output runs to its end', async () => {
    const { text } = await bench(temporaryFolder())
    expect(await text(bash, { command: 'exec >&- 2>&-; sleep 0.2; exit 3' })).toMatch(
      /^Exit code: 3\n[^]*\(no output\)$/,
    )
  })

  it('that cannot be read by the shell says so', async () => {
    const { text } = await bench(temporaryFolder())
    expect(await text(bash, { command: 'echo "unclosed' })).toMatch(/^Exit code: [12]\n[^]*unexpected EOF/)
  })

  it('with a null byte, or too long for the system, is refused with a reason', async () => {
    const { call } = await bench(temporaryFolder())
    await expect(call(bash, { command: 'echo a\0b' })).rejects.toThrow('null byte')
    await expect(call(bash, { command: `: ${'x'.repeat(200_000)}` })).rejects.toThrow('too long')
  })

  it('in a folder that was deleted is refused with a reason', async () => {
    const cwd = path.join(temporaryFolder(), 'gone')
    const { call } = await bench(cwd)
    await expect(call(bash, { command: 'true' })).rejects.toThrow(`The folder ${cwd} is not there any more`)
  })

  it('that deletes its own folder ends well', async () => {
    const cwd = path.join(temporaryFolder(), 'own')
    fs.mkdirSync(cwd)
    const { text } = await bench(cwd)
    expect(await text(bash, { command: `rmdir "${cwd}"; echo done` })).toMatch(/^Exit code: 0\n[^]*done$/)
  })

  it('does not see the keys of models', async () => {
    const keys = { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'b', AZURE_OPENAI_API_KEY: 'c', ANTHROPIC_AUTH_TOKEN: 'd' }
    const others = { AZURE_CLIENT_SECRET: 'e', GITHUB_TOKEN: 'f', PATH: 'g' }
    expect(withoutModelKeys({ ...keys, ...others })).toEqual(others)
    const { text } = await bench(temporaryFolder())
    process.env['ANTHROPIC_API_KEY'] = 'secret-of-the-agent'
    try {
      expect(await text(bash, { command: 'env' })).not.toContain('secret-of-the-agent')
    } finally {
      delete process.env['ANTHROPIC_API_KEY']
    }
  })
})

describe('output that is too much', () => {
  it('is kept whole, with its beginning and end in the context and pages byte for byte [T25]', async () => {
    const { text, call } = await bench(temporaryFolder())
    const command = 'seq 1 20000 | sed "s/$/ äöü/"'
    const output = await text(bash, { command })
    expect(Buffer.byteLength(output)).toBeLessThan(17 * 1024)
    expect(output).toMatch(/Output:\n1 äöü\n2 äöü\n[^]*\n20000 äöü$/)
    const sha256 = /all of it: blob\.read sha256=([0-9a-f]{64})/.exec(output)?.[1]
    const pages: Buffer[] = []
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const { output: page } = await call(blobRead, { sha256, offset, length: 7_001 })
      const { content, next_offset, encoding } = page as { content: string; next_offset?: number; encoding: string }
      expect(encoding).toBe('utf8')
      pages.push(Buffer.from(content))
      offset = next_offset
    }
    const expected = execFileSync('bash', ['-c', command], { maxBuffer: 1 << 24 })
    expect(Buffer.concat(pages).equals(expected)).toBe(true)
  })

  it('of a gigabyte leaves its beginning, its end and its size, in bounded memory [T25]', async () => {
    const { text } = await bench(temporaryFolder())
    const before = process.memoryUsage().rss
    let live = 0
    const output = await text(
      bash,
      { command: 'echo first; yes | head -c 1073741824; echo last', timeout: 600 },
      { onOutput: (part) => (live += part.length) },
    )
    expect(output).toMatch(/Output:\nfirst\ny\n/)
    expect(output).toMatch(/y\nlast$/)
    expect(output).toMatch(/of 1073741835 bytes left out; its beginning and end, \d+ bytes: blob\.read/)
    expect(process.memoryUsage().rss - before).toBeLessThan(512 * 1024 * 1024)
    expect(live).toBeLessThan(2 * 1024 * 1024)
  })

  it('that is no text is named by its type and size, and kept', async () => {
    const { text, call, tape } = await bench(temporaryFolder())
    const output = await text(bash, { command: String.raw`printf '\211PNG\r\n\032\n\000\001\002\377'` })
    const sha256 = /\[binary output: image\/png, 12 bytes; all of it: blob\.read sha256=([0-9a-f]{64})\]$/.exec(
      output,
    )?.[1]
    const { output: page } = await call(blobRead, { sha256 })
    expect(page).toMatchObject({ encoding: 'base64', end: true, bytes: 12 })
    expect(Buffer.from((page as { content: string }).content, 'base64').equals(await tape.readBlob(sha256!))).toBe(true)
  })

  it('is told of even where it cannot be kept', async () => {
    const { tape, text } = await bench(temporaryFolder())
    const full = Object.create(tape, {
      store: { value: { putBlob: () => Promise.reject(new Error('the disk is full')) } },
    }) as typeof tape
    const output = await text(bash, { command: 'seq 1 20000' }, { tape: full })
    expect(output).toMatch(/Exit code: 0[^]*it could not be kept: the disk is full[^]*\n20000$/)
  })
})

describe('nothing that a command starts outlives its call', () => {
  it('one that never ends is ended with its children when time is up', async () => {
    const cwd = temporaryFolder()
    const { call } = await bench(cwd)
    const run = call(bash, { command: 'sleep 1000 & echo $! > pid; while :; do sleep 0.1; done', timeout: 1 })
    const pid = await numberIn(path.join(cwd, 'pid'))
    const { output, isError } = await run
    expect(isError).toBe(true)
    expect(output).toMatch(/Command timed out after 1 s and was ended with all that it had started$/)
    expect(isAlive(pid)).toBe(false)
  })

  it('one that ignores SIGTERM is killed', async () => {
    const cwd = temporaryFolder()
    const { text } = await bench(cwd)
    const command = `trap '' TERM HUP INT; echo $$ > pid; while :; do sleep 0.1; done`
    expect(await text(bash, { command, timeout: 1 })).toMatch(/^Exit code: none \(SIGKILL\)[^]*timed out/)
    expect(isAlive(await numberIn(path.join(cwd, 'pid')))).toBe(false)
  })

  it('one that may clean up after itself does', async () => {
    const cwd = temporaryFolder()
    const { text } = await bench(cwd)
    const command = `trap 'echo cleaned > file; exit 9' TERM; echo; while :; do sleep 0.05; done`
    expect(await text(bash, { command, timeout: 1 })).toContain('timed out')
    expect(fs.readFileSync(path.join(cwd, 'file'), 'utf8')).toBe('cleaned\n')
  })

  it('cancelling ends it at once and keeps what it had said', async () => {
    const cwd = temporaryFolder()
    const { call } = await bench(cwd)
    const abort = new AbortController()
    const run = call(
      bash,
      { command: 'echo $$ > pid; echo begun; sleep 1000' },
      { signal: abort.signal, onOutput: () => abort.abort() },
    )
    const { output, isError } = await run
    expect(isError).toBe(true)
    expect(output).toMatch(/Output:\nbegun\nCommand aborted$/)
    expect(isAlive(await numberIn(path.join(cwd, 'pid')))).toBe(false)
  })

  it('a call that was cancelled before it began does not run on', async () => {
    const { text } = await bench(temporaryFolder())
    expect(await text(bash, { command: 'sleep 1000' }, { signal: AbortSignal.abort() })).toMatch(/Command aborted$/)
  })

  it('a child in the background that holds the output does not hold up the call', async () => {
    const cwd = temporaryFolder()
    const { text } = await bench(cwd)
    const output = await text(bash, { command: 'sleep 1000 & echo $! > pid; echo done' })
    expect(output).toMatch(/^Exit code: 0\n[^]*done\n\[left running and ended with the call: \d+ sleep 1000\]$/)
    expect(isAlive(await numberIn(path.join(cwd, 'pid')))).toBe(false)
  })

  it('what a command does not wait for may finish what it was given', async () => {
    const cwd = temporaryFolder()
    const { text } = await bench(cwd)
    await text(bash, { command: 'seq 1 50000 > >(cat > copy)' })
    expect(fs.readFileSync(path.join(cwd, 'copy'), 'utf8')).toMatch(/\n50000\n$/)
  })

  it.runIf(onLinux)('a daemon that forks twice and leaves the session is ended too', async () => {
    const cwd = temporaryFolder()
    const { text } = await bench(cwd)
    const daemon = `setsid bash -c '(setsid bash -c "echo \\$\\$ > pid; exec sleep 1000" </dev/null >/dev/null 2>&1 &) ; exit 0'`
    const output = await text(bash, { command: `${daemon}; while [ ! -s pid ]; do sleep 0.02; done; echo started` })
    expect(output).toMatch(/started\n\[left running and ended with the call: \d+ sleep 1000\]$/)
    expect(isAlive(await numberIn(path.join(cwd, 'pid')))).toBe(false)
  })

  it.runIf(onLinux)('a fork bomb under ulimit ends with the call', async () => {
    const cwd = temporaryFolder()
    fs.chmodSync(cwd, 0o777)
    const { text } = await bench(cwd)
    // The limit counts all processes of a user, and does not bind root.
    const bomb = `ulimit -u 60; bomb() { bomb | bomb & }; bomb; sleep 1000`
    const isRoot = process.getuid?.() === 0
    const command = isRoot ? `setpriv --reuid=64123 --regid=64123 --clear-groups bash -c '${bomb}'` : bomb
    expect(await text(bash, { command, timeout: 2 })).toContain('timed out')
    expect(await text(bash, { command: 'ps -A -o args= | grep -c "[b]omb()"; true' })).toMatch(/Output:\n0$/)
  })
})
