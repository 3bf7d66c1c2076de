// One message of a tape: a group of batches that were appended together. Its first line says what it holds and how the tape stands
// behind it, with a checksum over the whole message; every further line is an entry without its id, as it was appended.

import { crc32 } from 'node:zlib'
import { DamagedError } from '../../errors.ts'
import type { Entry } from '../entry.ts'
import { limits } from '../store.ts'

/** How a tape stands behind a message. */
export interface Standing {
  /** The first id of the current segment; beyond the last id when the tape was removed. */
  readonly segment: number
  readonly bytes: number
  readonly anchors: number
  /** The last anchor, and the position of its message. Its name is here if it is short. */
  readonly anchor?: { id: number; position: number; name?: string; from?: number } | undefined
  readonly phase: { first: number; bytes: number }
  readonly date: string | undefined
}

export interface Head {
  /** Tells a message from others that were sent for the same place. */
  readonly write: string
  /** The id of its first entry; of the next one, if it holds none. */
  readonly first: number
  /** How many entries each batch has. */
  readonly batches: readonly number[]
  /** `opens` and `closes` end a segment, `purges` gives up the archives, `gone` is left of a message that was purged. */
  readonly mark?: 'opens' | 'closes' | 'purges' | 'gone'
  /** The first message of a tape that was made at once: its entries lie in so many messages under another name. */
  readonly copied?: { token: string; messages: number }
  readonly standing: Standing
}

export interface Message extends Head {
  readonly count: number
  /** The entries as text, without their ids. */
  readonly lines: readonly string[]
  /** Why its content cannot be read. Then `count` and `mark` are what its bytes seem to say, and the rest means nothing. */
  readonly damage?: DamagedError
}

export function encodeMessage(head: Head, lines: readonly string[]): Buffer {
  const start = JSON.stringify(head).slice(0, -1)
  const body = lines.join('\n')
  return Buffer.from(`${start},"crc":${crc32(body, crc32(start))}}\n${body}`)
}

/** `where` names the message in an error. */
export function decodeMessage(data: Buffer, where: string): Message {
  const text = data.toString()
  const end = text.indexOf('\n')
  const found = /^(.*),"crc":(\d+)\}$/s.exec(text.slice(0, end))
  const body = text.slice(end + 1)
  if (end < 0 || found === null || crc32(body, crc32(found[1]!)) !== Number(found[2]))
    return damagedMessage(text, where)
  const head = JSON.parse(`${found[1]}}`) as Head
  const count = head.batches.reduce((sum, size) => sum + size, 0)
  return { ...head, count, lines: count === 0 ? [] : body.split('\n') }
}

function damagedMessage(text: string, where: string): Message {
  const damage = new DamagedError(`The message ${where} is not what was stored: its checksum differs`, {
    file: where,
    offset: 0,
    hint: 'Its neighbours can be read. Restore the workspace from a backup, or give up what it held: baton tape repair TAPE',
  })
  const standing = { segment: 0, bytes: 0, anchors: 0, phase: { first: 0, bytes: 0 }, date: undefined }
  const mark = marks.find((one) => text.includes(`,"mark":"${one}",`))
  const about = { ...(mark === undefined ? {} : { mark }), standing }
  return { write: '', first: 0, batches: [], ...about, count: seemingCount(text), lines: [], damage }
}

const marks = ['opens', 'closes', 'purges', 'gone'] as const

/** How many entries a damaged message held, by its first line or by its lines: an id too many is better than one given twice. */
function seemingCount(text: string): number {
  const sizes = /"batches":\[([\d,]*)\]/.exec(text)?.[1]?.split(',') ?? []
  const said = sizes.reduce((sum, size) => sum + Number(size), 0)
  const end = text.indexOf('\n')
  const seen = end < 0 || end === text.length - 1 ? 0 : text.split('\n').length - 1
  return Math.min(limits.batchEntries, Math.max(said, seen))
}

export function entryAt(message: Message, id: number): Entry {
  if (message.damage !== undefined) throw message.damage
  return JSON.parse(`{"id":${id}${message.lines[id - message.first]}}`) as Entry
}
