// What `opencode export` prints: a session as one document, with the fields of its rows under other names.

import type { SessionFile, SessionRecord } from '../agent.ts'
import { fields, type Fields, isFields, list } from '../fields.ts'
import { readJson } from '../files.ts'

export function isExport(document: Fields): boolean {
  const { id, directory } = fields(document.info)
  return typeof id === 'string' && typeof directory === 'string' && Array.isArray(document.messages)
}

/** The same records as from the database. */
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
