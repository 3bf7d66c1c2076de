// Replaces an exact text in a file. What is not found, or found more than once, is refused with the lines that were
// probably meant, so that the next try succeeds.

import type { Stats } from 'node:fs'
import * as z from 'zod'
import { InvalidError } from '../../errors.ts'
import { defineTool } from './define.ts'
import { nearestLines, placesOf } from './nearest-lines.ts'
import { fileError, notAFile, openReal } from './open-file.ts'
import { accessTo, placeOf } from './place.ts'
import { inTurn, writeReal } from './write-file.ts'

const maxBytes = 16 * 1024 * 1024

export const fsEdit = defineTool({
  name: 'fs.edit',
  description:
    'Replace a text in a file with another. old_string must stand in the file exactly so, and only once unless replace_all is set.',
  input: z.object({
    path: z.string(),
    old_string: z.string().describe('The text to replace, with its white space'),
    new_string: z.string().describe('The text to put in its place'),
    replace_all: z.boolean().default(false).describe('Replace every occurrence'),
  }),
  access: accessTo('write'),
  async run(input, context) {
    const { real, shown } = placeOf(input, context)
    try {
      return await inTurn(real, async () => {
        const { text, stats } = await readText(real, shown)
        const { changed, count, line } = replaced(text, input, shown)
        await writeReal(real, changed, () => checkUnchanged(real, stats, shown))
        return { output: `Edited ${shown} at line ${line}${count > 1 ? ` and ${count - 1} more places` : ''}` }
      })
    } catch (error) {
      throw fileError(shown, error)
    }
  },
})

async function readText(real: string, shown: string): Promise<{ text: string; stats: Stats }> {
  const file = await openReal(real)
  try {
    const stats = await file.stat()
    const problem = notAFile(stats)
    if (problem !== undefined) throw new InvalidError(`${shown} ${problem}`)
    if (stats.size > maxBytes) throw new InvalidError(`${shown} is too large to edit (${stats.size} bytes)`)
    const bytes = await file.readFile()
    try {
      return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), stats }
    } catch {
      throw new InvalidError(`${shown} is not UTF-8 text: an edit would damage it`)
    }
  } finally {
    await file.close()
  }
}

/** Somebody else may have written the file since it was read: an editor, or a command. */
async function checkUnchanged(real: string, before: Stats, shown: string): Promise<void> {
  const file = await openReal(real)
  try {
    const now = await file.stat()
    if (now.ino === before.ino && now.size === before.size && now.mtimeMs === before.mtimeMs) return
  } finally {
    await file.close()
  }
  throw new InvalidError(`${shown} was changed by somebody else meanwhile`, { hint: 'Read it again.' })
}

interface Edit {
  old_string: string
  new_string: string
  replace_all: boolean
}

function replaced(text: string, edit: Edit, shown: string): { changed: string; count: number; line: number } {
  let { old_string: old, new_string: fresh } = edit
  if (old === '') throw new InvalidError('old_string is empty', { hint: 'To write a new file use fs.write.' })
  if (old === fresh) throw new InvalidError('old_string and new_string are the same')
  // A file with the line ends of Windows is shown to a model without them.
  if (!text.includes(old) && old.includes('\n') && text.includes('\r\n') && !old.includes('\r')) {
    old = old.replaceAll('\n', '\r\n')
    fresh = fresh.replaceAll(/\r?\n/g, '\r\n')
  }
  const places = placesOf(text, old)
  const line = (at: number) => text.slice(0, at).split('\n').length
  const [first] = places
  if (first === undefined) throw notFound(text, old, shown)
  if (places.length > 1 && !edit.replace_all) {
    const lines = places.slice(0, 5).map(line).join(', ')
    throw new InvalidError(`old_string is in ${shown} ${places.length} times, on lines ${lines}`, {
      hint: 'Give more of the text around it, or set replace_all.',
    })
  }
  // Piece by piece: a replacement text may hold `$&`, which means itself here.
  return { changed: text.split(old).join(fresh), count: places.length, line: line(first) }
}

function notFound(text: string, old: string, shown: string): InvalidError {
  const near = nearestLines(text, old)
  const hint = near.length === 0 ? 'Read the file again.' : `The nearest lines are:\n${near.join('\n')}`
  return new InvalidError(`old_string is not in ${shown}`, { hint })
}
