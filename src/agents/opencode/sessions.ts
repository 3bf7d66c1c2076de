// The sessions of opencode, as records. In its database a session is a row, and its messages and their parts are rows of their
// own; `opencode export` prints a session as one document, with the fields of its rows under other names.

import type { ToolCall } from '../../tape/index.ts'
import type { SessionFile, SessionRecord } from '../agent.ts'
import { fields, type Fields, json, number, isFields, list, text } from '../fields.ts'
import { filesBelow, readJson } from '../files.ts'
import type { SqliteRow } from './row.ts'
import { type SqliteDatabase, withDatabase } from './sqlite.ts'

/** Context windows of the models in a list of providers. */
export function windowsIn(providers: unknown): { [model: string]: number } {
  const windows: { [model: string]: number } = {}
  for (const provider of Object.values(fields(providers))) {
    for (const [id, model] of Object.entries(fields(fields(provider).models))) {
      const window = number(fields(fields(model).limit).context)
      if (window !== undefined) windows[id] = window
    }
  }
  return windows
}

/** Every session in the databases of a folder. */
export function findSessions(folder: string, onUnreadable?: (folder: string) => void): SessionFile[] {
  const isOne = (name: string) => /^opencode(-[\w.-]+)?\.db$/.test(name)
  return filesBelow(folder, 0, isOne, onUnreadable).flatMap(({ path, bytes }) => {
    try {
      return withDatabase(path, (database) =>
        database.has('session') ? Array.from(database.rows('session'), (row) => sessionFile(path, bytes, row)) : [],
      )
    } catch (error) {
      // One that is damaged, or somebody else's, hides no session of another agent from a list.
      if (onUnreadable === undefined) throw error
      onUnreadable(path)
      return []
    }
  })
}

function sessionFile(file: string, bytes: number, row: SqliteRow): SessionFile {
  const parent = typeof row.parent_id === 'string' ? row.parent_id : undefined
  return {
    agent: 'opencode',
    path: file,
    id: String(row.id),
    bytes,
    changed: Number(row.time_updated),
    ...(parent === undefined ? {} : { parent }),
  }
}

/** The sessions that were begun by that session, or by one of those. */
export function subagentsOf({ path, id, bytes }: SessionFile, judged: Set<string>): SessionFile[] {
  const rows = withDatabase(path, (database) => [...database.rows('session', (row) => row.parent_id !== null)])
  const own = new Set([id])
  const found: SessionFile[] = []
  // One that was begun later comes later, and after the one that began it.
  for (const row of rows.sort((a, b) => Number(a.time_created) - Number(b.time_created))) {
    if (!own.has(String(row.parent_id))) continue
    own.add(String(row.id))
    if (!judged.has(String(row.id))) found.push(sessionFile(path, bytes, row))
    judged.add(String(row.id))
  }
  return found
}

/** The calls that have not ended. `recordsOf` leaves out the reply that they belong to until it is finished. */
export function runningCalls({ path, id }: SessionFile): ToolCall[] {
  return withDatabase(path, (database) => {
    const messages = [...database.where('message', 'session_id', new Set([id]))]
    const last = messages.sort((a, b) => order(a.id, b.id)).at(-1)
    if (last === undefined || fields(dataOf(last).time).completed !== undefined) return []
    const parts = [...database.where('part', 'message_id', new Set([String(last.id)]))].map(dataOf)
    return parts.flatMap(({ type, tool, callID, state }) => {
      const { status, input = {} } = fields(state)
      if (type !== 'tool' || status !== 'running') return []
      return [{ id: text(callID) ?? 'unknown', name: text(tool) ?? 'unknown', arguments: input }]
    })
  })
}

/** The sessions and their messages without the parts, which are most of the bytes: in one pass for all of them. */
export function outlinesOf(file: string, ids: ReadonlySet<string>): Map<string, Fields[]> {
  return withDatabase(file, (database) => outlinesIn(database, ids))
}

