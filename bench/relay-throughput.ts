// npm run bench relay-throughput [-- --quick]
//
// How many requests pass from one process to workers in others, beside bare appends of as many processes to the same kind of store.
// What counts are the ratios within one run; the absolute figures belong to the machine. All variants are measured turn by turn,
// and each ratio is the median over the rounds.

import { type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { openRelay, relaySection } from '../src/relay/index.ts'
import { openFileStore } from '../src/store/index.ts'
import { boundless, request, resolved, team } from '../test/relay/team.ts'
import { among, bench, callers, child, folder, median, quick, share } from './relay-bench.ts'
import type { Bar, Section } from './table.ts'

const rounds = quick ? 3 : 16
const requests = quick ? 600 : 2_000
const slowRequests = quick ? 200 : 800
const singles = quick ? 40 : 200
/**
 * How much is done before it is measured. Those who use a relay run for hours, with their code compiled; until about 6,000 requests were
 * handled, the compiler takes a third of the time.
 */
const warmUp = quick ? 300 : 6_000
const slowMs = 50
let runs = 0
/** Nothing is archived here; what that costs is part of `relay`. */
const settings = relaySection.parse({ ...team, limits: boundless, retention: { traces: 1_000_000 } })

await bench(
  {
    '--append': (at, count, atOnce) => appendAll(at, Number(count), Number(atOnce)),
    '--serve': (at, concurrency, ms) => serve(at, Number(concurrency), Number(ms)),
  },
  [throughput, slowHandlers, oneAtATime],
  'relay-throughput',
)

/**
 * Empty handlers, with one to three workers, and bare appends by two processes. All of them are warm before the first round, and take
 * short turns in an order that changes, so that whatever else the machine does meets them alike.
 */
async function throughput(): Promise<Section> {
  const appending = await appenders(2)
  const relays = []
  for (const workers of [1, 2, 3]) relays.push(await relayed(workers, 16, 0, warmUp))
  const bare: number[] = []
  const rates: number[][] = [[], [], []]
  const turns = [
    async () => bare.push(await appending.rate()),
    ...relays.map((relay, i) => async () => rates[i]!.push(await relay.rate(requests))),
  ]
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < turns.length; turn++) await turns[(round + turn) % turns.length]!()
  }
  for (const each of [appending, ...relays]) await each.stop()
  const best = bare.map((rate, i) => rates[1]![i]! / rate)
  const bars: Bar[] = [
    { name: 'requests to 2 workers beside bare appends of 2 processes', value: median(best), unit: '×', atLeast: 0.25 },
    {
      name: '2 workers beside 1, empty handlers',
      value: median(ratios(rates[1]!, rates[0]!)),
      unit: '×',
      atLeast: 1,
    },
    {
      name: '3 workers beside 2, empty handlers',
      value: median(ratios(rates[2]!, rates[1]!)),
      unit: '×',
      atLeast: 1,
    },
  ]
  return {
    title: 'Empty handlers in other processes, 16 at the same time each',
    note: `${requests.toLocaleString('en')} requests by ${callers} callers of one process, median of ${rounds} rounds, after ${warmUp.toLocaleString('en')} that are not counted, without archiving; bare: two processes append to one tape, 16 callers each, after as many.`,
    columns: ['per second', 'slowest', 'fastest'],
    rows: [
      row('bare appends, 2 processes', bare),
      ...[1, 2, 3].map((workers) => row(`${workers} × 16`, rates[workers - 1]!)),
    ],
    bars,
  }
}

async function slowHandlers(): Promise<Section> {
  const one: number[] = []
  const three: number[] = []
  for (let round = 0; round < Math.min(rounds, 5); round++) {
    one.push(await relayRate(1, 16, slowMs, slowRequests))
    three.push(await relayRate(3, 16, slowMs, slowRequests))
  }
  return {
    title: `Handlers of ${slowMs} ms in other processes`,
    note: `${slowRequests.toLocaleString('en')} requests by ${callers} callers of one process.`,
    columns: ['per second', 'slowest', 'fastest'],
    rows: [row('1 × 16', one), row('3 × 16', three)],
    bars: [
      {
        name: `3 workers beside 1, handlers of ${slowMs} ms`,
        value: median(ratios(three, one)),
        unit: '×',
        atLeast: 2.5,
      },
    ],
  }
}

