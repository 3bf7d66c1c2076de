// npm run bench tape [-- --quick] [-- --markdown]
//
// How fast and how small the tape is, beside what the disk allows and what else there is. What counts are the ratios
// within one run; the absolute figures belong to the machine. Nothing here gates a test. A full run takes about four
// minutes and 3 GB of temporary space, and is kept in docs/bench/results; a quick one only shows that everything runs.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { openFileStore } from '../src/store/index.ts'
import { openTape } from '../src/tape/index.ts'
import { type Contender, median, race, ratio } from './contest.ts'
import { amongCallers, groupLoop, syncLoop } from './floor.ts'
import { message } from './messages.ts'
import { installPeers, langGraph, pi, sqlite } from './peers.ts'
import { fillTape, inChild, keepers, type Load, measure, type Reading, tapeName } from './reading.ts'
import { keepResults, machine, render, type Section } from './table.ts'

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const callers = 64

if (args[0] === '--child') console.log(JSON.stringify(await measure(args.slice(1))))
else await main()

async function main(): Promise<void> {
  installPeers({ compiled: true })
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-bench-'))
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }))
  const stop = () => process.exit(130)
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const where = machine(folder)
  const date = new Date().toISOString()
  const sections = [await appends(folder), ...(await tapes(folder))]
  const line = `${date.slice(0, 10)}, ${where.cpu} (${where.cores} cores, ${where.memoryGiB} GiB), ${where.system}, ${where.fileSystem}, Node ${where.node}${quick ? ', quick' : ''}`
  console.log(render(line, sections, args.includes('--markdown')))
  keepResults('tape', folder, sections, { quick })
}

function baton(name: string, count: number): Contender {
  return {
    name,
    async open(folder) {
      const tape = await openTape(tapeName, { address: path.join(folder, `baton-${count}`) })
      return {
        append: (from, to) => amongCallers(count, from, to, (i) => tape.record({ ...message(i) })),
        close: () => tape.close(),
      }
    },
  }
}

async function appends(folder: string): Promise<Section> {
  const messages = quick ? 2_000 : 20_000
  const rounds = quick ? 1 : 3
  const course = { folder, messages, slice: messages / 20, rounds }
  say(`durable append, one caller (${rounds} × ${messages} messages each)`)
  const one = baton('Baton', 1)
  const alone = await race([syncLoop, one, sqlite], course)
  say(`durable append, ${callers} callers`)
  const many = baton('Baton', callers)
  const floor = groupLoop(callers)
  const together = await race([floor, many], course)
  say('peers that do not sync')
  const unsynced = await race([pi], { ...course, rounds: 1 })
  const few = quick ? 200 : 2_000
  const checkpoints = await race([langGraph], { ...course, messages: few, slice: few / 20, rounds: 1 })
  const row = (name: string, ...values: (number | undefined)[]) => ({ name, unit: '/s', values })
  return {
    title: 'Append, messages a second',
    note: `${messages.toLocaleString('en')} messages of 300 bytes in slices taken in turns, medians of ${rounds * 20}; LangGraph ${few.toLocaleString('en')}, since each of its checkpoints holds them all.`,
    columns: ['1 caller', `${callers} callers`],
    rows: [
      row('floor (write + fdatasync)', alone.get(syncLoop)!.rate, together.get(floor)!.rate),
      row('Baton', alone.get(one)!.rate, together.get(many)!.rate),
      row(sqlite.name, alone.get(sqlite)!.rate),
      row(pi.name, unsynced.get(pi)!.rate),
      row(langGraph.name, checkpoints.get(langGraph)!.rate),
    ],
    bars: [
      {
        name: 'append, 1 caller, to the floor',
        value: ratio(alone.get(one)!, alone.get(syncLoop)!),
        unit: '×',
        atLeast: 0.8,
      },
      {
        name: 'append, 1 caller, to SQLite with FULL',
        value: ratio(alone.get(one)!, alone.get(sqlite)!),
        unit: '×',
        atLeast: 0.8,
      },
      {
        name: `append, ${callers} callers, to the floor`,
        value: ratio(together.get(many)!, together.get(floor)!),
        unit: '×',
        atLeast: 0.6,
      },
    ],
  }
}

async function tapes(folder: string): Promise<Section[]> {
  const sizes = quick ? [1_000, 10_000, 100_000] : [1_000, 100_000, 1_000_000, 5_000_000]
  for (const size of sizes) {
    say(`building a tape of ${size.toLocaleString('en')} entries`)
    const store = await openFileStore(home(folder, size))
    await fillTape(store, size)
    await store.append(tapeName, [{ kind: 'message', payload: message(size) }])
    await store.close()
  }
  const largest = home(folder, sizes.at(-1)!)
  const sections = [contexts(folder, sizes), await bytes(folder, largest, sizes.at(-1)!)]
  const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
  if (fs.existsSync(cli)) sections.push(startUp(cli, largest))
  return sections
}

