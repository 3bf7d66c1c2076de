// npm run bench supervisor [-- --quick]
//
// What it costs to supervise many sessions in one process: processor time and memory per session at rest and at work, and
// how long Baton's own part of a cycle takes. The agents are simulated by another process, which writes their transcripts
// and takes their prompts; eyes, runners, cycles, documents and the store are the real ones.

import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Adapter, ScreenState } from '../src/agents/index.ts'
import { openFileStore } from '../src/store/index.ts'
import type { AgentPlace, Driver } from '../src/supervisor/drivers/driver.ts'
import { type OpenAgent, openSupervisor, sessionTape, supervisorSection } from '../src/supervisor/index.ts'
import { openObserver } from '../src/supervisor/observe/observation.ts'
import { keepResults } from './table.ts'
import { piUsage } from '../test/supervisor/support/protocol.ts'

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const counts = quick ? [5, 20] : [10, 50, 100]
const seconds = quick ? 3 : 15
const window = 100_000
const script = fileURLToPath(import.meta.url)

type Order =
  | { readonly do: 'begin' | 'step' | 'fill'; readonly agent: number }
  | { readonly do: 'prompt'; readonly agent: number; readonly text: string }
  | { readonly do: 'clear'; readonly agent: number }

if (args[0] === '--agents') agents(args[1]!)
else if (args[0] === '--measure') console.log(JSON.stringify(await measure(Number(args[1]), Number(args[2]))))
else await main()

interface Figures {
  readonly sessions: number
  /** Milliseconds of processor time a session and minute. */
  readonly idleCpuMs: number
  readonly busyCpuMs: number
  /** Of the whole process, a session; above that of a process without sessions. */
  readonly memoryMiB: number
  readonly cycles: {
    readonly ownMedianMs: number
    readonly ownMostMs: number
    /** Medians. */
    readonly stepsMs: Readonly<Record<string, number>>
    readonly secondsForAll: number
  }
}

interface Cycled {
  readonly ownMs: number
  readonly timings: readonly { readonly step: string; readonly ownMs: number }[]
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

async function main(): Promise<void> {
  const figures: Figures[] = []
  for (const count of counts) {
    const found = await measured(count)
    figures.push(found)
    const { idleCpuMs, busyCpuMs, memoryMiB, cycles } = found
    console.log(
      `${count} sessions: ${idleCpuMs.toFixed(1)} ms a minute each at rest, ${busyCpuMs.toFixed(0)} ms at work, ` +
        `${memoryMiB.toFixed(2)} MiB each; own part of a cycle ${cycles.ownMedianMs} ms (most ${cycles.ownMostMs}: ${JSON.stringify(cycles.stepsMs)}), ` +
        `all cycled in ${cycles.secondsForAll.toFixed(1)} s`,
    )
  }
  const [first] = figures
  const last = figures.at(-1)!
  const bars = [
    {
      name: 'processor time of a session at work, most sessions to fewest',
      value: last.busyCpuMs / first!.busyCpuMs,
      unit: '×',
      atMost: 1.5,
    },
    { name: "Baton's own part of a cycle, median", value: last.cycles.ownMedianMs, unit: 'ms', atMost: 2_000 },
  ].map((bar) => ({ ...bar, ok: bar.value <= bar.atMost }))
  for (const { ok, name, value, unit, atMost } of bars) {
    console.log(`${ok ? 'ok    ' : 'MISSED'} ${name}: ${Number(value.toFixed(2))} ${unit} (at most ${atMost})`)
    if (!ok) process.exitCode = 1
  }
  const columns = figures.map(({ sessions }) => `${sessions} sessions`)
  const row = (name: string, unit: string, value: (each: Figures) => number) => ({
    name,
    unit,
    values: figures.map(value),
  })
  const rows = [
    row('processor time of a session at rest, per minute', 'ms', ({ idleCpuMs }) => idleCpuMs),
    row('processor time of a session at work, per minute', 'ms', ({ busyCpuMs }) => busyCpuMs),
    row("Baton's own part of a cycle, median", 'ms', ({ cycles }) => cycles.ownMedianMs),
    row("Baton's own part of a cycle, most", 'ms', ({ cycles }) => cycles.ownMostMs),
  ]
  const memory = [row('memory per session', 'MiB', ({ memoryMiB }) => memoryMiB)]
  const sections = [
    { title: 'Sessions under one supervisor', note: 'Scripted agents.', columns, rows, bars },
    { title: 'Memory of supervised sessions', note: 'Of the supervisor, by session.', columns, rows: memory, bars: [] },
  ]
  keepResults('supervisor', os.tmpdir(), sections, { quick })
}

/** In a process of its own, so that no measurement inherits the memory of another. */
async function measured(count: number): Promise<Figures> {
  const program = ['--expose-gc', '--enable-source-maps', script, '--measure', String(count), String(seconds)]
  const child = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'inherit'] })
  return JSON.parse(await text(child.stdout)) as Figures
}

