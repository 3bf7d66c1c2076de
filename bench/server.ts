// npm run bench server [-- --quick]
//
// What the server costs over the library: durable appends over HTTP, many readers of one live stream, contexts under that load, and
// the start of a hook. The server is `baton up` as it ships, in a process of its own; so is every client. A client speaks HTTP over
// bare sockets with prepared bytes, so that it needs about a third of the server's time and is not what is measured. What counts are the
// ratios within one run; the variants are measured turn by turn, and each ratio is the median over the rounds.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openFileStore } from '../src/store/index.ts'
import { Tape } from '../src/tape/index.ts'
import { among, bench, callers, child, folder, median, quick, share } from './relay-bench.ts'
import type { Section } from './table.ts'

const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const rounds = quick ? 3 : 9
const appends = quick ? 3_000 : 20_000
const readers = 200
const perSecond = 1_000
const seconds = quick ? 5 : 30
const contextEntries = 200
const starts = quick ? 7 : 31

const entry = { kind: 'message', payload: { role: 'user', content: 'Look at the failing test and mend the parser.' } }

interface Server {
  readonly port: number
  readonly token: string
  readonly pid: number
  readonly home: string
  readonly stop: () => Promise<void>
}

async function startServer(name: string): Promise<Server> {
  const home = path.join(folder, name)
  fs.mkdirSync(home)
  const env = { ...process.env, HOME: home, BATON_HOME: path.join(home, '.baton'), BATON_TRUST: '1' }
  const args = [cli, 'up', '--json', '--port', '0', '--no-supervisor']
  const server = spawn(process.execPath, args, { cwd: home, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string]
  const { url, token, pid } = JSON.parse(line) as { url: string; token: string; pid: number }
  const stop = async () => {
    server.kill('SIGTERM')
    await once(server, 'close')
  }
  process.on('exit', () => server.kill('SIGKILL'))
  return { port: Number(new URL(url).port), token, pid, home, stop }
}

/** A process that is told a number on each line of its standard input, and answers each with a number. */
class Worker {
  readonly #process: ChildProcess
  readonly #lines: AsyncIterator<string>

  constructor(...mode: string[]) {
    this.#process = child(...mode)
    this.#lines = createInterface({ input: this.#process.stdout! })[Symbol.asyncIterator]()
  }

  ask(count: number): Promise<number> {
    this.#process.stdin!.write(`${count}\n`)
    return this.answer()
  }

  async answer(): Promise<number> {
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('A process of the bench has ended')
    return Number(value)
  }

  end(): void {
    this.#process.stdin!.end()
  }
}

async function commanded(work: (count: number) => Promise<number>): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) console.log(await work(Number(line)))
  process.exit()
}

/** Durable appends by 64 callers: of the library in a process of its own, and over HTTP on 64 connections. */
async function appendsOverHttp(): Promise<Section> {
  const server = await startServer('appends')
  const library = new Worker('--library', path.join(folder, 'library'))
  const load = new Worker('--load', String(server.port), server.token)
  const rates = { library: [] as number[], http: [] as number[] }
  // The first round is only for the compilers of both.
  for (let round = 0; round <= rounds; round++) {
    const [own, over] = [await library.ask(appends), await load.ask(appends)]
    if (round === 0) continue
    rates.library.push(own)
    rates.http.push(over)
  }
  library.end()
  load.end()
  await server.stop()
  return {
    title: `Durable appends, ${callers} at the same time`,
    note: `${appends.toLocaleString('en')} appends of one entry a round, ${rounds} rounds in turns; medians.`,
    columns: ['appends'],
    rows: [
      { name: 'library', unit: '/s', values: [median(rates.library)] },
      { name: 'over HTTP', unit: '/s', values: [median(rates.http)] },
    ],
    bars: [
      {
        name: 'appends over HTTP beside the library',
        value: median(rates.http.map((rate, i) => rate / rates.library[i]!)),
        unit: '×',
        atLeast: 0.4,
      },
    ],
  }
}

let opened: Tape | undefined

async function libraryRate(at: string, count: number): Promise<number> {
  opened ??= new Tape(await openFileStore(at), 'main')
  const tape = opened
  return among(count, () => tape.append([entry]))
}