function outlinesIn(database: SqliteDatabase, ids: ReadonlySet<string>): Map<string, Fields[]> {
  const outlines = new Map<string, Fields[]>()
  for (const row of database.rows('session', (row) => ids.has(String(row.id)))) {
    outlines.set(String(row.id), [{ session: aboutOf(row) }])
  }
  const messages = [...database.rows('message', (row) => ids.has(String(row.session_id)))]
  const data = new Map(messages.map((row) => [row, dataOf(row)]))
  const compactions = new Set([...data.values()].flatMap((each) => (each.summary === true ? [each.parentID] : [])))
  for (const row of messages.sort((a, b) => order(a.id, b.id))) {
    const parts = compactions.has(row.id) ? [{ type: 'compaction' }] : outlined
    outlines.get(String(row.session_id))?.push({ id: row.id, message: data.get(row), parts })
  }
  return outlines
}

/** Stands for the text that was left out: it only matters that somebody typed something. */
const outlined = [{ type: 'text', text: '' }]

function aboutOf(row: SqliteRow): Fields {
  return { ...row, model: json(String(row.model)), revert: json(String(row.revert)) }
}

/** The session, then its messages after `after`, as far as they are finished; the rest is left for the next time. */
export function recordsOf({ path, id }: SessionFile, after = ''): SessionRecord[] {
  return withDatabase(path, (database) => recordsIn(database, id, after))
}

function recordsIn(database: SqliteDatabase, id: string, after: string): SessionRecord[] {
  const [session] = database.rows('session', (row) => row.id === id)
  if (session === undefined) return []
  const found = database.where('message', 'session_id', new Set([id]), (row) => String(row.id) > after)
  const messages = [...found].sort((a, b) => order(a.id, b.id))
  const parts = new Map<string, Fields[]>()
  for (const row of database.where('part', 'message_id', new Set(messages.map((each) => String(each.id))))) {
    const of = String(row.message_id)
    const part = { ...dataOf(row), id: row.id }
    const known = parts.get(of)
    if (known === undefined) parts.set(of, [part])
    else known.push(part)
  }
  // An empty place is never skipped: the session itself is read each time.
  const records: SessionRecord[] = [{ value: { session: aboutOf(session) }, place: '' }]
  const said = messages.map((row) => ({ row, message: dataOf(row) }))
  const lastReply = said.findLastIndex(({ message }) => message.role === 'assistant')
  for (const [i, { row, message }] of said.entries()) {
    const own = (parts.get(String(row.id)) ?? []).sort((a, b) => order(a.id, b.id))
    // A reply before another one that is not finished never will be: its process was killed.
    if (i === lastReply && fields(message.time).completed === undefined && message.error === undefined) break
    // The text of a prompt is written after its message.
    if (message.role === 'user' && own.length === 0 && row === messages.at(-1)) break
    records.push({ value: { id: row.id, message, parts: own }, place: String(row.id) })
  }
  return records
}

function dataOf(row: SqliteRow): Fields {
  return fields(json(String(row.data)))
}

function order(a: unknown, b: unknown): number {
  return String(a) < String(b) ? -1 : 1
}

/** Whether a document was printed by `opencode export`. */
export function isExport(document: Fields): boolean {
  const { id, directory } = fields(document.info)
  return typeof id === 'string' && typeof directory === 'string' && Array.isArray(document.messages)
}

/** The records of such a document: the same as from the database. */
export function* exportedRecords({ path: file }: SessionFile): Generator<SessionRecord> {
  const document = fields(readJson(file))
  const info = fields(document.info)
  // An empty place is never skipped: the session itself is read each time.
  yield { value: { session: { ...info, parent_id: info.parentID } }, place: '' }
  for (const each of list(document.messages)) {
    const { info: message, parts } = fields(each)
    if (isFields(message)) yield { value: { id: message.id, message, parts }, place: String(message.id) }
  }
}
