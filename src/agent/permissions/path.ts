// Where a path really leads. A permission is about the file that would be touched, not about the name it was given:
// links are followed first, also those that lead to what is not there yet, and only the outcome is judged.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { InvalidError } from '../../errors.ts'

/** Linux follows as many links in one path. */
const maxLinks = 40

/** An absolute path without `..`, as a tool takes it from a model. `~` is the person's home, as in a shell. */
export function absolutePath(cwd: string, given: string): string {
  if (given === '') throw new InvalidError('The path is empty', { path: 'path' })
  if (given.includes('\0')) throw new InvalidError('The path holds a null byte', { path: 'path' })
  const home = /^~(?=\/|$)/.test(given) ? path.join(os.homedir(), given.slice(1)) : given
  return path.resolve(cwd, home)
}

/** The path with every link in it followed. What does not exist is kept as it is written; a circle is an error. */
export function realTarget(file: string): string {
  const pending = parts(file)
  let real = '/'
  for (let links = 0; pending.length > 0;) {
    const name = pending.shift()!
    if (name === '..') {
      real = path.dirname(real)
      continue
    }
    const next = path.join(real, name)
    const target = linkAt(next)
    if (target === undefined) {
      real = next
      continue
    }
    links += 1
    if (links > maxLinks) throw new InvalidError(`${file} leads in a circle of links`, { path: 'path' })
    if (path.isAbsolute(target)) real = '/'
    pending.unshift(...parts(target))
  }
  return real
}

function parts(file: string): string[] {
  return file.split('/').filter((part) => part !== '' && part !== '.')
}

function linkAt(file: string): string | undefined {
  try {
    return fs.readlinkSync(file)
  } catch {
    return undefined // not a link, not there, or out of reach: then the system refuses it when it is opened
  }
}

/** Whether a path is the folder or inside it; both are absolute and without `..`. */
export function isPathInside(folder: string, file: string): boolean {
  return file === folder || file.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}
