// npm run bench agent [-- --quick] [-- --markdown]
//
// What a turn of the agent costs apart from its model, by how long its tape is: a prompt, a call, its result, an answer.
// Beside it the same loop on LangGraph with its SQLite checkpointer. The models answer at once, so all that is measured is
// the loop and what it keeps. What counts are the ratios within one run; a full one is kept in docs/bench/results.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { LanguageModel } from 'ai'
import * as z from 'zod'
import { createAgent } from '../src/agent/index.ts'
import { openFileStore, type Store } from '../src/store/index.ts'
import { openTape } from '../src/tape/index.ts'
import { median } from './contest.ts'
import { message } from './messages.ts'
import { installPeers, langGraphLoop } from './peers.ts'
import { keepResults, machine, render, type Section } from './table.ts'

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const sizes = quick ? [100, 10_000] : [100, 10_000, 100_000]
const turns = quick ? 30 : 300
/** By size: LangGraph keeps the whole state in each checkpoint, so that few turns take long enough. */
const peerTurns = quick ? [10, 2] : [50, 5, 2]
/** Entries since the last anchor, on every tape: what the model is given is the same. */
const phase = 40

await main()

async function main(): Promise<void> {
  installPeers({ compiled: true })
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-bench-'))
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }))
  const where = machine(folder)
  const date = new Date().toISOString()
  const section = await compare(folder)
  const line = `${date.slice(0, 10)}, ${where.cpu} (${where.cores} cores, ${where.memoryGiB} GiB), ${where.system}, ${where.fileSystem}, Node ${where.node}${quick ? ', quick' : ''}`
  console.log(render(line, [section], args.includes('--markdown')))
  keepResults('agent', folder, [section], { quick })
}

interface Loop {
  turn(n: number): Promise<void>
  close(): Promise<void>
}

async function compare(folder: string): Promise<Section> {
  const ours: Loop[] = []
  const peers: Loop[] = []
  for (const size of sizes) {
    say(`a tape and a thread of ${size.toLocaleString('en')} messages`)
    ours.push(await batonLoop(path.join(folder, `baton-${size}`), size))
    const at = path.join(folder, `langgraph-${size}`)
    fs.mkdirSync(at)
    peers.push(await langGraphLoop(at, size))
  }
  say(`${turns} turns on each tape, taken in turns`)
  const own = await inTurns(ours, turns)
  const other: number[][] = []
  for (const [i, loop] of peers.entries()) {
    say(`${peerTurns[i]} turns on a thread of ${sizes[i]!.toLocaleString('en')}`)
    other.push(...(await inTurns([loop], peerTurns[i]!, 1)))
  }
  for (const loop of [...ours, ...peers]) await loop.close()
  const [small, large] = [own[0]!, own.at(-1)!]
  const last = sizes.at(-1)!.toLocaleString('en')
  return {
    title: 'A turn apart from its model, by messages kept',
    note: `A prompt, a call, its result and an answer, two calls to a model that answers at once; medians of ${turns} turns, taken in turns (LangGraph: ${peerTurns.join(', ')}). Baton syncs every step to disk; LangGraph's checkpointer does not. Baton gives the model the ${phase} messages since the last anchor; LangGraph's graph gives it the last ${phase} of its state.`,
    columns: sizes.map((size) => size.toLocaleString('en')),
    rows: [
      { name: 'Baton', unit: 'ms', values: own.map(median) },
      { name: "LangGraph's SQLite checkpointer", unit: 'ms', values: other.map(median) },
    ],
    bars: [
      {
        name: `a turn at ${last} entries beside 100`,
        value: median(large.map((ms, i) => ms / small[i]!)),
        unit: '×',
        atMost: 2,
      },
    ],
  }
}

/** Milliseconds of each turn, per loop; neighbours meet the same weather. */
async function inTurns(loops: readonly Loop[], count: number, warmUp = 5): Promise<number[][]> {
  const times = loops.map((): number[] => [])
  for (let n = -warmUp; n < count; n++) {
    for (const [i, loop] of loops.entries()) {
      const start = performance.now()
      await loop.turn(n)
      // The first turns warm up the compiler and are not counted.
      if (n >= 0) times[i]!.push(performance.now() - start)
    }
  }
  return times
}

async function batonLoop(folder: string, size: number): Promise<Loop> {
  const store = await openFileStore(folder)
  await fill(store, size)
  const agent = await createAgent({
    store,
    tape: 'main',
    cwd: folder,
    model: instantModel(),
    window: 200_000,
    tools: [
      {
        name: 'test.add',
        description: 'Adds',
        input: z.object({ a: z.number(), b: z.number() }),
        run: async (input) => {
          const { a, b } = input as { a: number; b: number }
          return { output: a + b }
        },
      },
    ],
  })
  return {
    async turn(n) {
      // All tapes grow alike; their contexts start anew together.
      if (n > 0 && n % 20 === 0) await agent.submit(',handoff name=phase summary="Went on"')
      const result = await agent.submit(`What is ${n} and 1?`)
      if (result.kind !== 'turn' || result.status !== 'done') throw new Error(JSON.stringify(result))
    },
    async close() {
      await agent.close()
      await store.close()
    },
  }
}

async function fill(store: Store, size: number): Promise<void> {
  const tape = await openTape('main', { store })
  const batch = 500
  for (let at = 0; at < size - phase; at += batch) {
    const count = Math.min(batch, size - phase - at)
    await tape.append(Array.from({ length: count }, (_, i) => ({ kind: 'message', payload: { ...message(at + i) } })))
    if (at % 5_000 === 0) await tape.handoff(`phase/${at}`)
  }
  await tape.handoff('phase/last', { state: { summary: 'Everything before' } })
  await tape.append(Array.from({ length: phase }, (_, i) => ({ kind: 'message', payload: { ...message(i) } })))
}

type Model = Extract<LanguageModel, { specificationVersion: 'v3' }>
type Part = Awaited<ReturnType<Model['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never

/** Calls the tool for every prompt, and answers its result. */
function instantModel(): Model {
  const usage = {
    inputTokens: { total: 2_000, noCache: 2_000, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 20, text: 20, reasoning: 0 },
  }
  let calls = 0
  return {
    specificationVersion: 'v3',
    provider: 'instant',
    modelId: 'instant',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('only streams')),
    doStream: async ({ prompt }) => {
      const isAnswered = prompt.at(-1)!.role === 'tool'
      const said: Part[] = isAnswered
        ? [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: 'It is one more.' },
            { type: 'text-end', id: '1' },
          ]
        : [{ type: 'tool-call', toolCallId: `call_${calls++}`, toolName: 'test_add', input: '{"a":1,"b":1}' }]
      const unified = isAnswered ? 'stop' : 'tool-calls'
      return {
        stream: new ReadableStream<Part>({
          start(controller) {
            controller.enqueue({ type: 'stream-start', warnings: [] })
            for (const part of said) controller.enqueue(part)
            controller.enqueue({ type: 'finish', finishReason: { unified, raw: unified }, usage })
            controller.close()
          },
        }),
      }
    },
  }
}

function say(text: string): void {
  process.stderr.write(`bench: ${text}\n`)
}
