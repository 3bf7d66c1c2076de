import { lstat, readlink } from 'node:fs/promises'
import path from 'node:path'
import * as z from 'zod'
import { parseGlob } from '../permission-glob.ts'
import { defineTool } from './define.ts'
import { filesBelow, type Found, skipped, walk } from './files.ts'
import { fileError, openFolder } from './open-file.ts'
import { accessTo, placeOf } from './place.ts'

/** A folder of a million files is not sorted through for a glob. */
const maxFiles = 200_000

export const fsList = defineTool({
  name: 'fs.list',
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
    const { real, shown } = placeOf(input, context)
    const { depth, glob, all, limit } = input
    const { signal } = context
    const lines: string[] = []
    let isCut = false
    try {
      await (await openFolder(real)).close()
      if (glob !== undefined) {
        const matches = parseGlob(glob)
        const { files, more } = await filesBelow(real, { limit: maxFiles, all, signal })
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
