// `baton store copy` and `baton store verify`: a whole workspace from one engine to another, and whether it is as it was written.

import path from 'node:path'
import { NotFoundError } from '../errors.ts'
import { workspaceVerify } from '../operations/index.ts'
import { copyStore, type CopyProgress, openStore } from '../store/index.ts'
import { chosenWorkspace, isMissingFolder } from './base/chosen-workspace.ts'
import { count, entryCount, type Globals, many, Output } from './base/output.ts'
import { shellWord } from '../system/index.ts'
import { ProgressLine } from './base/progress.ts'
import { withoutPassword } from './base/without-password.ts'
import { withWorkspace } from './base/workspace.ts'

export async function copy(options: Globals, from: string, to: string): Promise<void> {
  const out = new Output(options)
  const line = new ProgressLine(options, { everyMs: 200 })
  const address = addressFrom(options, from)
  demandFolder(address, 'The first address is copied to the second.')
  const source = await openStore(address)
  try {
    if ((await source.contents()).tapes.length === 0)
      throw new NotFoundError(`There is nothing to copy in ${source.place}`)
    const target = await openStore(addressFrom(options, to), { workspace: source.workspace })
    const begun = performance.now()
    try {
      const done = await copyStore(source, target, (progress) => line.show(paceOf(progress, performance.now() - begun)))
      line.clear()
      const text = `Copied ${entryCount(done.entries)} and ${many(done.blobs, 'blob')} from ${source.place} to ${target.place}`
      out.record({ from: source.place, to: target.place, entries: done.entries, blobs: done.blobs }, text)
      out.note(
        `Check it: baton store verify ${shellWord(withoutPassword(to))} --store ${shellWord(withoutPassword(from))}`,
      )
      out.note(target.guarantee)
    } finally {
      line.clear()
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** Opening a folder that does not exist would create an empty workspace there. */
function demandFolder(address: string, hint: string): void {
  if (isMissingFolder(address))
    throw new NotFoundError(`There is no store in ${address.replace(/^file:(\/\/)?/, '')}`, { hint })
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
  demandFolder(
    chosenWorkspace(options).address,
    'Name another with --store or --workspace, or make it with "baton init".',
  )
  if (other !== undefined) demandFolder(addressFrom(options, other), 'A store is compared with one that exists.')
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
    const sum = `${many(tapes, 'tape')} with ${entryCount(entries)}, ${many(blobs, 'blob')}`
    const state = problems.length === 0 ? 'sound' : many(problems.length, 'problem')
    const same = other !== undefined && problems.length === 0 ? '; the other holds the same' : ''
    out.record({ ...found, problems: problems.length }, `${place}: ${state}, ${sum}${same}`)
    if (problems.length > 0) options.io.exit.code = 1
  })
}
