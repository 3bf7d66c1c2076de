// The folder of a workspace: made where there is none, refused where it is somebody else's.

import fs from 'node:fs'
import path from 'node:path'
import { StorageError } from '../../errors.ts'
import { makeFolder } from '../../system/folder.ts'
import { namesIn } from './archives.ts'
import { syncFolder } from './durable.ts'
import type { Layout } from './layout.ts'
import { asStorageError } from './storage-error.ts'

export function prepareWorkspace(layout: Layout): void {
  const { root, tapes } = layout
  try {
    const stat = fs.statSync(root, { throwIfNoEntry: false })
    if (stat !== undefined && !stat.isDirectory()) {
      throw new StorageError(`${root} is a file, not a workspace`, {
        hint: 'Nothing was written. Choose a folder with --workspace.',
      })
    }
    if (isFolder(tapes)) return
    const foreign = namesIn(root).filter((name) => name !== '.gitignore')
    // Unless somebody else has just begun to make it: the folder of the tapes comes first.
    if (foreign.length > 0 && !isFolder(tapes)) {
      throw new StorageError(`${root} is not a Baton workspace: it holds ${foreign.slice(0, 3).join(', ')}`, {
        hint: 'Nothing was written. Choose another folder with --workspace.',
      })
    }
    makeFolders(layout)
  } catch (error) {
    throw asStorageError(error, root)
  }
}

function makeFolders({ root, tapes }: Layout): void {
  try {
    makeFolder(root)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new StorageError(`Cannot make ${root}: ${(error as Error).message}`, {
      hint: 'No folder can be made there. Choose another with --workspace, or set HOME.',
      cause: error,
    })
  }
  fs.chmodSync(root, 0o700)
  try {
    fs.writeFileSync(path.join(root, '.gitignore'), '*\n', { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  makeFolder(tapes)
  syncFolder(root)
  syncFolder(path.dirname(root))
}

function isFolder(name: string): boolean {
  return fs.statSync(name, { throwIfNoEntry: false })?.isDirectory() === true
}