async function measure(count: number, seconds: number): Promise<Figures> {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-bench-'))
  const store = await openFileStore(path.join(root, '.baton'))
  const child = spawn(process.execPath, [script, '--agents', root], { stdio: ['pipe', 'pipe', 'inherit'] })
  const order = (each: Order) => child.stdin.write(`${JSON.stringify(each)}\n`)
  const all = Array.from({ length: count }, (_, agent) => agent)
  let begun = 0
  createInterface(child.stdout).on('line', () => begun++)
  try {
    for (const agent of all) order({ do: 'begin', agent })
    await until(async () => begun === count)
    const before = memory()
    const settings = supervisorSection.parse({ concurrency: 4, cooldownSeconds: 0 })
    const supervisor = openSupervisor({
      store,
      settings: () => settings,
      timings: { staggerSeconds: 0 },
      openAgent: simulated(root, child.pid!, order),
    })
    const place: AgentPlace = { driver: 'tmux', socket: root, pane: '%1', pid: child.pid! }
    for (const agent of all) {
      const run = { name: `s${agent}`, agent: 'simulated', cwd: cwdOf(root, agent), driver: 'tmux', args: [] } as const
      supervisor.watchExisting(run, place)
    }
    await until(async () => (await rows(supervisor)).filter(({ tokens }) => tokens !== undefined).length === count)
    await rest(2)
    const idleCpuMs = await cpu(count, seconds, () => undefined)
    const busyCpuMs = await cpu(count, seconds, () => {
      for (const agent of all) order({ do: 'step', agent })
    })
    const memoryMiB = (memory() - before) / count
    const began = performance.now()
    for (const agent of all) order({ do: 'fill', agent })
    await until(async () => (await rows(supervisor)).every(({ cycles }) => cycles > 0))
    const secondsForAll = (performance.now() - began) / 1000
    const own: number[] = []
    const steps = new Map<string, number[]>()
    for (const agent of all) {
      const entry = await store.latest(sessionTape(`s${agent}`), 'cycled')
      const { ownMs, timings } = (entry!.payload as { data: Cycled }).data
      own.push(ownMs)
      for (const { step, ownMs: ms } of timings) steps.set(step, [...(steps.get(step) ?? []), ms])
    }
    const stepsMs = Object.fromEntries([...steps].map(([step, each]) => [step, median(each)]))
    const cycles = { ownMedianMs: median(own), ownMostMs: Math.max(...own), stepsMs, secondsForAll }
    await supervisor.close()
    return { sessions: count, idleCpuMs, busyCpuMs, memoryMiB, cycles }
  } finally {
    child.kill()
    await store.close()
    fs.rmSync(root, { recursive: true, force: true })
  }
}

async function rows(supervisor: ReturnType<typeof openSupervisor>) {
  const found = []
  for await (const row of supervisor.list()) found.push(row)
  if (process.env.DEBUG)
    console.log(found.map((row) => `${row.name} ${row.state} ${row.step} ${row.tokens} ${row.cycles}`).join('; '))
  return found
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 300_000
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('The sessions did not get there')
    await rest(0.25)
  }
}

function rest(forSeconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, forSeconds * 1000))
}

/** Milliseconds of this process a session and minute, while something happens every second. */
async function cpu(count: number, forSeconds: number, everySecond: () => void): Promise<number> {
  const before = process.cpuUsage()
  for (let i = 0; i < forSeconds; i++) {
    everySecond()
    await rest(1)
  }
  const { user, system } = process.cpuUsage(before)
  return ((user + system) / 1000 / count / forSeconds) * 60
}

function memory(): number {
  ;(globalThis as { gc?: () => void }).gc?.()
  return process.memoryUsage().rss / 2 ** 20
}

function homeOf(root: string, agent: number): string {
  return path.join(root, 'homes', String(agent))
}

function cwdOf(root: string, agent: number): string {
  return path.join(root, 'projects', String(agent))
}

