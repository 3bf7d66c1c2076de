// The stream of a workspace as one process knows it: storing what must not be there yet, and reading by subject. A stream that was
// deleted, made anew or restored to an earlier state is another one: whatever was known of the first would put entries behind a gap,
// so this one then refuses every call, and the engine begins anew with its successor.

import type { PubAck } from '@nats-io/jetstream'
import { headers, type MsgHdrs } from '@nats-io/transport-node'
import { StorageError } from '../../errors.ts'
import { pause } from '../../system/index.ts'
import { type NatsServers, whereNothingIs } from './connection.ts'
import { codeOf, isNoResponder, noMessage, streamNotFound, wrongLastSequence, wrongStream } from './server.ts'

/** So long no leader may know of a stream before it counts as deleted, or of what it acknowledged before that counts as lost. */
const absenceMs = 1_000
const catchUpMs = 5_000

export class NatsStream {
  readonly servers: NatsServers
  readonly name: string
  readonly prefix: string
  readonly indexPrefix: string
  /** The highest sequence of the stream that this process has seen. */
  #highest = 0
  #reconnects: number
  readonly #creating: MsgHdrs
  #lost: StorageError | undefined

  constructor(servers: NatsServers, name: string) {
    this.servers = servers
    this.name = name
    this.prefix = servers.prefix
    this.indexPrefix = servers.indexPrefix(name)
    this.#reconnects = servers.reconnects
    this.#creating = this.#expecting(whereNothingIs())
  }

