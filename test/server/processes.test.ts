// The server as a process: it is started, found, flooded, killed and ended.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { openFileStore } from '../../src/store/index.ts'
import { team } from '../relay/team.ts'
import { isFull } from '../support/full.ts'
import { collect, temporaryFolder } from '../support/workspace.ts'
import { announced, command, ended, up } from './up.ts'

test('baton up is found by a second one, ends with baton down, and a dead one blocks nobody [D1]', async () => {
  const folder = temporaryFolder()
  const first = await up(folder, '--port', '0')
  expect(await (await fetch(`${first.up.url}/healthz`)).json()).toEqual({ status: 'ok' })
  const second = await ended(command(folder, ['up', '--json']))
  expect([second.code, JSON.parse(second.out)]).toEqual([0, first.up])
  const said = await ended(command(folder, ['up']))
  expect(said.out).toMatch(/already, as process \d+\.\n\s+http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]{20,}/)
  const busy = await ended(command(temporaryFolder(), ['up', '--port', new URL(first.up.url).port]))
  expect([busy.code, busy.err]).toEqual([1, expect.stringMatching(/^baton: Port \d+ is taken\n {2}Choose another/)])

  first.child.kill('SIGKILL')
  await new Promise((resolve) => first.child.on('close', resolve))
  expect((await ended(command(folder, ['down']))).code).toBe(4)
  const third = await up(folder, '--port', '0')
  expect(third.up.token).toBe(first.up.token)
  const closed = ended(third.child)
  expect((await ended(command(folder, ['down', '--json']))).code).toBe(0)
  expect((await closed).code).toBe(0)
  const beyond = await ended(command(folder, ['up', '--host', '0.0.0.0']))
  expect([beyond.code, beyond.err]).toEqual([2, expect.stringContaining('--cert and --key')])
})

test('a workspace that the user names is theirs for the server too: what an agent asks there waits for a person [D10]', async () => {
  const folder = temporaryFolder()
  const distrusting = ['env', '-u', 'BATON_TRUST']
  const options = ['up', '--json', '--no-supervisor', '--port', '0']
  const server = await announced(command(folder, options, distrusting))
  const asking = command(folder, ['relay', 'ask', 'writer', 'human', 'May I?'], distrusting)
  onTestFinished(() => void asking.kill())
  const client = createClient(server.up)
  await expect
    .poll(() => client.waitingList({}), { timeout: 30_000 })
    .toMatchObject({ items: [{ kind: 'escalation', title: 'May I?', from: 'writer' }] })
})

/** Fifty servers take a while on a busy machine. */
const limit = isFull ? { timeout: 1_800_000 } : {}

test(
  'killed with -9 under load, nothing acknowledged is lost, a key repeats its answer and readers see no gap [D3, D4]',
  limit,
  async () => {
    const folder = temporaryFolder()
    const rounds = isFull ? 50 : 3
    const acknowledged: string[] = []
    const seen: number[] = []
    let last = 0
    let unanswered: { key: string; text: string } | undefined
    for (let round = 0; round < rounds; round++) {
      const { child, up: server } = await up(folder, '--port', '0')
      const client = createClient({ ...server, attempts: 1 })
      const append = (text: string, key: string) =>
        client.tapeAppend(
          { tape: 'main', entries: [{ kind: 'message', payload: { role: 'user', content: text } }] },
          { idempotencyKey: key },
        )
      if (unanswered !== undefined) {
        // Sent again after the crash: written before it or now, but once.
        const { key, text } = unanswered
        const again = await append(text, key)
        expect((await append(text, key)).entries).toEqual(again.entries)
        acknowledged.push(text)
      }
      const stop = new AbortController()
      const reading = (async () => {
        for await (const event of client.live({ tapes: { main: last }, signal: stop.signal })) {
          if (event.type !== 'entry') continue
          seen.push(event.entry.id)
          last = event.entry.id
        }
      })()
      const state = { killed: false }
      const writers = [0, 1, 2, 3].map(async (writer) => {
        for (let n = 0; !state.killed; n++) {
          const [key, text] = [`${round}-${writer}-${n}`, `text ${round} ${writer} ${n}`]
          try {
            await append(text, key)
            acknowledged.push(text)
          } catch (error) {
            if (!state.killed) throw error
            if (writer === 0) unanswered = { key, text }
          }
        }
      })
      await expect.poll(() => acknowledged.length).toBeGreaterThan((round + 1) * 40)
      await expect.poll(() => seen.length).toBeGreaterThan(round * 20)
      state.killed = true
      child.kill('SIGKILL')
      await Promise.all(writers)
      stop.abort()
      await reading
    }
    const store = await openFileStore(path.join(folder, '.baton'))
    const stored = (await collect(store.read('main'))).map(({ payload }) => (payload as { content: string }).content)
    await store.close()
    expect(new Set(stored).size).toBe(stored.length)
    const kept = new Set(stored)
    expect(acknowledged.filter((text) => !kept.has(text))).toEqual([])
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, i) => i + 1))
  },
)

