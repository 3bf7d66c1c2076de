// npm run bench engines [-- --quick] [postgres] [langgraph] [nats] [contexts] [relay]
//
// What the engines on servers cost beside the bare statements and publishes that they are made of, how the cost of a context grows
// with its tape, and how soon a relay answer reaches a waiting process. What counts are the ratios within one run; the absolute
// figures belong to the machine.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import pg from 'pg'
import { openRelay, relaySection } from '../src/relay/index.ts'
import { type Draft, openStore, type Store } from '../src/store/index.ts'
import { openTape } from '../src/tape/index.ts'
import { request, resolved, team } from '../test/relay/team.ts'
import { startNats } from '../test/support/nats.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { installPeers, langGraphOnPostgres } from './peers.ts'
import { type Bar, isMet, keepResults, machine, render, type Section } from './table.ts'

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const appends = quick ? 2_000 : 10_000
const rounds = quick ? 3 : 5
/** Each takes half a minute. */
const langGraphRounds = 3
const lengths = quick ? [1_000, 50_000] : [1_000, 1_000_000]
const answers = quick ? 50 : 200

const draft: Draft = { kind: 'message', payload: { role: 'user', content: 'x'.repeat(200) } }
const rest = `,"kind":"message","payload":${JSON.stringify(draft.payload)},"meta":{},"date":"2026-01-01T00:00:00.000Z"`

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-bench-'))
const [postgres, nats] = await Promise.all([startPostgres({ durable: true }), startNats()])
try {
  const all = { postgres: onPostgres, langgraph: besideLangGraph, nats: onNats, contexts, relay: relayAnswers }
  const sections: Section[] = []
  for (const [name, measure] of Object.entries(all)) if (isWanted(name)) sections.push(await measure())
  const about = machine(folder)
  const line = `${about.cpu}, ${about.cores} cores, Node ${about.node}, ${about.system}, ${about.fileSystem}`
  process.stdout.write(render(line, sections, args.includes('--markdown')))
  if (args.length === 0) keepResults('engines', folder, sections)
  if (!sections.flatMap(({ bars }) => bars).every((bar: Bar) => isMet(bar))) process.exitCode = 1
} finally {
  await Promise.all([postgres.stop(), nats.stop()])
  fs.rmSync(folder, { recursive: true, force: true })
}

function isWanted(name: string): boolean {
  const named = args.filter((arg) => !arg.startsWith('--'))
  return named.length === 0 || named.includes(name)
}

/** Calls a second with so many callers at once. */
async function rate(callers: number, work: (caller: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const start = performance.now()
  const caller = async (at: number) => {
    while (next++ < appends) await work(at)
  }
  await Promise.all(Array.from({ length: callers }, (_, at) => caller(at)))
  return appends / ((performance.now() - start) / 1_000)
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!
}

/** Each caller has a connection and a tape of its own; the bare statement takes the next id and inserts the row. */
async function onPostgres(): Promise<Section> {
  const callers = 16
  const pool = new pg.Pool({ connectionString: postgres.address('x').replace(/&schema=.*/, ''), max: callers })
  await pool.query('create table heads (tape int primary key, head bigint not null)')
  await pool.query('create table rows (tape int, id bigint, rest text not null, primary key (tape, id))')
  const bareSql = `with h as (update heads set head = head + 1 where tape = $1 and head = $2 returning head)
    insert into rows select $1, head, $3 from h`
  const [engine, bare]: number[][] = [[], []]
  for (let round = 0; round < rounds; round++) {
    const heads = Array.from({ length: callers }, () => 0)
    await pool.query('truncate heads, rows')
    await pool.query(`insert into heads select n, 0 from generate_series(0, ${callers - 1}) n`)
    const insert = (at: number) => pool.query({ name: 'bare', text: bareSql, values: [at, heads[at]!++, rest] })
    await Promise.all(heads.map((_, at) => insert(at)))
    bare!.push(await rate(callers, insert))
    // A process has ten connections, so two of them bring sixteen callers to the server at once.
    const stores = await Promise.all([1, 2].map(() => openStore(postgres.address(`p${round}`))))
    // The first appends make the tapes and open the connections.
    const append = (at: number) => stores[at % 2]!.append(`t${at}`, [draft])
    for (let turn = 0; turn < 2; turn++) await Promise.all(heads.map((_, at) => append(at)))
    engine!.push(await rate(callers, append))
    for (const store of stores) await store.close()
  }
  await pool.end()
  return {
    title: 'PostgreSQL: appends of one entry, 16 callers on 16 tapes',
    note: 'Bare: a conditional update of the head and an insert, in one statement.',
    columns: ['engine', 'bare'],
    rows: [{ name: 'appends', unit: '/s', values: [median(engine!), median(bare!)] }],
    bars: [{ name: 'engine to bare insert', value: median(engine!) / median(bare!), unit: '×', atLeast: 0.7 }],
  }
}

/**
 * One caller each, one message at a time: what an agent's loop waits for. A checkpoint of LangGraph holds all messages so far, so what it
 * takes grows with them; the engine takes the same for each.
 */
async function besideLangGraph(): Promise<Section> {
  installPeers({ compiled: false })
  const counts = quick ? [100] : [500, 2_000]
  const times = counts.map((): { ours: number[]; theirs: number[] } => ({ ours: [], theirs: [] }))
  for (let round = 0; round < langGraphRounds; round++) {
    for (const [at, count] of counts.entries()) {
      const name = `lg${round}of${count}`
      const admin = new pg.Client(postgres.address('x').replace(/&schema=.*/, ''))
      await admin.connect()
      await admin.query(`create database ${name}`)
      await admin.end()
      const address = `postgres://baton@/${name}?host=${encodeURIComponent(postgres.folder)}`
      const store = await openStore(postgres.address(name))
      await store.append('main', [draft])
      times[at]!.ours.push(await msPerMessage(count, () => repeat(count, () => store.append('main', [draft]))))
      await store.close()
      times[at]!.theirs.push(await msPerMessage(count, () => langGraphOnPostgres(address, count)))
    }
  }
  const ours = times.map((each) => median(each.ours))
  const theirs = times.map((each) => median(each.theirs))
  return {
    title: "PostgreSQL beside LangGraph's checkpointer, a message of a conversation, one by one",
    note: 'LangGraph with a checkpoint for each message, durable before the next; each checkpoint holds the messages so far.',
    columns: counts.map((count) => `of ${count.toLocaleString('en')}`),
    rows: [
      { name: 'engine', unit: 'ms', values: ours },
      { name: 'LangGraph', unit: 'ms', values: theirs },
    ],
    bars: counts.map((count, at) => ({
      name: `LangGraph's checkpointer to engine, ${count.toLocaleString('en')} messages`,
      value: theirs[at]! / ours[at]!,
      unit: '×',
      atLeast: 20,
    })),
  }
}

async function msPerMessage(count: number, work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / count
}

async function repeat(times: number, work: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < times; n++) await work()
}

