// The files below a folder: those that git would take note of where there is a repository, else all but what nobody reads.
// Links are named, never followed.

import { execFile } from 'node:child_process'
import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'

/** Not entered unless asked for. */
export const skipped = new Set(['.git', '.baton', 'node_modules'])

/** Relative to the folder, at most `limit`; `more` if there are others. */
export async function filesBelow(
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

export interface Found {
  /** Relative to where the walk began. */
  readonly file: string
  readonly entry: Dirent
}

/** Folder by folder, names in order; a folder that cannot be read is passed over. */
export async function* walk(
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
