// What stands in the way of `baton up`: each gets a clear line, and nothing is lost.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createClient, type ProblemError } from '../../src/client/index.ts'
import { isRunning } from '../../src/system/index.ts'
import { startNats } from '../support/nats.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { announced, command, ended, up } from './up.ts'

const said = (content: string) => ({ kind: 'message' as const, payload: { role: 'user' as const, content } })

test("a dead server's process number that is another program's by now neither blocks nor ends anything [D1]", async () => {
  const folder = temporaryFolder()
  const other = spawn('sleep', ['1000'], { stdio: 'ignore' })
  onTestFinished(() => void other.kill('SIGKILL'))
  const dead = await up(folder, '--port', '0')
  const gone = ended(dead.child)
  dead.child.kill('SIGKILL')
  await gone
  const file = path.join(folder, '.baton/server/server.json')
  fs.writeFileSync(file, JSON.stringify({ url: 'http://127.0.0.1:9', pid: other.pid, started: '2026-01-01T00:00:00Z' }))
  const none = await ended(command(folder, ['down']))
  expect([none.code, none.err]).toEqual([4, expect.stringContaining('No server of this workspace is running')])
  const { child, up: server } = await up(folder, '--port', '0')
  const closed = ended(child)
  expect(server.pid).toBe(child.pid)
  expect(JSON.parse((await ended(command(folder, ['down', '--json']))).out)).toEqual({ ended: true, pid: child.pid })
  expect((await closed).code).toBe(0)
  expect(isRunning(other.pid!)).toBe(true)
})

/** A folder whose server has written an entry and has ended. */
async function servedOnce(): Promise<string> {
  const folder = temporaryFolder()
  const { child, up: server } = await up(folder, '--port', '0')
  const closed = ended(child)
  await createClient(server).tapeAppend({ tape: 'main', entries: [said('kept')] })
  child.kill('SIGTERM')
  await closed
  return folder
}

