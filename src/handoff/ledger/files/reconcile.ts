// The ledger's files in the light of git: pure, so that the same answers of git give the same ledger.

import type { DirtyFile, FileAction, FileFact, Ledger } from '../facts.ts'
import { countFiles } from './file-table.ts'

export interface GitState {
  readonly cwd: string
  readonly branch?: string
  readonly head?: string
  readonly base?: string
  /** Against the commit the session began at, untracked files included. Paths as facts name them. */
  readonly changes: readonly GitChange[]
  readonly dirty: readonly DirtyFile[]
  /** Of the files that the tape calls changed and git does not: those on disk, and those that git does not look at. */
  readonly exists: ReadonlySet<string>
  readonly ignored: ReadonlySet<string>
}

export interface GitChange {
  readonly action: Exclude<FileAction, 'read'>
  readonly path: string
  readonly from?: string
  readonly added?: number
  readonly removed?: number
  readonly untracked?: boolean
  /** Last changed before the session began or after it ended: not its work, unless the tape says so. */
  readonly foreign?: boolean
}

export function reconcile(ledger: Ledger, state: GitState): Ledger {
  const changes = new Map(state.changes.map((change) => [change.path, change]))
  const used = new Set<string>()
  const folders = ledger.files.filter(({ folder, state }) => folder === true && state === 'changed')
  const files = ledger.files.flatMap((file): FileFact[] => {
    if (file.folder === true) {
      const below = state.changes.some(
        ({ path, from }) => path.startsWith(`${file.path}/`) || from?.startsWith(`${file.from ?? file.path}/`),
      )
      // The files below it speak for the folder.
      return below || file.state !== 'changed' ? [] : [{ ...file, state: 'scratch' }]
    }
    const change = changes.get(file.path)
    if (!change) return [unchanged(file, state)]
    used.add(file.path)
    // Read, and changed by somebody before the session began or after it ended.
    if (file.state === 'read' && change.foreign === true) return [file]
    return [agreed(file, change, changes, used)]
  })
  for (const change of state.changes) {
    if (used.has(change.path) || change.foreign === true) continue
    files.push(found(change, folders))
  }
  return {
    ...ledger,
    files,
    counts: { ...ledger.counts, ...countFiles(files) },
    git: {
      cwd: state.cwd,
      branch: state.branch,
      commit: state.head,
      base: state.base,
      dirty: state.dirty,
      ...(ledger.git?.id !== undefined && { id: ledger.git.id }),
      checked: true,
    },
  }
}

/** A file that git lists: git decides what happened to it and how many lines changed. */
function agreed(
  file: FileFact,
  change: GitChange,
  changes: ReadonlyMap<string, GitChange>,
  used: Set<string>,
): FileFact {
  const { added: _added, removed: _removed, from, uncertain: _uncertain, ...kept } = file
  // `mv` without git: to git, one file is gone and another is new.
  const former = from === undefined ? undefined : changes.get(from)
  const moved = change.untracked === true && former?.action === 'deleted'
  if (moved && from !== undefined) used.add(from)
  const action = moved ? 'renamed' : change.action
  const origin = moved ? from : change.from
  if (change.from !== undefined) used.add(change.from)
  return {
    ...kept,
    action,
    ...(origin !== undefined && action === 'renamed' && { from: origin }),
    state: 'changed',
    ...(!moved && change.added !== undefined && { added: change.added, removed: change.removed ?? 0 }),
    source: file.state === 'read' ? 'git' : 'tape',
    verified: true,
  }
}

/** A file that the tape calls changed and git does not list. */
function unchanged(file: FileFact, { exists, ignored, changes }: GitState): FileFact {
  if (file.state === 'read' || ignored.has(file.path) || file.path.startsWith('~')) return file
  // The file is gone and git never knew it, so only the tape tells of it.
  if (file.action === 'deleted' && !exists.has(file.path)) return file
  const { added: _added, removed: _removed, uncertain: _uncertain, ...kept } = file
  // Renamed on, by a script: the new name has its own line.
  if (changes.some(({ from }) => from === file.path)) return { ...kept, state: 'undone', verified: true }
  return { ...kept, state: exists.has(file.path) ? 'undone' : 'scratch', verified: true }
}

function found(change: GitChange, folders: readonly FileFact[]): FileFact {
  const { path, action, from, added, removed } = change
  // Deleted or moved with its folder: that is on the tape.
  const folder = folders.find(
    ({ path: top, from: former }) => path.startsWith(`${top}/`) || (from ?? path).startsWith(`${former ?? top}/`),
  )
  return {
    path,
    action,
    from,
    state: 'changed',
    ...(added !== undefined && { added, removed: removed ?? 0 }),
    reads: 0,
    edits: folder ? 1 : 0,
    ...(folder?.firstId !== undefined && { firstId: folder.firstId }),
    ...(folder?.lastId !== undefined && { lastId: folder.lastId }),
    source: folder ? 'tape' : 'git',
    verified: true,
  }
}