  /** The server refuses it where another stream has taken the place of this one. */
  #expecting(about: MsgHdrs): MsgHdrs {
    about.set('Nats-Expected-Stream', this.name)
    return about
  }

  get place(): string {
    return this.servers.place
  }

  /** Why this stream cannot be used any more. */
  get lost(): StorageError | undefined {
    return this.#lost
  }

  /**
   * Whether nothing was ever stored. Another starter may be making the stream at this moment: the server names it before its store is open,
   * and NATS 2.9 crashes if a message of it is asked for then. One that takes a message, or has taken one, is open.
   */
  async isNew(): Promise<boolean> {
    const { state } = await this.#persist(() => this.servers.jsm.streams.info(this.name))
    return state.last_seq === 0
  }

  /** Stores a message under a subject that has none. `false`: the subject is taken, perhaps by an earlier try of this call. */
  create(subject: string, data: Uint8Array): Promise<boolean> {
    return this.#persist(
      async () => {
        try {
          await this.#publish(subject, data, this.#creating)
          return true
        } catch (error) {
          if (codeOf(error) === wrongLastSequence) return false
          throw error
        }
      },
      { isWrite: true },
    )
  }

  /** Puts a message in the place of the one under the subject. */
  async replace(subject: string, data: Uint8Array): Promise<void> {
    const rollup = this.#expecting(headers())
    rollup.set('Nats-Rollup', 'sub')
    await this.#persist(() => this.#publish(subject, data, rollup))
  }

  /** What is stored comes behind all that was seen before it was sent; otherwise the stream has lost some of that. */
  async #publish(subject: string, data: Uint8Array, about: MsgHdrs): Promise<PubAck> {
    const before = this.#highest
    const acknowledged = await this.servers.publisher.publish(subject, data, about)
    if (acknowledged.seq > before) {
      if (acknowledged.seq > this.#highest) this.#highest = acknowledged.seq
      return acknowledged
    }
    await this.servers.jsm.streams.deleteMessage(this.name, acknowledged.seq)
    throw this.#lose(rolledBack(this.place))
  }

  /** Stores a message of the index stream, which keeps the last of each subject. */
  async put(subject: string, data: Uint8Array): Promise<void> {
    await this.#persist(() => this.servers.publisher.publish(subject, data), { isIndex: true })
  }

  /** The last message of a subject, from the leader, so that what was acknowledged is seen. */
  async get(subject: string): Promise<Buffer | undefined> {
    const isIndex = this.#isIndex(subject)
    return this.#persist(
      async () => {
        try {
          const found = await this.servers.jsm.streams.getMessage(this.#streamOf(subject), { last_by_subj: subject })
          if (found === null) return undefined
          if (!isIndex && found.seq > this.#highest) this.#highest = found.seq
          return Buffer.from(found.data.buffer, found.data.byteOffset, found.data.length)
        } catch (error) {
          if (codeOf(error) === noMessage) return undefined
          throw error
        }
      },
      { isIndex },
    )
  }

  /** The subjects of this stream, or of its index, that match a filter. */
  async subjects(filter: string): Promise<string[]> {
    const info = await this.#persist(
      () => this.servers.jsm.streams.info(this.#streamOf(filter), { subjects_filter: filter }),
      { isIndex: this.#isIndex(filter) },
    )
    return Object.keys(info.state.subjects ?? {})
  }

  async drop(filter: string): Promise<void> {
    await this.#persist(() => this.servers.jsm.streams.purge(this.#streamOf(filter), { filter }), {
      isIndex: this.#isIndex(filter),
    })
  }

  #isIndex(subject: string): boolean {
    return !subject.startsWith(`${this.prefix}.`)
  }

  #streamOf(subject: string): string {
    return this.#isIndex(subject) ? this.servers.indexStream : this.name
  }

  async #persist<T>(work: () => Promise<T>, { isWrite = false, isIndex = false } = {}): Promise<T> {
    if (this.#lost !== undefined) throw this.#lost
    if (this.#reconnects !== this.servers.reconnects) await this.#assertWhole()
    return this.servers.persist(work, { isWrite, examine: (error) => this.#examine(error, isIndex) })
  }

  /** Servers that were away may have lost what they had acknowledged and not synced. */
  async #assertWhole(): Promise<void> {
    const { reconnects } = this.servers
    const end = performance.now() + catchUpMs
    for (;;) {
      const { state } = await this.servers.persist(() => this.servers.jsm.streams.info(this.name), {
        examine: (error) => this.#examine(error, false),
      })
      if (state.last_seq >= this.#highest) break
      // A leader that was just elected may need a moment to know of it.
      if (performance.now() > end) throw this.#lose(rolledBack(this.place))
      await pause(100)
    }
    this.#reconnects = reconnects
  }

  /** Throws when the stream is gone or another one has taken its place. */
  async #examine(error: unknown, isIndex: boolean): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost
    const code = codeOf(error)
    if (code !== streamNotFound && code !== wrongStream && !(code === 0 && isNoResponder(error))) return
    for (const end = performance.now() + absenceMs; ; await pause(100)) {
      let found: string | undefined
      try {
        found = await this.servers.find()
      } catch {
        return // the servers themselves are away, which the next try finds out
      }
      if (found === this.name && isIndex && code === streamNotFound) throw withoutIndex(this.place)
      if (found === this.name) return
      if (found !== undefined) throw this.#lose(replaced(this.place))
      if (performance.now() > end) throw this.#lose(deleted(this.place, this.name))
    }
  }

  #lose(error: StorageError): StorageError {
    this.#lost ??= error
    return this.#lost
  }
}

export function deleted(place: string, name: string): StorageError {
  return new StorageError(`Cannot use ${place}: the stream ${name} is gone from the server`, {
    hint: 'Nothing was written. Restore it from a backup: baton store copy BACKUP STORE. Processes continue when it is back.',
  })
}

function replaced(place: string): StorageError {
  return new StorageError(
    `The stream of ${place} was deleted and recreated: what was acknowledged before is no longer in it`,
    { hint: 'Nothing was written. Restore a backup if there is one; the next call continues in the new stream.' },
  )
}

function withoutIndex(place: string): StorageError {
  return new StorageError(`Cannot use ${place}: the stream with its index is gone from the server`, {
    hint: 'No entry is lost. Start this process again: it rebuilds the index.',
  })
}

function rolledBack(place: string): StorageError {
  return new StorageError(`${place} has lost entries that it had acknowledged: its stream is at an earlier state`, {
    hint: 'Nothing was written. Restore a newer backup if there is one; the next call continues from what is there.',
  })
}
