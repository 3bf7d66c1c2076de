// `baton store copy` and `baton store verify`: a whole workspace from one engine to another, and whether it is as it was written.

import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { BatonError, NotFoundError } from '../errors.ts'
import { copyStore, type CopyProgress, differences, openStore, type Store } from '../store/index.ts'
import { count, type Globals, Output } from './base/output.ts'
import { ProgressLine } from './base/progress.ts'
import { withStore } from './base/workspace.ts'

export async function copy(options: Globals, from: string, to: string): Promise<void> {
  const out = new Output(options)
  const line = new ProgressLine(options, { everyMs: 200 })
  const source = await openStore(addressFrom(options, from))
  try {
    if ((await source.contents()).tapes.length === 0)
      throw new NotFoundError(`There is nothing to copy in ${source.place}`)
    const target = await openStore(addressFrom(options, to), { workspace: source.workspace })
    const begun = performance.now()
    try {
      const done = await copyStore(source, target, (progress) => line.show(paceOf(progress, performance.now() - begun)))
      line.clear()
      const text = `Copied ${count(done.entries)} entries and ${count(done.blobs)} blobs from ${source.place} to ${target.place}`
      out.record({ from: source.place, to: target.place, entries: done.entries, blobs: done.blobs }, text)
      out.note(`Check it: baton store verify TO --store FROM`)
      out.note(target.guarantee)
    } finally {
      line.clear()
      await target.close()
    }
  } finally {
    await source.close()
  }
}

function addressFrom({ io }: Globals, given: string): string {
  return /^[a-z][a-z+]*:/.test(given) ? given : path.resolve(io.cwd(), given)
}

function paceOf({ entries, ofEntries, blobs }: CopyProgress, ms: number): string {
  const rate = entries / (ms / 1_000)
  const left = rate > 0 ? Math.ceil((ofEntries - entries) / rate) : undefined
  const pace = left === undefined ? '' : `, ${count(Math.round(rate))}/s, ${left} s left`
  return `${count(entries)} of ${count(ofEntries)} entries, ${count(blobs)} blobs${pace}`
}

export async function verify(options: Globals, other: string | undefined): Promise<void> {
  await withStore(options, async (store, out) => {
    const line = new ProgressLine(options, { everyMs: 200 })
    const found: string[] = []
    const note = (problem: string) => {
      line.clear()
      found.push(problem)
      if (out.json) out.data({ problem })
      else out.line(problem)
    }
    let entries = 0
    const { tapes, blobs } = await store.contents()
    for (const [at, tape] of tapes.entries()) {
      line.show(`${count(at)} of ${count(tapes.length)} tapes, ${count(entries)} entries`)
      entries += await verifyTape(store, tape, note)
    }
    for (const [at, blob] of blobs.entries()) {
      line.show(`${count(at)} of ${count(blobs.length)} blobs`)
      await problemOf(() => store.getBlob(blob).then(buffer), note)
    }
    if (other !== undefined) await compare(store, addressFrom(options, other), note)
    line.clear()
    const sum = `${count(tapes.length)} tapes with ${count(entries)} entries, ${count(blobs.length)} blobs`
    const state = found.length === 0 ? 'sound' : `${count(found.length)} problems`
    out.record(
      { place: store.place, tapes: tapes.length, entries, blobs: blobs.length, problems: found.length },
      `${store.place}: ${state}, ${sum}`,
    )
    if (found.length > 0) options.io.exit.code = 1
  })
}

/** Every entry is read, and the ids have no gap. */
async function verifyTape(store: Store, tape: string, note: (problem: string) => void): Promise<number> {
  let entries = 0
  await problemOf(async () => {
    let last: number | undefined
    for await (const { id } of store.read(tape, {
      archived: true,
      onDamage: ({ message }) => note(`${tape}: ${message}`),
    })) {
      if (last !== undefined && id !== last + 1) note(`${tape}: entries ${last + 1} to ${id - 1} are missing`)
      last = id
      entries++
    }
  }, note)
  return entries
}

async function compare(store: Store, address: string, note: (problem: string) => void): Promise<void> {
  const other = await openStore(address)
  try {
    for await (const difference of differences(store, other)) note(difference)
  } finally {
    await other.close()
  }
}

/** What is wrong with the store is listed; anything else that goes wrong ends the command. */
async function problemOf(work: () => Promise<unknown>, note: (problem: string) => void): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!BatonError.is(error) || error.code !== 'damaged') throw error
    note(error.message)
  }
}
