// `baton tape delete`, `discard` and `prune`: tapes that are no longer needed leave the list.

import { tapeDelete, tapePrune } from '../../operations/index.ts'
import { count, type Globals, type Output } from '../base/output.ts'
import { withWorkspace } from '../base/workspace.ts'

interface DeleteOptions extends Globals {
  force?: boolean
  purge?: boolean
}

export async function deleteOne(options: DeleteOptions, tape: string): Promise<void> {
  const { force, purge } = options
  await withWorkspace(options, async ({ run }, out) =>
    print(await run(tapeDelete, { tape, force, purge }), options, out),
  )
}

export async function discard(options: DeleteOptions, tape: string): Promise<void> {
  const { force, purge } = options
  await withWorkspace(options, async ({ run }, out) =>
    print(await run(tapeDelete, { tape, force, purge, fork: true }), options, out),
  )
}

export async function prune(options: DeleteOptions & { days: number; dryRun?: boolean }): Promise<void> {
  const { days, dryRun, purge } = options
  await withWorkspace(options, async ({ run }, out) => {
    const { old, deleted, kept } = await run(tapePrune, { days, dryRun, purge })
    for (const { tape, reasons } of kept) out.warn(`baton: ${tape} is kept: ${reasons.join('; ')}`)
    if (dryRun === true) for (const tape of old) out.record({ tape }, `${tape} would be deleted`)
    for (const each of deleted) print(each, options, out)
    if (old.length === 0) out.note(`No unused print tape is older than ${count(days)} days.`)
  })
}

interface Deleted {
  readonly tape: string
  readonly archive?: { readonly ref: string } | undefined
  readonly purged: readonly object[]
  readonly parent?: string | undefined
}

function print({ tape, archive, purged, parent }: Deleted, { purge }: DeleteOptions, out: Output): void {
  const where =
    purge === true
      ? `for good, with ${count(purged.length)} ${purged.length === 1 ? 'archive' : 'archives'}`
      : `its entries are in ${archive?.ref ?? 'the archive'} until "baton tape purge ${tape}"`
  const remark = parent === undefined ? '' : `; ${parent} stays as it is`
  out.record({ tape, archive, purged }, `${tape} is deleted${purge === true ? ' ' : '; '}${where}${remark}`)
}
