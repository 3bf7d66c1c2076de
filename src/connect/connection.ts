// Puts Baton beside an agent, and takes it away again. Both first compute how every file will look, so that it can be shown before
// a byte is written, and both can be repeated without harm.

import fs from 'node:fs'
import path from 'node:path'
import { type AgentConnection, agentNamed, type Change, type ConnectionPlace } from '../agents/index.ts'
import { InvalidError } from '../errors.ts'
import { asStorageError, makeFolder, replaceFile } from '../system/index.ts'
import { applied, hasComments, removed, valueAt } from './edit.ts'
import { type ConnectRecord, hash, keepBackup, readRecord, removeRecord, writeRecord } from './record.ts'

/** How a file is, and how it will be; undefined: it is not there. */
export interface FileChange {
  readonly path: string
  readonly before: string | undefined
  readonly after: string | undefined
  /** Whether the whole file is Baton's. */
  readonly isOurs: boolean
}

export interface ConnectPlan {
  readonly files: readonly FileChange[]
  /** What the person has to know. */
  readonly notes: readonly string[]
  /** Writes the files. */
  carryOut(): void
}

type Edit = Exclude<Change, { type: 'file' }>

function connectionOf(agent: string): AgentConnection {
  const { connection, label } = agentNamed(agent)
  if (connection === undefined) throw new InvalidError(`Baton does not know how to connect ${label}`)
  return connection
}

export function planConnect(agent: string, place: ConnectionPlace): ConnectPlan {
  const connection = connectionOf(agent)
  const earlier = readRecord(place.env, agent, place.scope, place.project)
  const changes = connection.changes(place)
  const ours = changes.filter((change) => change.type === 'file')
  const edits = editsByFile(changes)
  const notes = [...(connection.notes?.(place) ?? [])]

  const files: FileChange[] = ours.map(({ path: file, content }) => ({
    path: file,
    before: contentOf(file),
    after: content,
    isOurs: true,
  }))
  // Files of an earlier version that this one does without.
  for (const { path: file } of earlier?.files ?? []) {
    if (!ours.some((each) => each.path === file)) files.push(removal(file, earlier!))
  }
  const edited: { file: string; base: string | undefined; after: string; edits: readonly Edit[] }[] = []
  let statusLine: string | undefined
  for (const [file, its] of edits) {
    const before = contentOf(file)
    const base = withoutEdits(withoutOurs(file, earlier), its)
    let after = base
    for (const edit of its) after = applied(after, edit)
    if (base !== undefined && file.endsWith('.json') && hasComments(base) && connection.strictJson === true) {
      notes.push(`${file} contains comments, so ${agentNamed(agent).label} ignores the whole file: remove them.`)
    }
    statusLine ??= connection.ownStatusLine?.(valueAt(base, []))
    files.push({ path: file, before, after, isOurs: false })
    edited.push({ file, base, after: after!, edits: its })
  }
  return {
    files: files.filter(({ before, after }) => before !== after),
    notes,
    carryOut() {
      const record: ConnectRecord = {
        agent,
        scope: place.scope,
        project: place.scope === 'user' ? '' : place.project,
        date: new Date().toISOString(),
        self: place.self,
        files: ours.map(({ path: file, content }) => ({ path: file, sha256: hash(content) })),
        edited: edited.map(({ file, base, after, edits: its }) => ({
          path: file,
          sha256: hash(after),
          ...(base === undefined ? {} : { backup: keepBackup(place.env, file, base) }),
          edits: its.map((change) => {
            const before = change.type === 'value' ? valueAt(base, change.at) : undefined
            return before === undefined ? { change } : { change, before }
          }),
        })),
        ...(statusLine === undefined ? {} : { statusLine }),
        folders: [...new Set([...(earlier?.folders ?? []), ...files.flatMap(missingFolders)])],
      }
      // Written first: whatever is interrupted behind it can still be taken back.
      writeRecord(place.env, record)
      for (const each of files) write(each)
    },
  }
}

