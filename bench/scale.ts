// npm run bench scale [-- --quick] [file] [postgres] [nats]
//
// So many agents at an assumed pace against one store, for each engine: how many appends a second that is, how long one
// takes, and how many bytes an hour of an agent leaves behind. Beyond the pace, it is raised until the store no longer keeps up.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Draft, openStore } from '../src/store/index.ts'
import { startNats } from '../test/support/nats.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { keepResults, machine, render, type Section } from './table.ts'

/**
 * What an agent at work writes, and how long it is still before: a turn begins with words of the user, then come calls and
 * their results, most of them small, and an answer. Times are those of one agent; a turn of this table takes about five minutes.
 */
const pace: readonly { readonly afterMs: number; readonly kind: string; readonly bytes: number }[] = [
  { afterMs: 90_000, kind: 'message', bytes: 400 },
  ...Array.from({ length: 12 }, (_, n) => [
    { afterMs: 9_000, kind: 'tool_call', bytes: n % 4 === 3 ? 3_000 : 300 },
    { afterMs: 4_000, kind: 'tool_result', bytes: n % 4 === 0 ? 12_000 : 1_500 },
  ]).flat(),
  { afterMs: 20_000, kind: 'message', bytes: 1_800 },
  // The supervisor's row and meter.
  { afterMs: 30_000, kind: 'event', bytes: 500 },
]
const turnMs = pace.reduce((sum, { afterMs }) => sum + afterMs, 0)
const turnBytes = pace.reduce((sum, { bytes }) => sum + bytes, 0)

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const seconds = quick ? 5 : 30
const crowds = [10, 100, 1_000]
/** How much faster than real agents; the last of each is where the store is asked for more than it gives. */
const speeds = [1, 10, 100]
const texts = new Map<number, string>()

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-scale-'))
const wanted = (name: string) => args.every((arg) => arg.startsWith('--')) || args.includes(name)
const sections: Section[] = []
if (wanted('file')) sections.push(await onEngine('file', (name) => path.join(folder, name)))
if (wanted('postgres')) {
  const server = await startPostgres({ durable: true })
  sections.push(await onEngine('postgres', (name) => server.address(name)))
  await server.stop()
}
if (wanted('nats')) {
  const servers = await startNats()
  sections.push(await onEngine('nats', (name) => servers.address(name)))
  await servers.stop()
}
const about = machine(folder)
fs.rmSync(folder, { recursive: true, force: true })
const line = `${about.cpu}, ${about.cores} cores, Node ${about.node}, ${about.system}, ${about.fileSystem}`
process.stdout.write(render(line, sections, args.includes('--markdown')))
if (args.length === 0) keepResults('scale', os.tmpdir(), sections)

async function onEngine(engine: string, address: (name: string) => string): Promise<Section> {
  const rows: Section['rows'][number][] = []
  for (const agents of crowds) {
    for (const speed of speeds) {
      const { asked, done, p50, p99 } = await run(address(`s${agents}x${speed}`), agents, speed)
      rows.push({ name: `${agents} agents, pace × ${speed}`, unit: '', values: [asked, done, p50, p99] })
      // What does not keep up with this does not keep up with more.
      if (done < asked * 0.8) break
    }
  }
  const perHour = ((turnBytes + pace.length * 120) * 3_600_000) / turnMs / 1024
  return {
    title: `Agents on ${engine}, ${seconds} seconds each`,
    note: `About ${Math.round(perHour)} KiB for an hour of an agent.`,
    columns: ['asked /s', 'done /s', 'p50 ms', 'p99 ms'],
    rows,
    bars: [],
  }
}

/** Every agent has a tape of its own and begins somewhere in its turn. All of them share four processes' worth of stores. */
async function run(address: string, agents: number, speed: number) {
  const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(address)))
  const times: number[] = []
  const end = performance.now() + seconds * 1_000
  const asked = (agents * pace.length * speed * 1_000) / turnMs
  await Promise.all(
    Array.from({ length: agents }, (_, at) => agent(stores[at % stores.length]!, `agent-${at}`, at, agents)),
  )
  for (const store of stores) await store.close()
  times.sort((a, b) => a - b)
  const at = (share: number) => Math.round((times[Math.floor(times.length * share)] ?? 0) * 10) / 10
  return { asked: Math.round(asked), done: Math.round(times.length / seconds), p50: at(0.5), p99: at(0.99) }

  async function agent(store: (typeof stores)[number], tape: string, n: number, of: number): Promise<void> {
    // Spread evenly over the turn, so that the load is the same all the time.
    let clock = (n / of) * turnMs
    let step = 0
    while (clock >= pace[step % pace.length]!.afterMs) clock -= pace[step++ % pace.length]!.afterMs
    let next = performance.now() + (pace[step % pace.length]!.afterMs - clock) / speed
    for (; next < end; next += pace[step % pace.length]!.afterMs / speed) {
      const wait = next - performance.now()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      const { kind, bytes } = pace[step++ % pace.length]!
      const start = performance.now()
      if (start >= end) return
      await store.append(tape, [draftOf(kind, bytes)])
      times.push(performance.now() - start)
    }
  }
}

function draftOf(kind: string, bytes: number): Draft {
  const content = texts.get(bytes) ?? 'x'.repeat(bytes)
  texts.set(bytes, content)
  return { kind, payload: { role: 'assistant', content } }
}