test('the server looks after the relay: what is overdue ends although nobody serves or watches [D1]', async () => {
  const folder = temporaryFolder()
  fs.writeFileSync(path.join(folder, 'baton.config.json'), JSON.stringify({ relay: team }))
  const { child, up: server } = await up(folder, '--port', '0')
  const client = createClient(server)
  await client.relayAsk({
    from: 'generator',
    to: 'researcher',
    summary: 'How large?',
    missing: ['size'],
    timeoutMs: 50,
  })
  const ends = async () => (await client.relayHistory({})).events.filter(({ type }) => type === 'answered')
  await expect.poll(ends, { timeout: 30_000 }).toHaveLength(1)
  child.kill('SIGTERM')
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
})

test('malformed HTTP gets an answer or a closed connection, and the server goes on [D3]', async () => {
  const folder = temporaryFolder()
  const { child, up: server } = await up(folder, '--port', '0')
  const port = Number(new URL(server.url).port)
  const host = `127.0.0.1:${port}`
  const bearer = `Authorization: Bearer ${server.token}`
  const shapes = [
    'GET / HTTP/1.1\r\n\r\n',
    `GET /v1/tapes HTTP/9.9\r\nHost: ${host}\r\n\r\n`,
    `GET /v1/tapes/%ff%fe HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\n\r\n`,
    `GET /v1/tapes/../../etc/passwd HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\n\r\n`,
    `GET //evil HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\n\r\n`,
    `GET http://evil.example/v1/tapes HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\n\r\n`,
    `POST /v1/tapes/a/entries HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `POST /v1/tapes/a/entries HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\nContent-Length: -1\r\n\r\n`,
    `POST /v1/tapes/a/entries HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`,
    `POST /v1/tapes/a/entries HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"entries`,
    `GET /v1/tapes HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\n${bearer}\r\n\r\n`,
    `GET /v1/tapes HTTP/1.1\r\nHost: ${host}\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`,
    `OPTIONS * HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    '\u0000\u0001\u0002\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    `CONNECT evil.example:443 HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `BREW /v1/tapes HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  ]
  const requests = Array.from({ length: isFull ? 2_000 : 68 }, (_, n) => {
    const shape = shapes[n % shapes.length]!
    // Every other round cuts the request short somewhere.
    return Math.floor(n / shapes.length) % 2 === 0 ? shape : shape.slice(0, (n * 7) % shape.length)
  })
  for (const request of requests) {
    const answer = await raw(port, request)
    expect([request.slice(0, 80), answer.startsWith('HTTP/1.1 5')]).toEqual([request.slice(0, 80), false])
    expect(answer).not.toContain(folder)
    expect(answer).not.toContain(server.token)
  }
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  expect(fs.existsSync(path.join(folder, '.baton', 'server', 'token'))).toBe(true)
  expect(fs.statSync(path.join(folder, '.baton', 'server', 'token')).mode & 0o777).toBe(0o600)
  child.kill('SIGTERM')
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
})

/** Sends bytes, says that no more will come, and returns what was answered until the connection closed. */
function raw(port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = net.connect(port, '127.0.0.1', () => socket.end(request, 'latin1'))
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text))
    socket.on('error', () => undefined).on('close', () => resolve(answer))
  })
}
