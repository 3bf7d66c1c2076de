// The tool that writes a file as a whole, and how every tool writes one: the new content is complete beside the file before it
// takes its name. Writes to one file take turns, so that two calls of one step cannot lose each other's work.

import { randomBytes } from 'node:crypto'
import { lstat, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import * as z from 'zod'
import { InvalidError } from '../../errors.ts'
import { makeFolder } from '../../system/index.ts'
import { accessTo, pathInFolder, fileError, notAFile, openFolder, targetOf } from './open-file.ts'
import { defineTool } from './tool.ts'

export const fsWrite = defineTool('fs.write', {
  description:
    'Write a file as a whole, with the folders it needs; what was there is replaced. To change a part of a file use fs.edit.',
  input: z.object({ path: z.string(), content: z.string() }),
  access: accessTo('write'),
  async run(input, context) {
    const { real, shown } = targetOf(input, context)
    try {
      const isNew = await inTurn(real, () => writeReal(real, input.content))
      return { output: `${isNew ? 'Created' : 'Replaced'} ${shown} (${Buffer.byteLength(input.content)} bytes)` }
    } catch (error) {
      throw fileError(shown, error)
    }
  },
})

const turns = new Map<string, Promise<unknown>>()

/** Runs `work` after all earlier work on the same file is done. */
export async function inTurn<T>(real: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(real) ?? Promise.resolve()
  const mine = before.then(work, work)
  // The next in turn does not care how this one ended.
  const settled = mine.catch(() => undefined)
  turns.set(real, settled)
  try {
    return await mine
  } finally {
    if (turns.get(real) === settled) turns.delete(real)
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

/** Called right before the new content takes the file's name; throws to keep what is there. */
type Check = () => Promise<void>

/** Resolves with whether the file is new. Its folders are made; an existing file keeps its mode. */
export async function writeReal(real: string, content: string | Buffer, check?: Check): Promise<boolean> {
  const parent = path.dirname(real)
  makeFolder(parent, 0o777)
  const folder = await openFolder(parent)
  try {
    const target = pathInFolder(folder, parent, path.basename(real))
    const existing = await lstat(target).catch(absent)
    const problem = existing === undefined ? undefined : notAFile(existing)
    if (existing?.isSymbolicLink() === true || problem !== undefined)
      throw new InvalidError(`${real} ${existing?.isSymbolicLink() === true ? 'has become a link' : problem}`)
    const temporary = pathInFolder(folder, parent, `.baton-${randomBytes(6).toString('hex')}.tmp`)
    try {
      const handle = await open(temporary, 'wx', existing === undefined ? 0o666 : existing.mode & 0o777)
      try {
        await handle.writeFile(content)
        // The umask may have removed bits of the mode.
        if (existing !== undefined) await handle.chmod(existing.mode & 0o7777)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await check?.()
      await rename(temporary, target)
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
    return existing === undefined
  } finally {
    await folder.close()
  }
}