/** One request at a time, from before it is made until its answer is there, and an append at a time. */
async function oneAtATime(): Promise<Section> {
  const asked: number[] = []
  const appended: number[] = []
  const perRound: number[] = []
  for (let round = 0; round < Math.min(rounds, 5); round++) {
    const at = path.join(folder, `single-${round}`)
    const store = await openFileStore(at)
    const relay = await openRelay({ store, settings })
    const worker = await started('--serve', at, '1', '0')
    await relay.request(request())
    const these: number[] = []
    const those: number[] = []
    for (let i = 0; i < singles; i++) {
      these.push(await timed(() => relay.request(request())))
      those.push(await timed(() => store.append('bare', [draft(i)])))
    }
    asked.push(...these)
    appended.push(...those)
    perRound.push(median(these) / median(those))
    await stopped(worker)
    await relay.close()
    await store.close()
  }
  return {
    title: 'One request at a time, to a worker in another process',
    note: `${asked.length.toLocaleString('en')} of each, turn by turn.`,
    columns: ['median', 'p95'],
    rows: [
      { name: 'request', unit: 'ms', values: [median(asked), share(asked, 0.95)] },
      { name: 'bare append', unit: 'ms', values: [median(appended), share(appended, 0.95)] },
    ],
    bars: [{ name: 'a request beside a bare append, median', value: median(perRound), unit: '×', atMost: 6 }],
  }
}

/** A relay whose workers serve in processes of their own, after so many requests. */
async function relayed(workers: number, concurrency: number, ms: number, before: number) {
  const at = path.join(folder, `run-${runs++}`)
  const store = await openFileStore(at)
  const relay = await openRelay({ store, settings })
  const serving = await Promise.all(
    Array.from({ length: workers }, () => started('--serve', at, String(concurrency), String(ms))),
  )
  const rate = (count: number) => among(count, () => relay.request(request()))
  await rate(before)
  const stop = async () => {
    await Promise.all(serving.map(stopped))
    await relay.close()
    await store.close()
    fs.rmSync(at, { recursive: true })
  }
  return { rate, stop }
}

async function relayRate(workers: number, concurrency: number, ms: number, count: number): Promise<number> {
  const relay = await relayed(workers, concurrency, ms, callers)
  const rate = await relay.rate(count)
  await relay.stop()
  return rate
}

/** So many processes that append to one tape; their rate is appends a second by all of them together. */
async function appenders(processes: number) {
  const at = path.join(folder, `run-${runs++}`)
  await (await openFileStore(at)).close()
  const children = Array.from({ length: processes }, () => child('--append', at, String(requests), '16'))
  const lines = children.map(({ stdout }) => createInterface(stdout!)[Symbol.asyncIterator]())
  const all = () => Promise.all(lines.map((each) => each.next()))
  await all()
  const rate = async () => {
    const start = performance.now()
    for (const each of children) each.stdin!.write('go\n')
    await all()
    return (processes * requests) / ((performance.now() - start) / 1000)
  }
  const stop = async () => {
    await Promise.all(
      children.map((each) => {
        each.stdin!.end()
        return once(each, 'close')
      }),
    )
    fs.rmSync(at, { recursive: true })
  }
  return { rate, stop }
}

async function appendAll(at: string, count: number, atOnce: number): Promise<void> {
  const store = await openFileStore(at)
  let next = 0
  const append = async (more: number) => {
    const end = next + more
    const one = async () => {
      while (next < end) await store.append('bare', [draft(next++)])
    }
    await Promise.all(Array.from({ length: atOnce }, one))
    process.stdout.write('done\n')
  }
  await append(warmUp)
  for await (const _ of createInterface(process.stdin)) await append(count)
  await store.close()
}

/** An entry like those of the relay, with a key of its own. */
function draft(i: number) {
  const payload = { name: 'bare', data: { envelope: { requestId: `r${process.pid}-${i}`, request: request() } } }
  return { kind: 'event', payload, meta: { key: `request:${process.pid}-${i}`, context: false } }
}

async function serve(at: string, concurrency: number, ms: number): Promise<void> {
  const store = await openFileStore(at)
  const relay = await openRelay({ store, settings })
  const stop = new AbortController()
  process.stdin.once('data', () => stop.abort())
  const handler = async () => {
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
    return resolved
  }
  const serving = relay.serve('researcher', handler, { signal: stop.signal, concurrency })
  process.stdout.write('ready\n')
  await serving
  process.stdin.destroy()
  await relay.close()
  await store.close()
}

async function started(...mode: string[]): Promise<ChildProcess> {
  const started = child(...mode)
  await once(createInterface(started.stdout!), 'line')
  return started
}

async function stopped(child: ChildProcess): Promise<void> {
  child.stdin!.write('stop\n')
  await once(child, 'close')
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

function row(name: string, values: readonly number[]) {
  return { name, unit: '/s', values: [median(values), Math.min(...values), Math.max(...values)] }
}

function ratios(values: readonly number[], beside: readonly number[]): number[] {
  return values.map((value, i) => value / beside[i]!)
}
