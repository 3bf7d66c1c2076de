// A workspace's own file: the version of its format, its id, and a summary of its tapes. The summary is a cache, and the
// id is also on the lineage tape, so that the file can be lost.

import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { StorageError } from '../../errors.ts'
import type { TapeInfo } from '../store.ts'
import { replaceFile, syncFolder } from './durable.ts'
import type { Layout } from './layout.ts'
import { asStorageError } from './writer.ts'

const format = 1

/** What a tape's file was like when its summary was made. */
export interface Summary {
  readonly mtime: number
  readonly info: TapeInfo
}

export interface Manifest {
  readonly workspace: string
  readonly tapes: Record<string, Summary>
}

/** Makes the folders of a workspace where there are none, and refuses to move into somebody else's. */
export function prepareWorkspace(layout: Layout): void {
  const { root } = layout
  const stat = fs.statSync(root, { throwIfNoEntry: false })
  if (stat !== undefined && !stat.isDirectory()) {
    throw new StorageError(`${root} is a file, not a workspace`, { hint: 'Choose a folder with --workspace.' })
  }
  try {
    if (stat !== undefined && fs.existsSync(layout.tapes)) return
    const foreign = stat === undefined ? [] : fs.readdirSync(root).filter((name) => name !== '.gitignore')
    if (foreign.length > 0) {
      throw new StorageError(`${root} is not a Baton workspace: it holds ${foreign.slice(0, 3).join(', ')}`, {
        hint: 'Nothing was written. Choose another folder with --workspace.',
      })
    }
    fs.mkdirSync(root, { recursive: true, mode: 0o700 })
    fs.chmodSync(root, 0o700)
    fs.writeFileSync(path.join(root, '.gitignore'), '*\n')
    fs.mkdirSync(layout.tapes, { recursive: true, mode: 0o700 })
    syncFolder(root)
    syncFolder(path.dirname(root))
  } catch (error) {
    throw asStorageError(error, root)
  }
}

/** The manifest as stored; undefined if it is missing or unreadable and has to be made anew. */
export function readManifest(layout: Layout): Manifest | undefined {
  let text: string
  try {
    text = fs.readFileSync(layout.manifest, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw asStorageError(error, layout.manifest)
  }
  const stored = parse(text)
  if (stored === undefined) return undefined
  if (typeof stored.format === 'number' && stored.format > format) {
    throw new StorageError(
      `${layout.root} was written by a newer Baton (format ${stored.format}, this one knows ${format})`,
      {
        hint: 'Nothing was written. Upgrade Baton, or choose another workspace.',
      },
    )
  }
  if (typeof stored.workspace !== 'string') return undefined
  return { workspace: stored.workspace, tapes: (stored.tapes ?? {}) as Record<string, Summary> }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined // damaged: it is rebuilt
  }
}

export function writeManifest(layout: Layout, manifest: Manifest): void {
  replaceFile(layout.manifest, `${JSON.stringify({ format, ...manifest })}\n`)
}

export function newWorkspaceId(): string {
  return `w${randomBytes(6).toString('hex')}`
}
