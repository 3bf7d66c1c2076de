// `baton store copy` and `baton store verify`: a whole workspace from one engine to another, and whether it is as it was written.

import path from 'node:path'
import { NotFoundError } from '../errors.ts'
import { workspaceVerify } from '../operations/index.ts'
import { copyStore, type CopyProgress, openStore } from '../store/index.ts'
import { count, type Globals, Output } from './base/output.ts'
import { ProgressLine } from './base/progress.ts'
import { withWorkspace } from './base/workspace.ts'

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
  await withWorkspace(options, async ({ run }, out) => {
    const line = new ProgressLine(options, { everyMs: 200 })
    const wanted = { other: other === undefined ? undefined : addressFrom(options, other) }
    const found = await run(workspaceVerify, wanted, { progress: (text) => line.show(text) })
    line.clear()
    const { place, tapes, entries, blobs, problems } = found
    out.list(
      problems.map((problem) => ({ problem })),
      { line: ({ problem }) => problem },
    )
    const sum = `${count(tapes)} tapes with ${count(entries)} entries, ${count(blobs)} blobs`
    const state = problems.length === 0 ? 'sound' : `${count(problems.length)} problems`
    out.record({ ...found, problems: problems.length }, `${place}: ${state}, ${sum}`)
    if (problems.length > 0) options.io.exit.code = 1
  })
}
