// A workspace's own file: the version of its format, its id, and a summary of its tapes. The summary is a cache, and the
// id is also on the lineage tape, so that the file can be lost.

import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { crc32 } from 'node:zlib'
import { StorageError } from '../../errors.ts'
import type { TapeInfo } from '../store.ts'
import { replaceFile } from './durable.ts'
import type { Layout } from './layout.ts'
import { asStorageError } from './storage-error.ts'

const format = 1

/** What a tape's file was like when its summary was made. */
export interface Summary {
  readonly ino: number
  readonly mtime: number
  readonly info: TapeInfo
}

export interface Manifest {
  readonly workspace: string
  readonly tapes: Readonly<Record<string, Summary>>
}

/** The manifest as stored; undefined if it is missing or damaged and has to be made anew. */
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
      { hint: 'Nothing was written. Upgrade Baton, or choose another workspace.' },
    )
  }
  const { workspace, tapes, crc } = stored as unknown as Manifest & { crc: unknown }
  return crc === checksum({ workspace, tapes }) ? { workspace, tapes } : undefined
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined // damaged: it is rebuilt
  }
}

export function writeManifest(layout: Layout, { workspace, tapes }: Manifest): void {
  const crc = checksum({ workspace, tapes })
  replaceFile(layout.manifest, `${JSON.stringify({ format, workspace, tapes, crc })}\n`)
}

function checksum({ workspace, tapes }: Manifest): number {
  return crc32(JSON.stringify([workspace, tapes]))
}

export function newWorkspaceId(): string {
  return `w${randomBytes(6).toString('hex')}`
}
