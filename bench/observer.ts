// What it costs to look at many sessions: `npm run bench observers [-- SESSIONS…]`. Each session has a transcript of 5 MB in a
// folder that it shares with nine others, and goes on with a turn of six lines every two seconds. Told per session: processor
// time, memory, and how long after the last line the end of a turn is noticed.

import { spawn } from 'node:child_process'
import { setMaxListeners } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { adapterNamed } from '../src/agents/index.ts'
import type { Driver } from '../src/supervisor/drivers/driver.ts'
import { type Observer, openObserver } from '../src/supervisor/observe/observation.ts'

const counts = process.argv.slice(2).map(Number)
const perFolder = 10
const seconds = 20
const megabytes = 5

async function measure(count: number): Promise<void> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-observer-'))
  const env = { HOME: home }
  const adapter = adapterNamed('pi', { env })
  const still = spawn('sleep', ['600'], { stdio: 'ignore' })
  const sessions = Array.from({ length: count }, (_, i) => new Session(home, i))
  const bare = memory()
  const opened = performance.now()
  const observers: Observer[] = []
  for (const session of sessions) {
    const since = Date.now()
    observers.push(
      openObserver({ adapter, driver: driverOf(still.pid!), cwd: session.cwd, env, since, session: session.id }),
    )
  }
  for (const each of observers) await each.observe()
  const first = performance.now() - opened
  const held = memory()
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const lags: number[] = []
  const watching = observers.map(async (each, i) => {
    let turns = -1
    for await (const now of each.watch(stop.signal)) {
      if (now.turn !== 'idle' || now.turns === turns) continue
      if (turns >= 0) lags.push(performance.now() - sessions[i]!.ended)
      turns = now.turns
    }
  })
  // Writing is not what is measured: it is done by another process' worth of time, taken off below.
  const idle = await spent(seconds / 2, () => undefined)
  let written = 0
  const busy = await spent(seconds, (beat) => {
    const start = process.cpuUsage()
    for (const [i, session] of sessions.entries()) if (i % 20 === beat % 20) session.turn()
    const { user, system } = process.cpuUsage(start)
    written += (user + system) / 1000
  })
  stop.abort()
  await Promise.all(watching)
  for (const each of observers) await each.close()
  still.kill()
  fs.rmSync(home, { recursive: true, force: true })
  lags.sort((a, b) => a - b)
  const at = (part: number) => lags[Math.floor(lags.length * part)]?.toFixed(1)
  const each = (value: number) => (value / count).toFixed(2)
  console.log(
    [
      `${count} sessions`,
      `opened in ${each(first)} ms each`,
      `${each((held - bare) / 1024)} KiB each`,
      `idle ${each(idle)} ms/s each`,
      `busy ${each(busy - written / seconds)} ms/s each`,
      `${lags.length} ends noticed after ${at(0.5)} ms (p99 ${at(0.99)} ms)`,
    ].join(', '),
  )
}

/** Milliseconds of processor time for each second. */
async function spent(duration: number, act: (beat: number) => void): Promise<number> {
  const start = process.cpuUsage()
  for (let beat = 0; beat < duration * 10; beat++) {
    act(beat)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000 / duration
}

function memory(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

class Session {
  readonly cwd: string
  readonly id: string
  ended = 0
  readonly #fd: number
  #parent: string | null = null
  #n = 0

  constructor(home: string, number: number) {
    this.cwd = path.join(home, `project-${Math.floor(number / perFolder)}`)
    fs.mkdirSync(this.cwd, { recursive: true })
    this.id = `session-${number}`
    const folder = path.join(home, '.pi/agent/sessions', `--${this.cwd.slice(1).replaceAll('/', '-')}--`)
    fs.mkdirSync(folder, { recursive: true })
    this.#fd = fs.openSync(path.join(folder, `2026-11-15T10-00-00-000Z_${this.id}.jsonl`), 'a')
    this.#line({ type: 'session', version: 3, id: this.id, timestamp: new Date().toISOString(), cwd: this.cwd })
    while (fs.fstatSync(this.#fd).size < megabytes * 1_000_000) this.turn()
  }

  turn(): void {
    this.#say({ role: 'user', content: [{ type: 'text', text: 'please go on with the next part of it' }] })
    for (const id of ['a', 'b']) {
      this.#reply(
        [{ type: 'toolCall', id, name: 'read', arguments: { path: `src/part-${this.#n % 50}.ts` } }],
        'toolUse',
      )
      const content = [{ type: 'text', text: 'export const line = 1\n'.repeat(100) }]
      this.#say({ role: 'toolResult', toolCallId: id, toolName: 'read', content, isError: false })
    }
    this.#reply([{ type: 'text', text: 'That part is done.' }], 'stop')
    this.ended = performance.now()
  }

  #reply(content: object[], stopReason: string): void {
    const usage = { input: 9_000, output: 100, cacheRead: 0, cacheWrite: 0, totalTokens: 9_100, cost: { total: 0.01 } }
    this.#say({ role: 'assistant', content, provider: 'x', model: 'x', usage, stopReason })
  }

  #say(message: object): void {
    const id = `${this.id}-${++this.#n}`
    this.#line({ type: 'message', id, parentId: this.#parent, timestamp: new Date().toISOString(), message })
    this.#parent = id
  }

  #line(value: object): void {
    fs.writeSync(this.#fd, `${JSON.stringify(value)}\n`)
  }
}

/** An agent at rest: only what it writes is of interest here. */
function driverOf(pid: number): Driver {
  const rest = async () => ({ is: 'prompt', draft: '' }) as const
  const nothing = async () => undefined
  return {
    place: { driver: 'tmux', socket: '/none', pane: '%0', pid },
    sent: [],
    alive: async () => true,
    ended: nothing,
    screenState: rest,
    screenText: async () => '',
    ready: rest,
    submit: nothing,
    clear: nothing,
    interrupt: nothing,
    stop: nothing,
    close: nothing,
  }
}

for (const count of counts.length === 0 ? [1, 10, 100] : counts) await measure(count)
process.exit(0)
