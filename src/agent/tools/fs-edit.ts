// Replaces an exact text in a file. What is not found, or found more than once, is refused with the lines that were
// probably meant, so that the next try succeeds.

import type { Stats } from 'node:fs'
import * as z from 'zod'
import { InvalidError } from '../../errors.ts'
import { defineTool } from './tool.ts'
import { accessTo, fileError, notAFile, openReal, targetOf } from './open-file.ts'
import { inTurn, writeReal } from './fs-write.ts'

const maxBytes = 16 * 1024 * 1024

export const fsEdit = defineTool('fs.edit', {
  description:
    'Replace a text in a file with another. old_string must be in the file exactly as given, and only once unless replace_all is set.',
  input: z.object({
    path: z.string(),
    old_string: z.string().describe('The text to replace, with its white space'),
    new_string: z.string().describe('The text to put in its place'),
    replace_all: z.boolean().default(false).describe('Replace every occurrence'),
  }),
  access: accessTo('write'),
  async run(input, context) {
    const { real, shown } = targetOf(input, context)
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
  // Joined from slices, because `replace` would expand a `$&` in the new text.
  return { changed: text.split(old).join(fresh), count: places.length, line: line(first) }
}

function notFound(text: string, old: string, shown: string): InvalidError {
  const near = nearestLines(text, old)
  const hint = near.length === 0 ? 'Read the file again.' : `The nearest lines are:\n${near.join('\n')}`
  return new InvalidError(`old_string is not in ${shown}`, { hint })
}

/** Longer files and lines are not compared letter by letter. */
const comparedLines = 20_000
const comparedChars = 200

/** The positions of all occurrences of a text that do not overlap. */
function placesOf(text: string, wanted: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) places.push(at)
  return places
}

/** Up to three lines like the first one of a text, with their numbers; those that differ only in white space come first. */
function nearestLines(text: string, wanted: string): string[] {
  const lines = text.split('\n').slice(0, comparedLines)
  const first = wanted.split('\n').find((line) => line.trim() !== '')
  if (first === undefined) return []
  const pairs = pairsOf(first)
  return lines
    .map((line, i) => ({ line: line.trimEnd(), number: i + 1, score: likeness(pairs, line) }))
    .filter(({ score }) => score > 0.4)
    .sort((a, b) => b.score - a.score || a.number - b.number)
    .slice(0, 3)
    .sort((a, b) => a.number - b.number)
    .map(({ line, number }) => `${number}: ${line.slice(0, comparedChars)}`)
}

/** The share of letter pairs that two lines have in common (Dice's coefficient), without blanks. */
function likeness(pairs: ReadonlyMap<string, number>, line: string): number {
  const others = pairsOf(line)
  let common = 0
  let all = 0
  for (const [pair, count] of pairs) {
    common += Math.min(count, others.get(pair) ?? 0)
    all += count
  }
  for (const count of others.values()) all += count
  return all === 0 ? 0 : (2 * common) / all
}

function pairsOf(line: string): Map<string, number> {
  const letters = line.slice(0, comparedChars).replaceAll(/\s+/g, '')
  const pairs = new Map<string, number>()
  for (let at = 0; at < letters.length; at += 1) {
    const pair = letters.slice(at, at + 2)
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1)
  }
  return pairs
}