/** Undefined if it is not connected there. */
export function planDisconnect(agent: string, place: ConnectionPlace): ConnectPlan | undefined {
  const record = readRecord(place.env, agent, place.scope, place.scope === 'user' ? '' : place.project)
  if (record === undefined) return undefined
  const files: FileChange[] = [
    ...record.files.map(({ path: file }) => removal(file, record)),
    ...record.edited.map(({ path: file }) => ({
      path: file,
      before: contentOf(file),
      after: withoutOurs(file, record),
      isOurs: false,
    })),
  ]
  const kept = files.filter(({ isOurs, before, after }) => isOurs && before !== undefined && before === after)
  return {
    files: files.filter(({ before, after }) => before !== after),
    notes: kept.map(
      ({ path: file }) =>
        `${file} has been edited since Baton wrote it, so it was kept. Delete it if you do not need it.`,
    ),
    carryOut() {
      for (const each of files) write(each)
      removeEmptyFolders(record.folders ?? [])
      removeRecord(place.env, record)
    },
  }
}

/** A file of Baton's own goes, unless somebody has changed it. */
function removal(file: string, record: ConnectRecord): FileChange {
  const before = contentOf(file)
  const known = record.files.find((each) => each.path === file)?.sha256
  return {
    path: file,
    before,
    after: before !== undefined && hash(before) !== known ? before : undefined,
    isOurs: true,
  }
}

/** A file of the user's as it is without Baton's entries: byte for byte as before if nobody has touched it since. */
function withoutOurs(file: string, record: ConnectRecord | undefined): string | undefined {
  const now = contentOf(file)
  const known = record?.edited.find((each) => each.path === file)
  if (known === undefined || now === undefined) return now
  if (hash(now) === known.sha256) return known.backup === undefined ? undefined : fs.readFileSync(known.backup, 'utf8')
  return known.edits.toReversed().reduce((text, { change, before }) => removed(text, change, before), now)
}

/** What is exactly as Baton writes it is Baton's, also where no record says so: dotfiles travel from machine to machine. */
function withoutEdits(text: string | undefined, edits: readonly Edit[]): string | undefined {
  return text === undefined ? undefined : edits.reduceRight((rest, edit) => removed(rest, edit), text)
}

function editsByFile(changes: readonly Change[]): Map<string, Edit[]> {
  const found = new Map<string, Edit[]>()
  for (const change of changes) {
    if (change.type !== 'file') found.set(change.path, [...(found.get(change.path) ?? []), change])
  }
  return found
}

function contentOf(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw asStorageError(error, file)
  }
}

function write({ path: file, before, after }: FileChange): void {
  if (before === after) return
  const real = endOfLinks(file)
  if (after === undefined) {
    fs.rmSync(real, { force: true })
    return
  }
  const mode = before === undefined ? 0o644 : fs.statSync(real).mode & 0o777
  makeFolder(path.dirname(real), 0o755)
  replaceFile(real, after)
  fs.chmodSync(real, mode)
}

/** Settings are often links into a folder of dotfiles: the file that they lead to is changed, and the link stays. */
function endOfLinks(file: string): string {
  const isLink = fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true
  return isLink ? endOfLinks(path.resolve(path.dirname(file), fs.readlinkSync(file))) : file
}

/** The folders that have to be made for a file. */
function missingFolders({ path: file, after }: FileChange): string[] {
  const missing: string[] = []
  if (after === undefined) return missing
  let folder = path.dirname(endOfLinks(file))
  for (; !fs.existsSync(folder); folder = path.dirname(folder)) missing.push(folder)
  return missing
}

/** Only those that Baton made: one that was there before may be a link, or a volume of a container, or wanted for another reason. */
function removeEmptyFolders(folders: readonly string[]): void {
  for (const folder of folders.toSorted((a, b) => b.length - a.length)) {
    if (fs.lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) continue
    if (fs.readdirSync(folder).length === 0) fs.rmdirSync(folder)
  }
}

/** The lines that a change removes and adds, for people. */
export function diffLines({ before, after }: FileChange): string[] {
  const old = (before ?? '').split('\n')
  const young = (after ?? '').split('\n')
  let head = 0
  while (head < old.length && head < young.length && old[head] === young[head]) head++
  let tail = 0
  while (tail < Math.min(old.length, young.length) - head && old.at(-1 - tail) === young.at(-1 - tail)) tail++
  return [
    ...old.slice(head, old.length - tail).map((line) => `- ${line}`),
    ...young.slice(head, young.length - tail).map((line) => `+ ${line}`),
  ]
}
