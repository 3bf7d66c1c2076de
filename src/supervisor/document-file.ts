// The file that an agent is asked to write: where it belongs, and what has become of it.

import fs from 'node:fs'
import path from 'node:path'
import { parseClaims } from '../handoff/document/parse.ts'
import { validate } from '../handoff/document/validate.ts'
import { inWords } from '../transcripts/launch.ts'
import type { Found } from './cycle-state.ts'
import { documentIn } from './prompts.ts'

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

/** A path in that folder that nothing has yet, and that is not promised to anyone; the folder is made. */
export function freePath(folder: string, now: Date, promised?: string): string {
  ownFolder(folder)
  const minute = now.toISOString().slice(0, 16).replaceAll(/[T:]/g, '-')
  for (let n = 1; ; n++) {
    const file = path.join(folder, `handoff-${minute}${n === 1 ? '' : `-${n}`}.md`)
    if (file !== promised && !fs.existsSync(file)) return file
  }
}

/** A prompt together with the document that it tells to read, for agents that may not be able to read it. */
export function spelledOut(prompt: string): string {
  const file = documentIn(prompt)
  if (file === undefined || !fs.existsSync(file)) return prompt
  return `${prompt} Here it is:\n\n${inWords(fs.readFileSync(file, 'utf8'))}`
}

export interface Request {
  readonly path: string
  /** When it was asked for, in milliseconds. */
  readonly since: number
  /** The session's folder. */
  readonly cwd: string
  /** Whoever writes it has come to an end: what is there is all of it. */
  readonly settled?: boolean
}

/** Larger is no document. */
const largest = 1024 * 1024
/** A file that changed so lately may still be written. */
const quietMs = 150
/** Clocks of file systems lag behind by a tick. */
const tickMs = 20

/** Looks at the file. What is wrong with it is said so that the agent can mend it. */
export function examine({ path: file, since, cwd, settled = false }: Request, now: number): Found {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return { is: 'nothing' }
  if (!stat.isFile()) return { is: 'refused', reason: `${file} is not a plain file` }
  if (stat.size === 0) return { is: 'refused', reason: 'the file is empty' }
  if (stat.size > largest) return { is: 'refused', reason: 'the file is larger than a megabyte' }
  if (stat.mtimeMs < since - tickMs) return { is: 'refused', reason: 'the file is older than the request for it' }
  if (!settled && now - stat.mtimeMs < quietMs)
    return { is: 'incomplete', problems: ['the file is still being written'] }
  return judge(fs.readFileSync(file, 'utf8'), cwd)
}

/** Whether a text is a document that can be handed over, for this project. */
export function judge(text: string, cwd: string): Found {
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
export function replaceFile(file: string, text: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  const temporary = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.tmp`)
  try {
    const fd = fs.openSync(temporary, 'w', 0o600)
    try {
      fs.writeFileSync(fd, text)
      fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
    fs.renameSync(temporary, file)
  } catch (error) {
    fs.rmSync(temporary, { force: true })
    throw error
  }
}
