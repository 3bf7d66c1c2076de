import os from 'node:os'
import path from 'node:path'
import type { Agent, Record, SessionFile } from '../agent.ts'
import { fields, type Fields, json, number } from '../fields.ts'
import { filesBelow, readJson } from '../folder.ts'
import { opencodeParser } from './parser.ts'
import type { Row } from './row.ts'
import { type Database, withDatabase } from './sqlite.ts'

export const opencode: Agent = {
  name: 'opencode',
  label: 'opencode',
  folders: (env) => [
    path.join(env.XDG_DATA_HOME || path.join(env.HOME || os.homedir(), '.local', 'share'), 'opencode'),
  ],
  find: (folder) =>
    filesBelow(folder, 0, (name) => /^opencode(-[\w.-]+)?\.db$/.test(name)).flatMap(({ path: at, bytes }) =>
      withDatabase(at, (database) =>
        database.has('session') ? Array.from(database.rows('session'), (row) => sessionFile(at, bytes, row)) : [],
      ),
    ),
  recognises: () => false,
  parser: opencodeParser,
  records: ({ path: file, id }, after) => withDatabase(file, (database) => recordsOf(database, id, after)),
  outlines: (file, ids) => withDatabase(file, (database) => outlinesOf(database, ids)),
  // What it knows of the world's models, then what the user says, where both lie by custom.
  hints({ path: file }) {
    const home = path.resolve(path.dirname(file), '../../..')
    const known = readJson(path.join(home, '.cache/opencode/models.json'))
    const own = fields(readJson(path.join(home, '.config/opencode/opencode.json'))).provider
    return { windows: { ...windowsIn(known), ...windowsIn(own) } }
  },
}

function windowsIn(providers: unknown): { [model: string]: number } {
  const windows: { [model: string]: number } = {}
  for (const provider of Object.values(fields(providers))) {
    for (const [id, model] of Object.entries(fields(fields(provider).models))) {
      const window = number(fields(fields(model).limit).context)
      if (window !== undefined) windows[id] = window
    }
  }
  return windows
}

function sessionFile(file: string, bytes: number, row: Row): SessionFile {
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

/** The sessions and their messages without the parts, which are most of the bytes: in one pass for all of them. */
function outlinesOf(database: Database, ids: ReadonlySet<string>): Map<string, Fields[]> {
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

/** Stands for the words that were left out: what counts is that somebody typed them. */
const outlined = [{ type: 'text', text: '' }]

function aboutOf(row: Row): Fields {
  return { ...row, model: json(String(row.model)), revert: json(String(row.revert)) }
}

/** The session, then its messages behind `after` as far as they are finished: the rest is left for the next time. */
function recordsOf(database: Database, id: string, after = ''): Record[] {
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
  // Its place is always behind: the session itself is looked at each time.
  const records: Record[] = [{ value: { session: aboutOf(session) }, place: '' }]
  for (const row of messages) {
    const message = dataOf(row)
    const own = (parts.get(String(row.id)) ?? []).sort((a, b) => order(a.id, b.id))
    if (message.role === 'assistant' && fields(message.time).completed === undefined && message.error === undefined)
      break
    // Its words are written behind it.
    if (message.role === 'user' && own.length === 0 && row === messages.at(-1)) break
    records.push({ value: { id: row.id, message, parts: own }, place: String(row.id) })
  }
  return records
}

function dataOf(row: Row): Fields {
  return fields(json(String(row.data)))
}

function order(a: unknown, b: unknown): number {
  return String(a) < String(b) ? -1 : 1
}