test('a workspace of a newer version is refused in a sentence, and stays as it is [D1]', async () => {
  const folder = await servedOnce()
  const manifest = path.join(folder, '.baton/tape/manifest.json')
  fs.writeFileSync(manifest, JSON.stringify({ format: 99 }))
  const refused = await ended(command(folder, ['up', '--port', '0', '--no-supervisor']))
  expect([refused.code, refused.out, refused.err]).toEqual([
    1,
    '',
    expect.stringMatching(
      /^baton: .* was written by a newer Baton \(format 99.*\n {2}Nothing was written\. Upgrade.*\n$/,
    ),
  ])
  expect(fs.readFileSync(manifest, 'utf8')).toBe('{"format":99}')
  expect(fs.readFileSync(path.join(folder, '.baton/tape/main.jsonl'), 'utf8')).toContain('kept')
})

test.runIf(process.platform === 'linux').each([
  ['postgres://ana:se:cr@t@HOST/team', 'postgres://ana:…@HOST/team'],
  ['nats://se-cr-t@HOST/team', 'nats://…@HOST/team'],
])('the secret of %s is not in the list of processes while the store is reached [E1]', async (address, hidden) => {
  const server = net.createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const reached = once(server, 'connection') as Promise<[net.Socket]>
  const host = `127.0.0.1:${port}`
  const child = command(temporaryFolder(), ['init', '--store', address.replace('HOST', host)])
  onTestFinished(() => void child.kill('SIGKILL'))
  const [socket] = await reached
  const shown = fs.readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')
  socket.destroy()
  expect(shown).toContain(`init --store ${hidden.replace('HOST', host)}`)
})

test('an agent that cannot be started is a problem in words, with what to do [D3]', async () => {
  const { up: server } = await up(temporaryFolder(), '--port', '0')
  const problem = await createClient({ ...server, attempts: 1 })
    .supervisedRun({ agent: 'nobody', name: 'x' })
    .catch((error: unknown) => (error as ProblemError).problem)
  expect(problem).toMatchObject({
    code: 'refused',
    detail: expect.stringMatching(/^x did not start: [^{}]*nobody[^{}]*$/) as string,
    hint: expect.stringMatching(/claude/) as string,
  })
})

test('the server ends soon also when the servers of its store are away [D1, E2]', async () => {
  const servers = await startNats()
  onTestFinished(() => servers.stop())
  const { child } = await up(temporaryFolder(), '--port', '0', '--store', servers.address('team'))
  await servers.kill(0)
  const end = ended(child)
  const start = performance.now()
  child.kill('SIGTERM')
  expect((await end).code).toBe(0)
  // It gives up after four seconds; a busy machine may need some more to end a process.
  expect(performance.now() - start).toBeLessThan(15_000)
})

test('a server that is told to end as soon as it has told its address ends in order [D1]', async () => {
  for (let n = 0; n < 8; n++) {
    const { child } = await up(temporaryFolder(), '--port', '0')
    const end = ended(child)
    child.kill('SIGTERM')
    expect(await end).toMatchObject({ code: 0, err: '' })
  }
})

test('a server whose store answers waits for what it has started, however long that takes to end [D1]', async () => {
  const { child, up: server } = await up(temporaryFolder(), '--port', '0')
  const { pid } = await createClient(server).demoStart({})
  onTestFinished(() => void (isRunning(pid) && process.kill(pid, 'SIGKILL')))
  process.kill(pid, 'SIGSTOP')
  const end = ended(child)
  child.kill('SIGTERM')
  const [told] = (await once(child.stderr!, 'data')) as [string]
  expect(told).toContain('waits for what it has started to end')
  process.kill(pid, 'SIGCONT')
  expect((await end).code).toBe(0)
  expect(isRunning(pid)).toBe(false)
})

test.each([
  ['relay', ['--no-supervisor']],
  ['supervisor', []],
])('a mistake in the settings of the %s is told instead of an address [D1]', async (section, options) => {
  const folder = temporaryFolder()
  fs.writeFileSync(path.join(folder, 'baton.config.json'), JSON.stringify({ [section]: { mistake: 1 } }))
  const refused = await ended(command(folder, ['up', '--port', '0', ...options]))
  expect([refused.code, refused.out]).toEqual([2, ''])
  expect(refused.err).toMatch(new RegExp(`^baton: .*${section} has no field "mistake"\\n$`))
  expect(fs.existsSync(path.join(folder, '.baton/server/server.json'))).toBe(false)
})

/** A disk of its own over the folder `$0`, with what was there before, for the command behind it. */
const disk = 'cp -a "$0" "$0.before" && mount -t tmpfs -o size=512k none "$0" && cp -a "$0.before/." "$0"'
const fill = '(dd if=/dev/zero of="$0/ballast" bs=4k 2>/dev/null || true)'
const canMount = spawnSync('unshare', ['-rm', 'true']).status === 0

function within(folder: string, ...steps: string[]): string[] {
  return ['unshare', '-rm', 'sh', '-c', [disk, ...steps, 'cd "$0"', 'exec "$@"'].join(' && '), folder]
}

test.runIf(canMount)(
  'on a disk that fills up a request is refused with what to do, and the server continues when there is room [D1, D3]',
  async () => {
    const folder = temporaryFolder()
    const args = ['up', '--json', '--no-supervisor', '--port', '0']
    const { child, up: server } = await announced(command(folder, args, within(folder)))
    const closed = ended(child)
    const client = createClient({ ...server, attempts: 1 })
    const append = (text: string) => client.tapeAppend({ tape: 'main', entries: [said(text)] })
    await append('first')
    // The disk is there for the server only.
    const ballast = path.join('/proc', String(server.pid), 'root', folder, 'ballast')
    expect(() => fs.writeFileSync(ballast, Buffer.alloc(1_000_000))).toThrow('ENOSPC')
    const text = 'x'.repeat(20_000)
    await expect(append(text)).rejects.toMatchObject({
      problem: { code: 'storage', hint: expect.stringContaining('disk is full') as string },
    })
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    fs.rmSync(ballast)
    await append(text)
    const { entries } = await client.tapeRead({ tape: 'main' })
    expect(entries.map(({ payload }) => (payload as { content: string }).content)).toEqual(['first', text])
    child.kill('SIGTERM')
    const { code, err } = await closed
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/^baton: Cannot use .*ENOSPC.*\n {2}The disk is full\. .*\n$/),
    ])
  },
)

test.runIf(canMount).each([
  ['full', fill, 'The disk is full.'],
  ['read-only', 'mount -o remount,ro "$0"', 'read-only file system'],
])('on a disk that is %s it says so in a line [D1]', async (_what, step, words) => {
  const folder = await servedOnce()
  const args = ['up', '--no-supervisor', '--port', '0']
  const refused = await ended(command(folder, args, within(folder, step)))
  expect([refused.code, refused.out]).toEqual([1, ''])
  expect(refused.err).toMatch(/^baton: Cannot use .*\n {2}.*\n$/)
  expect(refused.err).toContain(words)
})
