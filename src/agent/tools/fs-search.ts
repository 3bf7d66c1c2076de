// Searches the lines of files for a regular expression or a text. What git ignores, binary files and very large ones are left out.

import { stat } from 'node:fs/promises'
import path from 'node:path'
import * as z from 'zod'
import { InvalidError } from '../../errors.ts'
import { parseGlob } from '../permissions/glob.ts'
import type { ToolContext } from './tool.ts'
import { defineTool } from './tool.ts'
import { listedFiles } from './fs-list.ts'
import { fsRead } from './fs-read.ts'
import { accessTo, fileError, targetOf } from './open-file.ts'
import { type SearchEnd, searchFiles } from './search-worker.ts'

const maxFiles = 200_000
const maxFileBytes = 4 * 1024 * 1024
const timeoutMs = 20_000

export const fsSearch = defineTool('fs.search', {
  description:
    'Search the lines of files for a regular expression (JavaScript) or a literal text. Files that git ignores, binary files and files over 4 MB are left out.',
  input: z.object({
    pattern: z.string().min(1),
    path: z.string().default('.').describe('A folder, or one file'),
    literal: z.boolean().default(false).describe('The pattern is plain text'),
    ignore_case: z.boolean().default(false),
    glob: z.string().optional().describe('Only files like this, such as src/**/*.ts; relative to path'),
    all: z.boolean().default(false).describe('Also what git ignores'),
    limit: z.int().min(1).max(500).default(100).describe('How many lines at most'),
  }),
  access: accessTo('read'),
  async run(input, context) {
    const { real, shown } = targetOf(input, context)
    const expression = expressionOf(input)
    const { signal } = context
    try {
      const isFolder = (await stat(real)).isDirectory()
      const folder = isFolder ? real : path.dirname(real)
      const { files, more } = isFolder
        ? await listedFiles(real, { limit: maxFiles, all: input.all, signal })
        : { files: [path.basename(real)], more: false }
      const wanted = input.glob === undefined ? undefined : parseGlob(input.glob)
      const job = {
        folder,
        files: wanted === undefined ? files : files.filter((file) => wanted(file)),
        ...expression,
        maxFileBytes,
      }
      const mayShow = (file: string) => isOpen(path.join(folder, file), real, context)
      const end = await searchFiles(job, { limit: input.limit, timeoutMs, signal }, mayShow)
      const lines = end.hits.map(({ file, line, text }) => `${file}:${line}: ${text}`)
      const notes = notesOn(end, input.limit)
      if (more) notes.push(`only the first ${maxFiles} files were searched`)
      if (lines.length === 0) lines.push(`[nothing found in ${job.files.length} files]`)
      return { output: [...lines, ...notes.map((note) => `[${note}]`)].join('\n') }
    } catch (error) {
      throw fileError(shown, error)
    }
  },
})

/** A line of a file is a reading of it: what may not be read, or only after a question, is not shown either. */
function isOpen(file: string, searched: string, { permissions }: ToolContext): boolean {
  if (permissions === undefined) return true
  const decide = (name: string, place: string) => {
    const tool = { ...fsRead, name }
    return permissions.decide(tool, { path: place }, { kind: 'read', paths: [place] })
  }
  // The person was asked about the search as a whole: its files need no further question.
  const wasAsked = decide('fs.search', searched) === 'ask'
  return ['fs.search', 'fs.read'].every((name) => {
    const decision = decide(name, file)
    return decision === 'allow' || (decision === 'ask' && wasAsked)
  })
}

function expressionOf({ pattern, literal, ignore_case }: Wanted): { source: string; flags: string } {
  const source = literal ? pattern.replaceAll(/[\\^$.|+()[\]{}*?/]/g, String.raw`\$&`) : pattern
  const flags = ignore_case ? 'i' : ''
  try {
    return { source: new RegExp(source, `${flags}u`).source, flags: `${flags}u` }
  } catch {
    // Without `u`, escapes that mean nothing are allowed, such as `\-`.
  }
  try {
    return { source: new RegExp(source, flags).source, flags }
  } catch (error) {
    throw new InvalidError(`The pattern cannot be read: ${(error as Error).message}`, {
      path: 'pattern',
      hint: 'Set literal to search for the text itself.',
    })
  }
}

interface Wanted {
  pattern: string
  literal: boolean
  ignore_case: boolean
}

function notesOn({ stopped, at, large }: SearchEnd, limit: number): string[] {
  const notes: string[] = []
  if (stopped === 'limit') notes.push(`only the first ${limit} lines; narrow it down with path or glob`)
  if (stopped === 'time')
    notes.push(
      `stopped after ${timeoutMs / 1000} s${at === undefined ? '' : ` in ${at}`}; use a simpler pattern or narrow it down`,
    )
  if (large > 0)
    notes.push(`over ${maxFileBytes / 1024 / 1024} MB: ${large} ${large === 1 ? 'file' : 'files'} left out`)
  return notes
}