/** One request on a connection at a time. What arrives is read into one buffer, which costs the least that Node offers. */
class Connection {
  readonly #socket: net.Socket
  #text = ''
  #answered: (status: number) => void = () => {}

  constructor(port: number) {
    const callback = (length: number, buffer: Uint8Array) => {
      this.#take((buffer as Buffer).toString('latin1', 0, length))
      return true
    }
    const onread = { buffer: Buffer.alloc(64 * 1024), callback }
    this.#socket = net.connect({ port, host: '127.0.0.1', noDelay: true, onread })
  }

  send(bytes: Buffer): Promise<number> {
    return new Promise((resolve) => this.call(bytes, resolve))
  }

  call(bytes: Buffer, answered: (status: number) => void): void {
    this.#answered = answered
    this.#socket.write(bytes)
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(text: string): void {
    this.#text += text
    const head = this.#text.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1])
    if (this.#text.length < head + 4 + length) return
    const status = Number(this.#text.slice(9, 12))
    this.#text = ''
    this.#answered(status)
  }
}

function request(port: number, token: string, line: string, body?: object): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body)
  const head = [`${line} HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${token}`]
  if (text !== '') head.push('Content-Type: application/json', `Content-Length: ${text.length}`)
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`)
}

const connections: Connection[] = []

async function httpRate(port: number, token: string, count: number): Promise<number> {
  while (connections.length < callers) connections.push(new Connection(port))
  const bytes = request(port, token, 'POST /v1/tapes/main/entries', { entries: [entry] })
  let [sent, open] = [0, callers]
  const start = performance.now()
  await new Promise<void>((resolve, reject) => {
    const next = (connection: Connection) => {
      if (sent++ < count)
        connection.call(bytes, (status) => (status === 200 ? next(connection) : reject(refused(status))))
      else if (--open === 0) resolve()
    }
    connections.forEach(next)
  })
  return count / ((performance.now() - start) / 1000)
}

function refused(status: number): Error {
  return new Error(`An append was answered with ${status}`)
}

/** 200 readers of one tape that grows by 1,000 entries a second, and contexts of another meanwhile. */
async function liveReaders(): Promise<Section> {
  const server = await startServer('live')
  const writer = new Worker('--pace', String(server.port), server.token)
  const connection = new Connection(server.port)
  const { port, token } = server
  const work = { entries: Array.from({ length: contextEntries }, () => entry) }
  await connection.send(request(port, token, 'POST /v1/tapes/work/entries', work))
  const read = request(port, token, 'GET /v1/tapes/work/context')
  const idle = await latencies(connection, read, quick ? 100 : 500)
  const total = perSecond * seconds
  const following = new Worker('--readers', String(port), token, String(total))
  await following.answer()
  const written = writer.ask(total)
  const under: number[] = []
  const memory: number[] = []
  const done = written.then(() => true)
  while (!(await Promise.race([done, sleep(50, false)]))) {
    under.push(...(await latencies(connection, read, 10)))
    memory.push(memoryOf(server.pid))
  }
  const faults = await following.answer()
  writer.end()
  connection.close()
  await server.stop()
  const quarter = Math.ceil(memory.length / 4)
  // What the second half needs at most beside what the second quarter needed at most: by then everything is warm.
  const growth = Math.max(...memory.slice(2 * quarter)) / Math.max(...memory.slice(quarter, 2 * quarter))
  const [median0, p99] = [median(idle), share(under, 0.99)]
  return {
    title: `${readers} readers of one tape at ${perSecond.toLocaleString('en')} entries a second, for ${seconds} s`,
    note: `Every reader checks every id. Meanwhile a context of ${contextEntries} entries is read again and again.`,
    columns: ['value'],
    rows: [
      { name: 'entries a second, as written', unit: '/s', values: [total / ((await written) / 1000)] },
      { name: 'gaps and duplicates', unit: '', values: [faults] },
      { name: 'context, idle, median', unit: 'ms', values: [median0] },
      { name: 'context, under load, median', unit: 'ms', values: [median(under)] },
      { name: 'context, under load, p99', unit: 'ms', values: [p99] },
      { name: 'memory of the server at its end', unit: 'MB', values: [memory.at(-1)! / 1e6] },
    ],
    bars: [
      { name: 'gaps and duplicates of all readers', value: faults, unit: '', atMost: 0 },
      { name: 'memory, second half beside second quarter', value: growth, unit: '×', atMost: 1.25 },
      { name: 'context under load (p99) beside idle (median)', value: p99 / median0, unit: '×', atMost: 20 },
    ],
  }
}

async function latencies(connection: Connection, bytes: Buffer, count: number): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const start = performance.now()
    await connection.send(bytes)
    times.push(performance.now() - start)
  }
  return times
}

function memoryOf(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))!
  return Number(kilobytes) * 1024
}

/** Appends 10 entries every 10 ms, as separate requests; returns how long it took, in milliseconds. */
async function pace(port: number, token: string, count: number): Promise<number> {
  const bytes = request(port, token, 'POST /v1/tapes/main/entries', { entries: [entry] })
  const writers = Array.from({ length: 10 }, () => new Connection(port))
  const start = performance.now()
  for (let sent = 0; sent < count; sent += writers.length) {
    await Promise.all(writers.map((writer) => writer.send(bytes)))
    const ahead = start + (1000 * (sent + writers.length)) / perSecond - performance.now()
    if (ahead > 0) await sleep(ahead)
  }
  for (const writer of writers) writer.close()
  return performance.now() - start
}

/** Prints 0 when all follow, and the number of gaps and duplicates when all have seen the last entry. */
async function follow(port: number, token: string, last: number): Promise<void> {
  let faults = 0
  let following = 0
  let finished = 0
  const bytes = request(port, token, 'GET /v1/live?tapes=main')
  for (let reader = 0; reader < readers; reader++) {
    let seen = 0
    let rest = ''
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('latin1').on('data', (text: string) => {
      if (seen === 0 && rest === '' && ++following === readers) console.log(0)
      rest += text
      for (let at = rest.indexOf('id: main='); at >= 0; at = rest.indexOf('id: main=')) {
        const end = rest.indexOf('\n', at)
        if (end < 0) break
        const id = Number(rest.slice(at + 9, end))
        rest = rest.slice(end)
        if (id !== seen + 1) faults++
        seen = id
        if (seen === last && ++finished === readers) {
          console.log(faults)
          process.exit()
        }
      }
      if (!rest.includes('id: main=')) rest = ` ${rest.slice(-20)}`
    })
  }
  await new Promise(() => {})
}

function hookStart(): Promise<Section> {
  const home = path.join(folder, 'hook')
  fs.mkdirSync(home)
  const env = { ...process.env, HOME: home }
  const given = JSON.stringify({ session_id: 's', cwd: home, hook_event_name: 'SessionStart', source: 'startup' })
  const commands = { node: ['-e', '0'], hook: [cli, 'hook', 'claude', 'SessionStart'] }
  const times = { node: [] as number[], hook: [] as number[] }
  for (let i = 0; i < starts; i++) {
    for (const name of ['node', 'hook'] as const) {
      const start = performance.now()
      const { status } = spawnSync(process.execPath, commands[name], { cwd: home, env, input: given })
      if (status !== 0) throw new Error(`${name} failed`)
      times[name].push(performance.now() - start)
    }
  }
  return Promise.resolve({
    title: 'Start of a hook',
    note: `Medians of ${starts}, in turns.`,
    columns: ['time'],
    rows: [
      { name: 'node -e 0', unit: 'ms', values: [median(times.node)] },
      { name: 'baton hook claude SessionStart', unit: 'ms', values: [median(times.hook)] },
    ],
    bars: [{ name: 'baton hook to node -e 0', value: median(times.hook) / median(times.node), unit: '×', atMost: 2 }],
  })
}

await bench(
  {
    '--library': (at) => commanded(async (count) => libraryRate(at, count)),
    '--load': (port, token) => commanded((count) => httpRate(Number(port), token, count)),
    '--pace': (port, token) => commanded((count) => pace(Number(port), token, count)),
    '--readers': (port, token, count) => follow(Number(port), token, Number(count)),
  },
  [appendsOverHttp, liveReaders, hookStart],
  'server',
)
