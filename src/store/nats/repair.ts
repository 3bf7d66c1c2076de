// Repairs a tape: a damaged message is replaced by one that says of each entry it held that it is lost, so that ids have no gaps and
// the tape can be written to again. The bytes that were there are kept as a blob.

import { randomUUID } from 'node:crypto'
import { lostDraft, prepare, type Prepared } from '../draft.ts'
import type { Damage, RepairReport } from '../store.ts'
import type { NatsBlobs } from './blobs.ts'
import { encodeMessage, entryAt, type Head, type Message, type Standing } from './message.ts'
import type { NatsTape, Plan } from './tape.ts'
import type { TapeIndex } from './tape-index.ts'

export function repairTape(
  tape: NatsTape,
  blobs: NatsBlobs,
  now: () => Date,
): Promise<Pick<RepairReport, 'damage' | 'cut' | 'kept'>> {
  return tape.rewrite((index) => new Repair(tape, blobs, index, now).run())
}

class Repair {
  readonly #tape: NatsTape
  readonly #blobs: NatsBlobs
  readonly #now: () => Date
  /** What is known of the tape up to the message that is looked at. */
  readonly #index: TapeIndex
  readonly #damage: Damage[] = []
  readonly #cut: string[] = []
  #kept = 0

  constructor(tape: NatsTape, blobs: NatsBlobs, index: TapeIndex, now: () => Date) {
    this.#tape = tape
    this.#blobs = blobs
    this.#index = index
    this.#now = now
  }

  async run(): Promise<Pick<RepairReport, 'damage' | 'cut' | 'kept'>> {
    const index = this.#index
    for (;;) {
      const subject = this.#tape.subject(index, index.position + 1)
      const message = await this.#tape.messages.find(subject)
      if (message === undefined) break
      if (message.damage !== undefined) await this.#replace(subject, message)
      else if (index.position === 0 && message.copied !== undefined) index.copied = message.copied
      else this.#add(message)
    }
    if (this.#damage.length > 0) await this.#correctLast()
    return { damage: this.#damage, cut: this.#cut, kept: this.#kept }
  }

  #add(message: Message): void {
    this.#kept += message.count
    this.#index.add(message)
  }

  async #replace(subject: string, message: Message): Promise<void> {
    const bytes = await this.#tape.stream.get(subject)
    // Another process has repaired it meanwhile, or the stream is gone, which the next look finds out.
    if (bytes === undefined) return
    const { sha256 } = await this.#blobs.put(bytes)
    this.#cut.push(`blob:${sha256}`)
    const copied = this.#index.position === 0 ? await this.#copiedFrom(bytes.toString()) : undefined
    const head = copied === undefined ? await this.#entriesLost(subject, message, sha256) : await this.#pointer(copied)
    const [from, to] = [head.first, head.first + head.lines.length - 1]
    this.#damage.push({
      kind: 'checksum',
      file: subject,
      offset: 0,
      length: bytes.length,
      lost: to < from ? undefined : { from, to },
      message: message.damage!.message,
    })
    const { lines, ...about } = head
    await this.#tape.stream.replace(subject, encodeMessage(about, lines))
    if (copied === undefined) this.#index.add({ ...about, count: lines.length, lines })
  }

  /** A message of as many lost entries. How many is seen from the message behind it, or else from its own bytes. */
  async #entriesLost(subject: string, message: Message, sha256: string): Promise<Head & { lines: string[] }> {
    const position = this.#index.position + 1
    const first = this.#index.lastId + 1
    const behind = await this.#tape.messages.find(this.#tape.subject(this.#index, position + 1))
    const next = behind?.damage === undefined ? behind : undefined
    const isGone = message.mark === 'gone'
    const count = isGone ? 0 : Math.max(0, next === undefined ? message.count : next.first - first)
    const { segment } = this.#index.standing
    // A segment that began unseen: the message behind it is in another one than that before.
    const hasBegun = next !== undefined && next.mark === undefined && next.standing.segment !== segment
    const mark = message.mark ?? (hasBegun ? (count === 0 ? 'closes' : 'opens') : undefined)
    const plan: Plan = {
      ...(mark === undefined ? {} : { mark }),
      batches: Array.from({ length: count }, () => 1),
      segment: mark === 'opens' || mark === 'closes' ? first : segment,
      prepared: Array.from({ length: count }, (_, at) => this.#lost(first + at, sha256)),
    }
    const standing = await this.#tape.standing(this.#index, position, plan)
    const { prepared, segment: _, ...about } = plan
    return { write: randomUUID(), first, ...about, standing, lines: prepared.map(({ rest }) => rest) }
  }

  #lost(id: number, sha256: string): Prepared {
    return prepare([lostDraft(id, `what was left of it is in blob:${sha256}`)], this.#now)[0]!
  }

  /** Where the entries of a tape lie that was made at once, if the damaged first message said so. */
  async #copiedFrom(text: string): Promise<Head['copied']> {
    const names = await this.#tape.hiddenNames()
    const named = names.filter((name) => text.includes(name))
    // Where the name itself is damaged, a message without entries can mean only the one there is.
    const token = named[0] ?? (names.length === 1 && text.endsWith('\n') ? names[0] : undefined)
    if (token === undefined) return undefined
    const subjects = await this.#tape.stream.subjects(`${this.#tape.stream.prefix}.c.${token}.*`)
    return { token, messages: subjects.length }
  }

  async #pointer(copied: NonNullable<Head['copied']>): Promise<Head & { lines: string[] }> {
    const last = await this.#tape.messages.at(`${this.#tape.stream.prefix}.c.${copied.token}.${copied.messages}`)
    const first = last.first + last.count
    return { write: randomUUID(), first, batches: [], copied, standing: last.standing, lines: [] }
  }

  /** The last message says which anchor is the newest. If that one is lost, it is now the one before. */
  async #correctLast(): Promise<void> {
    const index = this.#index
    const { standing, position } = index
    const inSegment = index.anchors.filter(({ id }) => id >= standing.segment)
    const newest = inSegment.at(-1)
    if (standing.anchor?.id === newest?.id) return
    const { anchor: _, ...rest } = standing
    const corrected: Standing = { ...rest, anchors: inSegment.length, ...(await this.#sinceAnchor(newest)) }
    const subject = this.#tape.subject(index, position)
    const { count: __, lines, ...head } = await this.#tape.messages.at(subject)
    const data = encodeMessage({ ...head, standing: corrected }, lines)
    await this.#tape.stream.replace(subject, data)
    this.#tape.messages.remember(subject, { ...head, standing: corrected, count: lines.length, lines }, data.length)
  }

  async #sinceAnchor(newest: TapeIndex['anchors'][number] | undefined): Promise<Pick<Standing, 'anchor' | 'phase'>> {
    const { segment } = this.#index.standing
    if (newest === undefined) {
      return { phase: { first: segment, bytes: await this.#tape.bytesFrom(this.#index, segment) } }
    }
    const { id, position, name } = newest
    const { payload } = entryAt(await this.#tape.message(this.#index, position), id)
    const { from } = payload as { from?: number }
    const first = Math.max(segment, from ?? id + 1)
    const anchor = { id, position, ...(name.length > 200 ? {} : { name }), ...(from === undefined ? {} : { from }) }
    return { anchor, phase: { first, bytes: await this.#tape.bytesFrom(this.#index, first) } }
  }
}
