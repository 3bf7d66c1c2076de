// Ids as people type them: the beginning is enough, as long as only one begins like that. What is open comes first; what has ended is
// looked for on the tape and in its archives only when nothing that is open begins like that.

import { InvalidError } from '../../errors.ts'
import { human } from '../schema.ts'
import { eventIn } from './events.ts'
import type { Journal } from './journal.ts'
import { escalationId, type OpenRequests } from './open-requests.ts'

export type IdKind = 'request' | 'trace' | 'escalation'

/** How many of the ids that could be meant are named. */
const mostNamed = 5
const uuidLength = 36

/** The id that begins like this; what was given, where none does. Several are an error that names them. */
export async function wholeId(journal: Journal, kind: IdKind, given: string): Promise<string> {
  if (given === '' || (await isWhole(journal, kind, given))) return given
  const beginning = kind === 'trace' ? given.toLowerCase() : given
  const found = new Set<string>()
  const add = (id: string | undefined) => {
    if (id?.startsWith(beginning) === true) found.add(id)
  }
  for (const id of openIds(await journal.current(), kind)) add(id)
  // All that ever happened is read only for what can be a beginning: to ask for an unknown id costs nothing.
  if (found.size === 0 && given.length < uuidLength) for await (const id of allIds(journal, kind)) add(id)
  if (found.size <= 1) return [...found][0] ?? given
  const named = [...found].slice(0, mostNamed).join(', ')
  const more = found.size > mostNamed ? `, and ${found.size - mostNamed} more` : ''
  throw new InvalidError(`"${given}" is the beginning of several ids: ${named}${more}`, { hint: 'Give more of it.' })
}

async function isWhole(journal: Journal, kind: IdKind, given: string): Promise<boolean> {
  if (kind === 'trace') return /^[0-9a-f-]{36}$/i.test(given)
  if (kind === 'request') {
    return (await journal.current()).byId.has(given) || (await journal.newestOf(given)) !== undefined
  }
  const entry = /^e(\d{1,15})$/.exec(given)?.[1]
  if (entry === undefined) return false
  for await (const id of allIds(journal, kind, { after: Number(entry) - 1, limit: 1 })) if (id === given) return true
  return false
}

function openIds({ byId, deadLetters }: OpenRequests, kind: IdKind): (string | undefined)[] {
  const open = [...byId.values()]
  if (kind === 'escalation') return open.map(({ escalation }) => escalation)
  return [...open, ...deadLetters.values()].map(({ requestId, traceId }) => (kind === 'request' ? requestId : traceId))
}

async function* allIds(
  journal: Journal,
  kind: IdKind,
  range: { after?: number; limit?: number } = {},
): AsyncGenerator<string> {
  for await (const entry of journal.read({ ...range, archived: true })) {
    const event = eventIn(entry)
    if (event?.type === 'escalated' && kind === 'escalation') yield escalationId(entry.id)
    if (event?.type !== 'requested') continue
    const { requestId, request } = event.envelope
    if (kind === 'request') yield requestId
    else if (kind === 'trace') yield request.traceId
    else if (request.handoffTo === human && event.rejection === undefined) yield escalationId(entry.id)
  }
}
