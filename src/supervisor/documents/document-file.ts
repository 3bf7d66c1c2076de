// The file that an agent is asked to write: where it belongs, and what has become of it.

import fs from 'node:fs'
import path from 'node:path'
import {
  documentPathIn,
  documentPaths,
  documentsFolder,
  ownFolder,
  parseClaims,
  validate,
  withDocumentText,
} from '../../handoff/index.ts'

export { documentsFolder, ownFolder }
import type { Adapter } from '../../agents/index.ts'
import { makeFolder, replaceFile } from '../../system/index.ts'
import type { DocumentState } from '../cycle/cycle-state.ts'

/** A path in that folder that nothing has yet, and that is not promised to anyone; the folder is made. */
export function freePath(folder: string, now: Date, promised?: string): string {
  ownFolder(folder)
  const names = documentPaths(folder, now)
  for (;;) {
    const file = names.next().value
    if (file !== promised && !fs.existsSync(file)) return file
  }
}

/** The prompt as that agent is given it: with the text of the document in it, where the agent could not read all of that. */
export function promptFor(adapter: Pick<Adapter, 'inlineAbove'>, prompt: string): string {
  const file = documentPathIn(prompt)
  if (file === undefined || !fs.existsSync(file) || !isInline(adapter, file)) return prompt
  return withDocumentText(prompt, fs.readFileSync(file, 'utf8'))
}

export function isInline({ inlineAbove = Infinity }: Pick<Adapter, 'inlineAbove'>, file: string): boolean {
  return inlineAbove === 0 || (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0) > inlineAbove
}

export interface DocumentRequest {
  readonly path: string
  /** When it was asked for, in milliseconds. */
  readonly since: number
  /** The session's folder. */
  readonly cwd: string
  /** Whether the agent has ended its turn, so that the file is complete. */
  readonly settled?: boolean
}

/** A larger file is no document. */
const largest = 1024 * 1024
/** A file that changed so lately may still be written. */
const quietMs = 150
/** Clocks of file systems lag behind by a tick. */
const tickMs = 20

/** Examines the file. Problems are worded so that the agent can correct them. */
export function examineFile({ path: file, since, cwd, settled = false }: DocumentRequest, now: number): DocumentState {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return { is: 'nothing' }
  if (!stat.isFile()) return { is: 'refused', reason: `${file} is not a plain file` }
  if (stat.size === 0) return { is: 'refused', reason: 'the file is empty' }
  if (stat.size > largest) return { is: 'refused', reason: 'the file is larger than a megabyte' }
  if (stat.mtimeMs < since - tickMs) return { is: 'refused', reason: 'the file is older than the request for it' }
  if (!settled && now - stat.mtimeMs < quietMs)
    return { is: 'incomplete', problems: ['the file is still being written'] }
  return judgeDocument(fs.readFileSync(file, 'utf8'), cwd)
}

/** Whether a text is a document that can be handed over, for this project. */
export function judgeDocument(text: string, cwd: string): DocumentState {
  const document = parseClaims(text, 'cycle')
  const { project } = document.header
  if (project !== undefined && !isProject(project, cwd)) {
    return {
      is: 'refused',
      reason: `it is for the project ${project.slice(0, 80)}, but this one is ${path.basename(cwd)}`,
    }
  }
  const problems = validate(document).map(({ message }) => message)
  return problems.length === 0 ? { is: 'valid' } : { is: 'incomplete', problems }
}

/** A name or a path must be the project's own; of a title with several words, one of them. */
function isProject(said: string, cwd: string): boolean {
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
      .trim()
  const [theirs, ours, whole] = [plain(said), plain(path.basename(cwd)), plain(cwd)]
  // A folder above, such as the repository that a package is part of, is meant as well.
  if (theirs === '' || ours === '' || theirs === ours || whole === theirs || whole.startsWith(`${theirs} `)) return true
  return /\s/.test(said.trim()) && ` ${theirs} `.includes(` ${ours} `)
}

/** Puts the text in place of whatever is there, whole or not at all; durable when it returns. */
export function writeDocumentFile(file: string, text: string): void {
  makeFolder(path.dirname(file))
  replaceFile(file, text)
}
