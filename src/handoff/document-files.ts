// Documents as files, for people and for agents that read files. Hooks load this file, so it needs little.

import fs from 'node:fs'
import path from 'node:path'
import { createFile, makeFolder } from '../system/index.ts'

/**
 * The folder of a session's documents. It lies in the agent's own folder, since a sandbox lets it write nowhere else: in the
 * workspace if that is there, else in a folder that git does not see.
 */
export function documentsFolder(cwd: string, name: string, chosen: string | undefined): string {
  const own = encodeURIComponent(name)
  if (chosen !== undefined) return path.join(path.resolve(cwd, chosen), own)
  const workspace = path.join(cwd, '.baton')
  if (fs.existsSync(path.join(workspace, 'tape'))) return path.join(workspace, 'handoffs', own)
  return path.join(cwd, '.handoffs', own)
}

/** Makes the folder, and hides it from git. */
export function ownFolder(folder: string): string {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const top = path.dirname(folder)
  const ignore = path.join(top, '.gitignore')
  if (path.basename(top) === '.handoffs' && !fs.existsSync(ignore)) fs.writeFileSync(ignore, '*\n')
  return folder
}

/** The names that a document of that minute may have, in the order in which they are tried; without end. */
export function* documentPaths(folder: string, when: Date): Generator<string, never> {
  const minute = when.toISOString().slice(0, 16).replaceAll(/[T:]/g, '-')
  for (let n = 1; ; n++) yield path.join(folder, `handoff-${minute}${n === 1 ? '' : `-${n}`}.md`)
}

/**
 * A saved document as a file, for people and for agents that read files. It is named by the minute; two in one minute do
 * not collide, and a file that is there is never written over.
 */
export function projectDocument(folder: string, when: Date, markdown: string): string {
  makeFolder(folder)
  const names = documentPaths(folder, when)
  for (;;) {
    const file = names.next().value
    if (createFile(file, markdown)) return file
  }
}

/** The file of a saved document, if it is still there as it was written. */
export function projectedFile(folder: string, when: Date, markdown: string): string | undefined {
  for (const file of documentPaths(folder, when)) {
    if (!fs.existsSync(file)) return undefined
    if (fs.readFileSync(file, 'utf8') === markdown) return file
  }
  return undefined
}
