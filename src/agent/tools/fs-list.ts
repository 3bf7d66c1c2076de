// Lists files: in a repository those that git tracks or would track, elsewhere all except well-known folders that nobody reads. Links
// are listed, never followed.

import path from 'node:path'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import type { Dirent } from 'node:fs'
import * as z from 'zod'
import { parseGlob } from '../permissions/glob.ts'
import { defineTool } from './tool.ts'
import { accessTo, fileError, openFolder, targetOf } from './open-file.ts'

/** Folders that are listed only when the call names them. */
const skipped = new Set(['.git', '.baton', 'node_modules'])

/** A folder of a million files is not sorted through for a glob. */
const maxFiles = 200_000

export const fsList = defineTool('fs.list', {
  description:
    'List a folder: folders end with /, files have their size. With a glob, find files by name below it, as git sees them. ' +
    `${[...skipped].join(', ')} are left out unless all is set.`,
  input: z.object({
    path: z.string().default('.'),
    depth: z.int().min(1).max(10).default(1).describe('How deep to look'),
    glob: z.string().optional().describe('Such as **/*.test.ts; relative to the folder'),
    all: z.boolean().default(false).describe('Also what is left out or ignored'),
    limit: z.int().min(1).max(2_000).default(500),
  }),
  access: accessTo('read'),
  async run(input, context) {
    const { real, shown } = targetOf(input, context)
    const { depth, glob, all, limit } = input
    const { signal } = context
    const lines: string[] = []
    let isCut = false
    try {
      await (await openFolder(real)).close()
      if (glob !== undefined) {
        const matches = parseGlob(glob)
        const { files, more } = await listedFiles(real, { limit: maxFiles, all, signal })
        isCut = more
        for (const file of files.filter((file) => matches(file))) {
          isCut ||= lines.length === limit
          if (isCut) break
          // Git also names what was deleted.
          if (await isThere(path.join(real, file))) lines.push(file)
        }
      } else {
        for await (const found of walk(real, { depth, all, signal })) {
          isCut = lines.length === limit
          if (isCut) break
          lines.push(await line(real, found))
        }
      }
    } catch (error) {
      throw fileError(shown, error)
    }
    if (lines.length === 0) return { output: glob === undefined ? '[the folder is empty]' : '[no file matches]' }
    if (isCut) lines.push(`[only the first ${lines.length}; name a folder in it, or a glob]`)
    return { output: lines.join('\n') }
  },
})

async function isThere(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  )
}

async function line(root: string, { file, entry }: Found): Promise<string> {
  if (entry.isDirectory()) return `${file}/`
  const full = path.join(root, file)
  if (entry.isSymbolicLink()) return `${file} -> ${await readlink(full).catch(() => '?')}`
  const size = await lstat(full).then(
    (stats) => `${stats.size} bytes`,
    () => 'gone',
  )
  return `${file} (${size})`
}

/** Relative to the folder, at most `limit`; `more` if there are others. */
export async function listedFiles(
  folder: string,
  options: { limit: number; all: boolean; signal: AbortSignal },
): Promise<{ files: string[]; more: boolean }> {
  const { limit, all, signal } = options
  const known = all ? undefined : await gitFiles(folder, signal)
  if (known !== undefined) return { files: known.slice(0, limit), more: known.length > limit }
  const files: string[] = []
  for await (const { file, entry } of walk(folder, { depth: 100, all, signal })) {
    if (!entry.isFile()) continue
    if (files.length === limit) return { files, more: true }
    files.push(file)
  }
  return { files, more: false }
}

/** Tracked and new files that are not ignored; undefined where there is no repository, or git. */
async function gitFiles(folder: string, signal: AbortSignal): Promise<string[] | undefined> {
  const args = ['-C', folder, 'ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate']
  // The settings of the repository may name programs to run.
  const safe = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null']
  return new Promise((resolve) => {
    execFile('git', [...safe, ...args], { maxBuffer: 256 * 1024 * 1024, signal }, (error, stdout) => {
      resolve(error === null ? stdout.split('\0').filter((file) => file !== '' && !hasSkipped(file)) : undefined)
    })
  })
}

function hasSkipped(file: string): boolean {
  return file.split('/').some((name) => skipped.has(name))
}

interface Found {
  /** Relative to where the walk began. */
  readonly file: string
  readonly entry: Dirent
}

/** Folder by folder, names in order; a folder that cannot be read is passed over. */
async function* walk(
  root: string,
  options: { depth: number; all: boolean; signal: AbortSignal },
  below = '',
): AsyncGenerator<Found> {
  options.signal.throwIfAborted()
  const entries = await readdir(path.join(root, below), { withFileTypes: true }).catch((error: unknown) => {
    if (below === '') throw error
    return []
  })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!options.all && skipped.has(entry.name)) continue
    const file = path.join(below, entry.name)
    yield { file, entry }
    if (entry.isDirectory() && options.depth > 1) yield* walk(root, { ...options, depth: options.depth - 1 }, file)
  }
}