/** Touches the agents of the other process, and looks at what they write. */
function simulated(root: string, pid: number, order: (order: Order) => void): OpenAgent {
  return async (run) => {
    const agent = Number(run.name.slice(1))
    const adapter: Adapter = {
      name: 'simulated',
      label: 'Simulated',
      transcript: 'pi',
      env: { PI_CODING_AGENT_DIR: homeOf(root, agent) },
      compactsAt: () => undefined,
      clear: '/new',
    }
    const screenState = async (): Promise<ScreenState> => ({ is: 'prompt', draft: '' })
    const driver: Driver & { sent: { text: string; at: number }[] } = {
      place: { driver: 'tmux', socket: root, pane: `%${agent}`, pid },
      sent: [],
      alive: async () => true,
      ended: async () => undefined,
      screenState,
      screenText: async () => '',
      ready: screenState,
      submit: async (text) => {
        driver.sent.push({ text, at: Date.now() })
        order({ do: 'prompt', agent, text })
      },
      clear: async () => order({ do: 'clear', agent }),
      interrupt: async () => undefined,
      stop: async () => undefined,
      close: async () => undefined,
    }
    return { adapter, driver, observer: openObserver({ adapter, driver, cwd: run.cwd, since: Date.now() - 60_000 }) }
  }
}

interface Simulated {
  fd: number
  parent: string | null
  tokens: number
  steps: number
}

/** The other process: agents that write what they are ordered to, as pi does. */
function agents(root: string): void {
  const all = new Map<number, Simulated>()
  const line = (agent: number, value: object) => fs.writeSync(all.get(agent)!.fd, `${JSON.stringify(value)}\n`)
  const entry = (agent: number, message: object) => {
    const each = all.get(agent)!
    const id = randomBytes(4).toString('hex')
    const timestamp = new Date().toISOString()
    line(agent, { type: 'message', id, parentId: each.parent, timestamp, message })
    each.parent = id
  }
  const says = (agent: number, stopReason: string, calls: object[] = []) => {
    const { tokens } = all.get(agent)!
    const usage = piUsage(tokens, 0.001)
    const content = [{ type: 'text', text: 'I go on with the work.' }, ...calls]
    entry(agent, { role: 'assistant', content, provider: 'sim', model: 'sim', usage, stopReason })
  }
  const uses = (agent: number, name: string, given: Record<string, string>, act: () => string) => {
    const id = randomBytes(6).toString('hex')
    says(agent, 'toolUse', [{ type: 'toolCall', id, name, arguments: given }])
    entry(agent, {
      role: 'toolResult',
      toolCallId: id,
      toolName: name,
      content: [{ type: 'text', text: act() }],
      isError: false,
    })
  }
  const begin = (agent: number) => {
    const cwd = cwdOf(root, agent)
    const home = homeOf(root, agent)
    const folder = path.join(home, 'sessions', `--${cwd.replaceAll(/^\/|\/$/g, '').replaceAll('/', '-')}--`)
    fs.mkdirSync(folder, { recursive: true })
    fs.mkdirSync(cwd, { recursive: true })
    const models = { providers: { sim: { models: [{ id: 'sim', contextWindow: window }] } } }
    fs.writeFileSync(path.join(home, 'models.json'), JSON.stringify(models))
    const id = randomUUID()
    const timestamp = new Date().toISOString()
    const fd = fs.openSync(path.join(folder, `${timestamp.replaceAll(/[:.]/g, '-')}_${id}.jsonl`), 'a')
    all.set(agent, { fd, parent: null, tokens: 5_000, steps: 0 })
    line(agent, { type: 'session', version: 3, id, timestamp, cwd })
  }
  const prompt = (agent: number, text: string) => {
    if (!all.has(agent)) begin(agent)
    entry(agent, { role: 'user', content: [{ type: 'text', text }] })
    const write = /Write it to (.+?) in Markdown/.exec(text)?.[1]
    const read = /Read handoff from (.+?) and resume work/.exec(text)?.[1]
    if (write !== undefined) {
      uses(agent, 'write', { path: write }, () => {
        fs.writeFileSync(write, document)
        return 'written'
      })
    } else if (read !== undefined) uses(agent, 'read', { path: read }, () => fs.readFileSync(read, 'utf8'))
    else uses(agent, 'bash', { command: 'npm test' }, () => 'ok')
    says(agent, 'stop')
  }
  const obey = (order: Order) => {
    const { agent } = order
    if (order.do === 'begin') {
      begin(agent)
      prompt(agent, 'Build the shop.')
      process.stdout.write('begun\n')
    } else if (order.do === 'clear') {
      fs.closeSync(all.get(agent)!.fd)
      all.delete(agent)
    } else if (order.do === 'prompt') prompt(agent, order.text)
    else {
      const each = all.get(agent)!
      if (order.do === 'fill') each.tokens = window * 0.9
      prompt(agent, `Step ${++each.steps}.`)
    }
  }
  createInterface(process.stdin).on('line', (text) => obey(JSON.parse(text) as Order))
}

const document = `# Handoff Document

## Current Work
Building the shop: the cart works, the checkout does not.

## Completed Since Last Handoff
- [x] The cart

## Next Steps
1. Write the checkout in src/checkout.ts

## Critical State
- The tests run with npm test

## Blockers / Issues
- None

## Notes
- No new dependencies
`