function contexts(folder: string, sizes: readonly number[]): Section {
  const rounds = quick ? 3 : 7
  const readings = new Map(sizes.map((size) => [size, [] as Reading[]]))
  say('contexts')
  for (let round = 0; round < rounds; round++) {
    for (const size of sizes) readings.get(size)!.push(inChild('context', home(folder, size), String(size)) as Reading)
  }
  const of = (size: number, field: keyof Reading) => median(readings.get(size)!.map((reading) => reading[field]))
  const row = (name: string, field: keyof Reading, unit = 'ms') => ({
    name,
    unit,
    values: sizes.map((size) => of(size, field)),
  })
  const peers = keepers.flatMap((keeper, number) => {
    say(`${keeper.name} at 100,000`)
    const at = path.join(folder, `peer-${number}`)
    fs.mkdirSync(at)
    inChild('fill', at, keeper.name)
    const runs = Array.from({ length: 3 }, () => inChild('load', at, keeper.name) as Load)
    const cells = (field: 'ms' | 'memory') =>
      sizes.map((size) => (size === 100_000 ? median(runs.map((run) => run[field])) : undefined))
    return [
      { name: keeper.name, unit: 'ms', values: cells('ms') },
      { name: `${keeper.name}, memory`, unit: 'MB', values: cells('memory') },
    ]
  })
  const [small, large] = [sizes[0]!, sizes.at(-1)!]
  const growth = (name: string, field: keyof Reading) => ({
    name: `${name}, ${large.toLocaleString('en')} to ${small.toLocaleString('en')} entries`,
    value: of(large, field) / of(small, field),
    unit: '×',
    atMost: 2,
  })
  return {
    title: 'Context from a tape of so many entries',
    note: `An anchor every 200. Medians of ${rounds} fresh processes; of the contexts, of 25 in each. The peers at 100,000 messages: SQLite the last 200, pi and LangGraph all, as they do.`,
    columns: sizes.map((size) => size.toLocaleString('en')),
    rows: [
      row('open', 'open'),
      row('first context in a process', 'first'),
      row('context after the last anchor', 'last'),
      row('after a named anchor, three phases back', 'named'),
      row('between two named anchors in the middle', 'middle'),
      row('most memory resident', 'memory', 'MB'),
      ...peers,
    ],
    bars: [
      growth('context after the last anchor', 'last'),
      growth('context after a named anchor', 'named'),
      growth('context between named anchors', 'middle'),
      { name: `open, ${large.toLocaleString('en')} entries`, value: of(large, 'open'), unit: 'ms', atMost: 50 },
      { name: `resident, ${large.toLocaleString('en')} entries`, value: of(large, 'memory'), unit: 'MB', atMost: 150 },
    ],
  }
}

/** What a tape adds to the messages on it. */
async function bytes(folder: string, largest: string, entries: number): Promise<Section> {
  const singly = path.join(folder, 'singly')
  const store = await openFileStore(singly)
  const count = quick ? 2_000 : 20_000
  const append = (i: number) => store.append(tapeName, [{ kind: 'message', payload: message(i) }])
  await amongCallers(callers, 0, count, append)
  const added = await perEntry(singly)
  const batched = await perEntry(largest)
  await store.close()
  return {
    title: 'Bytes on disk for each entry, beyond the JSON of its payload',
    note: 'The tape and its index.',
    columns: [`${count.toLocaleString('en')}, one by one`, `${entries.toLocaleString('en')}, in batches of 1,000`],
    rows: [
      { name: 'tape', unit: 'B', values: [added.tape, batched.tape] },
      { name: 'index', unit: 'B', values: [added.index, batched.index] },
    ],
    bars: [
      { name: 'bytes an entry, one by one', value: added.tape + added.index, unit: 'B', atMost: 110 },
      { name: 'bytes an entry, in batches', value: batched.tape + batched.index, unit: 'B', atMost: 110 },
    ],
  }
}

async function perEntry(home: string): Promise<{ tape: number; index: number }> {
  const store = await openFileStore(home)
  let payloads = 0
  let entries = 0
  for await (const { payload } of store.read(tapeName)) {
    payloads += Buffer.byteLength(JSON.stringify(payload))
    entries++
  }
  await store.close()
  const size = (file: string) => fs.statSync(path.join(home, 'tape', file)).size
  return { tape: (size(`${tapeName}.jsonl`) - payloads) / entries, index: size(`${tapeName}.idx`) / entries }
}

function startUp(cli: string, home: string): Section {
  say('start of the CLI')
  const runs = 15
  const commands = { node: ['-e', '0'], baton: [cli, 'tape', 'info', tapeName, '--workspace', home] }
  const times = { node: [] as number[], baton: [] as number[] }
  for (let i = 0; i < runs; i++) {
    for (const name of ['node', 'baton'] as const) {
      const start = performance.now()
      const { status, stderr } = spawnSync(process.execPath, commands[name], { encoding: 'utf8' })
      if (status !== 0) throw new Error(`${name} failed\n${stderr}`)
      times[name].push(performance.now() - start)
    }
  }
  const size = fs.statSync(path.join(home, 'tape', `${tapeName}.jsonl`)).size / 1e9
  return {
    title: 'Start of the CLI',
    note: `A tape of ${size.toFixed(1)} GB; medians of ${runs}, in turns.`,
    columns: ['time'],
    rows: [
      { name: 'node -e 0', unit: 'ms', values: [median(times.node)] },
      { name: 'baton tape info', unit: 'ms', values: [median(times.baton)] },
    ],
    bars: [
      {
        name: 'baton tape info to node -e 0',
        value: median(times.baton.map((time, i) => time / times.node[i]!)),
        unit: '×',
        atMost: 2.5,
      },
    ],
  }
}

function home(folder: string, size: number): string {
  return path.join(folder, `tape-${size}`)
}

function say(step: string): void {
  process.stderr.write(`bench: ${step}\n`)
}
