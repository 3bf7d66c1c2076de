// What a process sees that opens a tape and builds a context from it. Each figure comes from a fresh process, so that
// the memory is that of one reader and nothing is warm but the disk cache.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Store } from '../src/store/index.ts'
import { openTape, type Tape } from '../src/tape/index.ts'
import { median } from './contest.ts'
import { message } from './messages.ts'
import { type Keeper, langGraph, pi, sqlite } from './peers.ts'

export const keepers: readonly Keeper[] = [sqlite, pi, langGraph]
export const tapeName = 'main'
export const anchorEvery = 200
const calls = 25

export interface Reading {
  /** Milliseconds; of the contexts, the median of many. */
  readonly open: number
  readonly first: number
  readonly last: number
  readonly named: number
  readonly middle: number
  /** The most memory the process ever had resident, in MB. */
  readonly memory: number
}

/** A peer's read of the same messages. */
export interface Load {
  readonly ms: number
  readonly memory: number
}

/** A tape of so many messages, with an anchor before every 200. */
export async function fillTape(store: Store, entries: number): Promise<void> {
  const draft = (i: number) =>
    i % anchorEvery === 0
      ? { kind: 'anchor', payload: { name: `phase/${i / anchorEvery}`, state: { summary: message(i).content } } }
      : { kind: 'message', payload: message(i) }
  function* batches() {
    for (let at = 0; at < entries; at += 1_000) {
      yield Array.from({ length: Math.min(1_000, entries - at) }, (_, i) => draft(at + i))
    }
  }
  await store.create(tapeName, batches())
}

/** Runs `measure` in a process of its own. */
export function inChild(...job: string[]): unknown {
  const self = fileURLToPath(import.meta.url)
  const { status, stdout, stderr } = spawnSync(process.execPath, [self, '--child', ...job], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${job.join(' ')} failed\n${stderr}`)
  return JSON.parse(stdout) as unknown
}

/** The other side of `inChild`. */
export async function measure([job, folder = '', detail = '']: string[]): Promise<unknown> {
  if (job === 'context') return readTape(folder, Number(detail))
  const keeper = keepers.find(({ name }) => name === detail)!
  if (job === 'fill') {
    await keeper.fill(folder, 100_000)
    return {}
  }
  const read = await keeper.prepare(folder)
  const { ms, result } = await timed(read)
  if (result !== 200 && result !== 100_000) throw new Error(`${keeper.name} read ${result} messages`)
  return { ms, memory: peakMemory() } satisfies Load
}

async function readTape(folder: string, entries: number): Promise<Reading> {
  const phases = Math.ceil(entries / anchorEvery)
  const middle = phases >> 1
  const { ms: open, result: tape } = await timed(() => openTape(tapeName, { address: folder }))
  const { ms: first } = await timed(() => contextOf(tape, 200))
  const reading = {
    open,
    first,
    last: await medianTime(() => contextOf(tape, 200)),
    named: await medianTime(() => contextOf(tape, 600, `phase/${phases - 3}`)),
    middle: await medianTime(() => tape.betweenAnchors(`phase/${middle}`, `phase/${middle + 1}`)),
    memory: peakMemory(),
  }
  await tape.close()
  return reading
}

async function contextOf(tape: Tape, atLeast: number, anchor?: string): Promise<void> {
  const { messages } = await tape.context(anchor === undefined ? {} : { anchor })
  if (messages.length < atLeast) throw new Error(`a context of only ${messages.length} messages`)
}

async function medianTime(work: () => Promise<unknown>): Promise<number> {
  const times = []
  for (let i = 0; i < calls; i++) times.push((await timed(work)).ms)
  return median(times)
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const start = performance.now()
  const result = await work()
  return { ms: performance.now() - start, result }
}

/** The kernel's own mark, where it shows one: what `getrusage` says includes the parent before its fork. */
function peakMemory(): number {
  try {
    const mark = /^VmHWM:\s+(\d+) kB$/m.exec(fs.readFileSync('/proc/self/status', 'utf8'))
    return Number(mark![1]) / 1024
  } catch {
    return process.memoryUsage().rss / 2 ** 20 // no /proc on this system
  }
}