async function onNats(): Promise<Section> {
  const callers = 64
  const connection = await connect({ servers: /\/\/([^/]*)\//.exec(nats.address('x'))![1]! })
  const js = jetstream(connection)
  await (await jetstreamManager(connection, { checkAPI: false })).streams.add({ name: 'bare', subjects: ['bare.>'] })
  const [one, many, bare]: number[][] = [[], [], []]
  let n = 0
  for (let round = 0; round < rounds; round++) {
    bare!.push(await rate(callers, () => js.publish(`bare.${n++}`, rest)))
    const store = await openStore(nats.address(`n${round}`))
    for (let at = 0; at < callers; at++) await store.append(`t${at}`, [draft])
    many!.push(await rate(callers, (at) => store.append(`t${at}`, [draft])))
    one!.push(await rate(callers, () => store.append('one', [draft])))
    await store.close()
  }
  await connection.close()
  return {
    title: 'NATS, one server: appends of one entry, 64 callers',
    note: 'Bare: 64 publishes in flight, each acknowledged.',
    columns: ['64 tapes', 'one tape', 'bare'],
    rows: [{ name: 'appends', unit: '/s', values: [median(many!), median(one!), median(bare!)] }],
    bars: [
      { name: 'engine on 64 tapes to bare publish', value: median(many!) / median(bare!), unit: '×', atLeast: 0.6 },
    ],
  }
}

/** The last 100 entries behind an anchor, read by a process that has just opened the store. */
async function contexts(): Promise<Section> {
  const rows: { name: string; unit: string; values: number[] }[] = []
  const bars: Bar[] = []
  for (const [name, address] of [
    ['postgres', postgres.address('c')],
    ['nats', nats.address('c')],
  ] as const) {
    for (const length of lengths) {
      const store = await openStore(address)
      await store.create(`t${length}`, batchesOf(length))
      for (let at = 0; at < 50; at++) await store.append(`t${length}`, [draft, draft])
      await store.close()
    }
    // In turn, so that whatever else the machine does falls on both alike.
    const times = lengths.map((): number[] => [])
    for (let turn = 0; turn < 15; turn++) {
      for (const [at, length] of lengths.entries()) times[at]!.push(await contextMs(address, `t${length}`))
    }
    const values = times.map(median)
    rows.push({ name, unit: 'ms', values })
    bars.push({
      name: `context of a long tape to a short one, ${name}`,
      value: values[1]! / values[0]!,
      unit: '×',
      atMost: 2,
    })
  }
  const columns = lengths.map((length) => `${length.toLocaleString('en')} entries`)
  return {
    title: 'A context of 100 entries',
    note: 'In a process that has just opened the store.',
    columns,
    rows,
    bars,
  }
}

function* batchesOf(length: number): Generator<Draft[]> {
  for (let at = 0; at < length; at += 1_000) {
    const batch = Array.from({ length: 1_000 }, () => draft)
    batch[999] = { kind: 'anchor', payload: { name: `a${at}`, state: {} } }
    yield batch
  }
}

async function contextMs(address: string, name: string): Promise<number> {
  const store: Store = await openStore(address)
  const start = performance.now()
  await (await openTape(name, { store })).context({ format: 'openai' })
  const ms = performance.now() - start
  await store.close()
  return ms
}

/** From the moment a worker answers to the moment the asker, on another connection, has it. */
async function relayAnswers(): Promise<Section> {
  const settings = relaySection.parse({ ...team, limits: { handoffTimeoutMs: 3_600_000 } })
  const [here, there] = await Promise.all([openStore(postgres.address('r')), openStore(postgres.address('r'))])
  const [asking, working] = [await openRelay({ store: here, settings }), await openRelay({ store: there, settings })]
  let answered = 0
  void working.serve('researcher', () => {
    answered = performance.now()
    return resolved
  })
  const times: number[] = []
  for (let n = 0; n < answers; n++) {
    await asking.request(request())
    times.push(performance.now() - answered)
  }
  for (const each of [asking, working]) await each.close()
  for (const each of [here, there]) await each.close()
  return {
    title: 'A relay answer on PostgreSQL',
    note: 'From the end of the worker to the waiting asker, on another connection.',
    columns: ['median'],
    rows: [{ name: 'answer', unit: 'ms', values: [median(times)] }],
    bars: [{ name: 'answer to a waiting process, median', value: median(times), unit: 'ms', atMost: 10 }],
  }
}
