// Where the files of a workspace lie, and the making of its folder. Nothing outside this file joins a path from a tape's name.

import path from 'node:path'
import fs from 'node:fs'
import { InvalidError, StorageError } from '../../errors.ts'
import { decodeName, encodeName, lineageTape } from '../name.ts'
import { asStorageError, makeFolder, syncFolder } from '../../system/index.ts'

export interface TapePaths {
  readonly tape: string
  readonly index: string
  /** Never removed or renamed: whoever holds it owns the tape, whatever happens to the other files. */
  readonly lock: string
  /** The next segment while an archive is being made. */
  readonly next: string
}

export class Layout {
  readonly root: string
  readonly tapes: string
  readonly archived: string
  readonly blobs: string
  readonly manifest: string
  /** Tapes whose file is known to be their own. */
  readonly #own = new Set<string>()

  constructor(root: string) {
    this.root = root
    this.tapes = path.join(root, 'tape')
    this.archived = path.join(this.tapes, 'archived')
    this.blobs = path.join(root, 'blobs')
    this.manifest = path.join(this.tapes, 'manifest.json')
  }

  of(tape: string): TapePaths {
    // Put together by hand: joining would read a tape named `..` as the folder above.
    const base = tape === lineageTape ? path.join(this.root, 'session_graph') : this.tapes + path.sep + encodeName(tape)
    this.#checkCase(tape, `${base}.jsonl`)
    return { tape: `${base}.jsonl`, index: `${base}.idx`, lock: `${base}.lock`, next: `${base}.next` }
  }

  /** Some file systems, such as that of macOS, take `Main` and `main` for one file: the second name is refused there. */
  #checkCase(tape: string, file: string): void {
    if (this.#own.has(tape)) return
    const there = nameOnDisk(file)
    if (there === undefined) return
    const wanted = path.basename(file)
    if (there !== wanted && there.toLowerCase() === wanted.toLowerCase()) {
      const other = tapeOf(there) ?? there
      throw new InvalidError(`The tape ${tape} would share its file with the tape ${other}`, {
        hint: `This file system does not distinguish capital letters. Use ${other}, or a name that differs in more.`,
      })
    }
    this.#own.add(tape)
  }

  /** Says up to which id the archives of a tape were deleted on purpose. */
  purged(tape: string): string {
    return path.join(this.archived, `${encodeName(tape)}.purged`)
  }

  /** A free place in the archive for what a tape holds now; `n` tells apart two in the same millisecond. */
  archive(tape: string, when: Date, n: number): string {
    const time = when.toISOString().replaceAll(':', '-').replace('.', '-')
    return path.join(this.archived, `${encodeName(tape)}_${time}${n === 0 ? '' : `-${n}`}.jsonl`)
  }

  /** The side file for bytes that were cut out of a tape; `n` tells apart two from the same place. */
  cut(tape: string, when: Date, offset: number, n: number): string {
    const time = when.toISOString().replaceAll(':', '-').replace('.', '-')
    return path.join(this.tapes, `${encodeName(tape)}_${time}_${offset}${n === 0 ? '' : `-${n}`}.cut`)
  }
}

/** The name of a file as the file system has it; undefined where there is none. */
function nameOnDisk(file: string): string | undefined {
  try {
    return path.basename(fs.realpathSync.native(file))
  } catch {
    return undefined // whoever opens it finds out why
  }
}

/** The tape whose file this is, or undefined if it is not one. */
export function tapeOf(file: string): string | undefined {
  return file.endsWith('.jsonl') ? decodeName(file.slice(0, -'.jsonl'.length)) : undefined
}

/** The tape that an archive belongs to. */
export function tapeOfArchive(file: string): string | undefined {
  const match = /^(.*)_\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z(-\d+)?\.jsonl$/.exec(file)
  return match === null ? undefined : decodeName(match[1]!)
}

/** Makes the folder of a workspace where there is none, and refuses a folder that belongs to something else. */
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

/** The names of the files in a folder; none where there is no such folder. */
export function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
