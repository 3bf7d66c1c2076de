// npm run bench relay [-- --quick]
//
// What the relay costs beside bare appends of the same entries, how soon an answer reaches another process, how long a
// start takes after a long history, and whether a crowd of workers that get killed answers every request once.
// What counts are the ratios within one run; the absolute figures belong to the machine.

import { type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { openRelay, type Relay, relaySection } from '../src/relay/index.ts'
import { type Draft, openFileStore, type Store } from '../src/store/index.ts'
import { request, resolved, team } from '../test/relay/team.ts'
import { among, bench, callers, child, folder, median, quick, share } from './relay-bench.ts'
import type { Section } from './table.ts'

const requests = quick ? 2_000 : 20_000
const rounds = quick ? 3 : 5
const answers = quick ? 50 : 300
const histories = quick ? [100, 2_000] : [1_000, 100_000]
const starts = quick ? 5 : 15
const crowd = quick ? 2_000 : 10_000
const leaseMs = 500

const settings = relaySection.parse({ ...team, limits: { handoffTimeoutMs: 3_600_000 }, leaseMs })
/** The crowd archives what is over while it works. */
const archiving = relaySection.parse({ ...settings, retention: { traces: 0 } })
const handlers = { researcher: () => resolved }

await bench(
  { '--wait': waitFor, '--cold': startCold, '--serve': serve },
  [throughput, latency, coldStart, killed],
  'relay',
)

/** Requests to a local function, and the entries they made appended bare, turn by turn. */
async function throughput(): Promise<Section> {
  const relayed: number[] = []
  const bare: number[] = []
  for (let round = 0; round < rounds; round++) {
    const store = await openFileStore(path.join(folder, `relayed-${round}`))
    const relay = await openRelay({ store, settings, handlers })
    await among(200, () => relay.request(request()))
    relayed.push(await among(requests, () => relay.request(request())))
    await relay.close()
    const pairs = await entriesByRequest(store)
    await store.close()
    const other = await openFileStore(path.join(folder, `bare-${round}`))
    const append = async (pair: readonly Draft[]) => {
      for (const draft of pair) await other.append('bare', [draft])
    }
    await among(200, (i) => append(pairs[i]!))
    bare.push(await among(requests, (i) => append(pairs[i + 200]!)))
    await other.close()
  }
  const ratios = relayed.map((rate, i) => rate / bare[i]!)
  return {
    title: `Requests to a local function, ${callers} at a time`,
    note: `${requests.toLocaleString('en')} requests of two durable entries each, median of ${rounds} rounds; bare: the same entries appended one by one by as many callers.`,
    columns: ['requests/s', 'slowest', 'fastest'],
    rows: [
      { name: 'relay', unit: '/s', values: [median(relayed), Math.min(...relayed), Math.max(...relayed)] },
      { name: 'bare appends', unit: '/s', values: [median(bare), Math.min(...bare), Math.max(...bare)] },
    ],
    bars: [{ name: 'requests beside bare appends', value: median(ratios), unit: '×', atLeast: 0.3 }],
  }
}

async function entriesByRequest(store: Store): Promise<Draft[][]> {
  const pairs = new Map<string, Draft[]>()
  // Closed traces are archived meanwhile.
  const range = { kinds: ['event'], archived: true }
  for await (const { id: _id, date: _date, ...draft } of store.read('relay/handoffs', range)) {
    const { data } = draft.payload as { data: { requestId?: string; envelope?: { requestId: string } } }
    const requestId = data.requestId ?? data.envelope!.requestId
    pairs.set(requestId, [...(pairs.get(requestId) ?? []), draft])
  }
  return [...pairs.values()]
}

/** From before the answer is given in this process until another one has it. */
async function latency(): Promise<Section> {
  const at = path.join(folder, 'latency')
  const store = await openFileStore(at)
  const relay = await openRelay({ store, settings })
  const waiter = child('--wait', at)
  const lines = createInterface(waiter.stdout!)[Symbol.asyncIterator]()
  const times: number[] = []
  for (let i = 0; i < answers; i++) {
    const { value: requestId } = (await lines.next()) as { value: string }
    const start = epoch()
    await relay.answer(requestId, resolved)
    const { value: received } = (await lines.next()) as { value: string }
    times.push(Number(received) - start)
  }
  waiter.kill('SIGKILL')
  await relay.close()
  await store.close()
  return {
    title: 'An answer to another process that waits for it',
    note: `${answers} answers, from before it is given until the other process has it.`,
    columns: ['median', 'p95', 'slowest'],
    rows: [{ name: 'answer → waiter', unit: 'ms', values: [median(times), share(times, 0.95), Math.max(...times)] }],
    bars: [{ name: 'an answer reaches a waiting process, median', value: median(times), unit: 'ms', atMost: 50 }],
  }
}

async function waitFor(at: string): Promise<void> {
  const store = await openFileStore(at)
  const relay = await openRelay({ store, settings })
  for (;;) {
    const { requestId } = await relay.request(request(), { wait: false })
    const waiting = relay.wait(requestId)
    process.stdout.write(`${requestId}\n`)
    await waiting
    process.stdout.write(`${epoch()}\n`)
  }
}

function epoch(): number {
  return performance.timeOrigin + performance.now()
}

/** A process that opens the workspace, looks at an inbox and the status, and makes a request. */
async function coldStart(): Promise<Section> {
  const folders = []
  for (const [i, count] of histories.entries()) {
    const at = path.join(folder, `history-${i}`)
    const store = await openFileStore(at)
    const relay = await openRelay({ store, settings, handlers })
    await among(count, () => relay.request(request()))
    await relay.close()
    // Some are open, whatever the history.
    const remote = await openRelay({ store, settings })
    for (let n = 0; n < 20; n++) await remote.request(request(), { wait: false })
    await remote.close()
    await store.close()
    folders.push(at)
  }
  const inside: number[][] = folders.map(() => [])
  const whole: number[][] = folders.map(() => [])
  for (let n = 0; n < starts; n++) {
    for (const [i, at] of folders.entries()) {
      const start = performance.now()
      const started = child('--cold', at)
      const [line] = (await once(createInterface(started.stdout!), 'line')) as [string]
      await once(started, 'close')
      whole[i]!.push(performance.now() - start)
      inside[i]!.push(Number(line))
    }
  }
  const [short, long] = histories.map((count) => `${count.toLocaleString('en')} requests`)
  const ratio = median(whole[1]!) / median(whole[0]!)
  return {
    title: 'A cold start: open, inbox, status and one request',
    note: `A new process each, median of ${starts}, turn by turn; inside: without the start of Node and the modules, where reading the index of the tape, 50 bytes a request, shows.`,
    columns: [`after ${short}`, `after ${long}`],
    rows: [
      { name: 'the whole process', unit: 'ms', values: whole.map(median) },
      { name: 'inside', unit: 'ms', values: inside.map(median) },
    ],
    bars: [{ name: `a start after ${long} beside ${short}`, value: ratio, unit: '×', atMost: 2 }],
  }
}

async function startCold(at: string): Promise<void> {
  const start = performance.now()
  const store = await openFileStore(at)
  const relay = await openRelay({ store, settings })
  await relay.inbox('researcher')
  await relay.status()
  await relay.request(request(), { wait: false })
  process.stdout.write(`${performance.now() - start}\n`)
  await relay.close()
  await store.close()
}

/** Three processes claim from one inbox; one of them is killed again and again. */
async function killed(): Promise<Section> {
  const at = path.join(folder, 'crowd')
  const store = await openFileStore(at)
  const relay = await openRelay({ store, settings: archiving })
  const ids = Array.from({ length: crowd }, (_, i) => `r${i}`)
  await among(crowd, (i) => relay.request(request(), { requestId: ids[i]!, wait: false }))
  const start = performance.now()
  const steady = [child('--serve', at, 'steady-1'), child('--serve', at, 'steady-2')]
  const done = new AbortController()
  const answered = Promise.all(ids.map((id) => relay.wait(id))).finally(() => done.abort())
  let kills = 0
  const killing = (async () => {
    while (!done.signal.aborted) {
      const victim = child('--serve', at, `victim-${kills}`)
      await Promise.race([linesOf(victim, 5 + (kills % 17) * 7), answered])
      victim.kill('SIGKILL')
      await once(victim, 'close')
      kills++
    }
  })()
  await answered
  const seconds = (performance.now() - start) / 1000
  await killing
  for (const each of steady) each.kill('SIGKILL')
  // A request that three workers died with is set aside for a person, who tries it again here: it must be answered then.
  const dead = await relay.deadLetters.list()
  const serving = new AbortController()
  const served = relay.serve('researcher', () => resolved, { signal: serving.signal })
  for (const { requestId } of dead) {
    await relay.deadLetters.retry(requestId, { by: 'bench' })
    await relay.wait(requestId)
  }
  serving.abort()
  await served
  const times = new Map<string, number>()
  let afterwards = 0
  // The newest first: a claim without an answer behind it came after the answer.
  for await (const row of relay.history()) {
    if (row.type === 'claimed' && !times.has(row.requestId)) afterwards++
    if (row.type !== 'answered' || row.response.status !== 'resolved') continue
    times.set(row.requestId, (times.get(row.requestId) ?? 0) + 1)
  }
  const lost = ids.filter((id) => !times.has(id)).length
  const twice = [...times.values()].filter((count) => count > 1).length
  const archives = (await store.archives('relay/handoffs')).length
  await relay.close()
  await store.close()
  return {
    title: 'Three processes claim from one inbox, one is killed again and again',
    note: `${crowd.toLocaleString('en')} requests; every one is claimed, answered and waited for, and archived meanwhile; dead letters are tried again.`,
    columns: ['answered', 'kills', 'dead letters', 'archives', 'per second'],
    rows: [{ name: 'requests', unit: '', values: [times.size, kills, dead.length, archives, times.size / seconds] }],
    bars: [
      { name: 'requests lost', value: lost, unit: '', atMost: 0 },
      { name: 'requests answered twice', value: twice, unit: '', atMost: 0 },
      { name: 'claims of requests that were answered', value: afterwards, unit: '', atMost: 0 },
    ],
  }
}

function linesOf(started: ChildProcess, count: number): Promise<void> {
  let seen = 0
  return new Promise((resolve) => {
    createInterface(started.stdout!).on('line', () => ++seen === count && resolve())
    started.once('close', () => resolve())
  })
}

async function serve(at: string, worker: string): Promise<void> {
  const store = await openFileStore(at)
  const relay: Relay = await openRelay({ store, settings: archiving })
  const handler = (_body: object, { envelope }: { envelope: { requestId: string } }) => {
    process.stdout.write(`${envelope.requestId}\n`)
    return resolved
  }
  await relay.serve('researcher', handler, { signal: new AbortController().signal, worker, concurrency: 4 })
}
