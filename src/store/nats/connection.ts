// The connection to the servers of one workspace: finding and making its streams, trying again while the servers are away or elect a
// leader, and errors in words a reader can act on.

import { randomBytes } from 'node:crypto'
import { type JetStreamManager, jetstreamManager, type StreamConfig } from '@nats-io/jetstream'
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import { BatonError, StorageError, UnknownOutcomeError } from '../../errors.ts'
import { pause } from '../../system/index.ts'
import { type NatsAddress, parseNatsAddress } from './address.ts'
import { Publisher } from './publisher.ts'
import {
  checkServer,
  codeOf,
  connectTo,
  fullCodes,
  isNoResponder,
  isTimeout,
  mayPass,
  streamNotFound,
  subjectsTaken,
  tooFewServers,
  wrongLastSequence,
} from './server.ts'

/** Long enough for a cluster to elect a new leader. */
const defaultPatience = 30_000
/** A person who names a wrong server gets the error soon. */
const openingPatience = 8_000
const requestMs = 3_000

export interface Persistence {
  /** What is done could be stored although no answer came. */
  readonly isWrite?: boolean
  readonly patience?: number
  /** Looks into an error before another try; what it throws ends the tries. */
  readonly examine?: (error: unknown) => Promise<void>
}

export class NatsServers {
  readonly place: string
  readonly replicas: number
  /** The subjects of the stream with tapes and blobs; the stream below holds what can be made anew from it. */
  readonly prefix: string
  readonly indexStream: string
  readonly newsPrefix: string
  readonly connection: NatsConnection
  readonly publisher: Publisher
  readonly jsm: JetStreamManager
  readonly #workspace: string
  readonly #patience: number
  /** How often the connection was made again. */
  reconnects = 0

  static async connect(address: string, patience = defaultPatience): Promise<NatsServers> {
    const parsed = parseNatsAddress(address)
    const connection = await connectTo(parsed)
    try {
      checkServer(connection, parsed.place)
      const jsm = await jetstreamManager(connection, { checkAPI: false, timeout: requestMs })
      return new NatsServers(parsed, connection, jsm, patience)
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  private constructor(address: NatsAddress, connection: NatsConnection, jsm: JetStreamManager, patience: number) {
    this.place = address.place
    this.replicas = address.replicas ?? (connection.info?.cluster === undefined ? 1 : 3)
    this.prefix = `baton.${address.workspace}`
    this.indexStream = `baton-${address.workspace}-index`
    this.newsPrefix = `baton-news.${address.workspace}`
    this.connection = connection
    this.publisher = new Publisher(connection, requestMs)
    this.jsm = jsm
    this.#workspace = address.workspace
    this.#patience = patience
    void this.#countReconnects()
  }

  async #countReconnects(): Promise<void> {
    for await (const { type } of this.connection.status()) if (type === 'reconnect') this.reconnects++
  }

  /** What one stream is indexed under means nothing for the next. */
  indexPrefix(stream: string): string {
    const suffix = stream.slice(`baton-${this.#workspace}-`.length)
    return `baton-index.${this.#workspace}${suffix === '' ? '' : `.${suffix}`}`
  }

  /** Finds the streams of the workspace, or makes them. Safe with many starters. */
  async prepare(): Promise<{ stream: string; isIndexNew: boolean }> {
    const patience = Math.min(openingPatience, this.#patience)
    const common = { num_replicas: this.replicas, allow_direct: false, max_consumers: -1 }
    const isIndexNew = await this.persist(
      () =>
        this.#make({
          ...common,
          name: this.indexStream,
          subjects: [`baton-index.${this.#workspace}.>`],
          max_msgs_per_subject: 1,
        }),
      { patience },
    )
    const stream = await this.persist(() => this.#findOrMake(common), { patience })
    return { stream, isIndexNew }
  }

  async #findOrMake(config: Partial<StreamConfig>): Promise<string> {
    for (;;) {
      const known = await this.find()
      if (known !== undefined) return known
      const { stream, made } = await this.#agreeOnName()
      try {
        await this.#make({ ...config, name: stream, subjects: [`${this.prefix}.>`], allow_rollup_hdrs: true })
      } catch (error) {
        // Another starter has made one since we looked.
        if (codeOf(error) === subjectsTaken) continue
        throw error
      }
      await this.publisher.publish(made, Buffer.from(stream))
      return stream
    }
  }

  /** The stream that keeps the workspace now, if there is one. */
  async find(): Promise<string | undefined> {
    const [name] = await this.jsm.streams.names(`${this.prefix}.workspace.id`).next()
    return name
  }

  /**
   * No two streams of a workspace have the same name, so a process that asks for the one it knows cannot be given another. Starters agree
   * on the name of the n-th by storing it where nothing is yet; once it was made, the next one gets another name.
   */
  async #agreeOnName(): Promise<{ stream: string; made: string }> {
    for (let n = 1; ; n++) {
      const subject = `baton-index.${this.#workspace}.stream.${n}`
      const made = `${subject}.made`
      const mine = Buffer.from(`baton-${this.#workspace}-${randomBytes(4).toString('hex')}`)
      await this.publisher.publish(subject, mine, whereNothingIs()).catch((error: unknown) => {
        if (codeOf(error) !== wrongLastSequence) throw error
      })
      const [agreed, done] = await Promise.all(
        [subject, made].map((each) => this.jsm.streams.getMessage(this.indexStream, { last_by_subj: each })),
      )
      if (agreed !== null && agreed !== undefined && (done === null || done === undefined)) {
        return { stream: agreed.string(), made }
      }
      if (n > 1_000) throw new StorageError(`Cannot use ${this.place}: its streams have no name`)
    }
  }

  /** Whether it had to be made. */
  async #make(config: Partial<StreamConfig> & { name: string }): Promise<boolean> {
    if (await this.#isThere(config.name)) return false
    try {
      await this.jsm.streams.add(config)
      return true
    } catch (error) {
      // When several starters make the same stream at once, the server may refuse some because that stream already has the subjects.
      if (codeOf(error) === subjectsTaken && (await this.#isThere(config.name))) return false
      throw error
    }
  }

  async #isThere(stream: string): Promise<boolean> {
    try {
      await this.jsm.streams.info(stream)
      return true
    } catch (error) {
      if (codeOf(error) !== streamNotFound) throw error
      return false
    }
  }

  /** What an acknowledgement means here, in one sentence for people. */
  guarantee(): string {
    const version = this.connection.info?.version ?? 'unknown'
    const [major = 0, minor = 0] = version.split('.').map(Number)
    const isOld = major < 2 || (major === 2 && minor < 10)
    const synced = isOld
      ? `NATS ${version} acknowledges before it syncs its disk (it does so once a minute)`
      : `NATS ${version} acknowledges before it syncs its disk, unless it runs with "sync_interval: always"`
    return this.replicas === 1
      ? `${synced}: an acknowledged entry survives a crash of the server, and may be lost when its machine loses power.`
      : `${synced}: an acknowledged entry is held by most of ${this.replicas} servers and survives the loss of one, and may be lost when most of them lose power at once.`
  }

  async close(): Promise<void> {
    // A server that is away gets no last notification; while the connection is made again, a flush would wait for ever.
    const flushed = new AbortController()
    const end = () => flushed.abort()
    void this.connection.flush().then(end, end)
    await pause(requestMs, flushed.signal)
    this.publisher.close()
    await this.connection.close()
  }

  /** Tries until it works, the error is one that stays, or patience ends. */
  async persist<T>(
    work: () => Promise<T>,
    { isWrite = false, patience = this.#patience, examine = async () => {} }: Persistence = {},
  ): Promise<T> {
    const end = performance.now() + patience
    let isUnknown = false
    for (let wait = 20; ; wait = Math.min(1_000, wait * 2)) {
      try {
        return await work()
      } catch (error) {
        if (BatonError.is(error)) throw error
        await examine(error)
        isUnknown ||= isWrite && isTimeout(error)
        if (!mayPass(error) || performance.now() + wait > end) throw this.#explain(error, isUnknown)
      }
      await pause(wait)
    }
  }

  #explain(error: unknown, isUnknown: boolean): BatonError {
    const why = error instanceof Error ? error.message : String(error)
    if (isUnknown) {
      return new UnknownOutcomeError(`${this.place} did not acknowledge a write: ${why}`, {
        hint: 'It may or may not have been stored. Check that the servers run; retrying with the same meta.idempotency is safe.',
        cause: error,
      })
    }
    return new StorageError(`Cannot use ${this.place}: ${why}`, { hint: this.#hint(error), cause: error })
  }

  #hint(error: unknown): string {
    const code = codeOf(error)
    if (isNoResponder(error)) {
      return 'Nothing was written. JetStream is off on the server, or most servers of the cluster are away: start them, with -js.'
    }
    if (fullCodes.has(code)) {
      return 'Nothing was written. The disk of the server, or what JetStream may use of it, is full. Free some space.'
    }
    if (code === tooFewServers) {
      return `The cluster has too few servers for ${this.replicas} replicas. Start the others, or add ?replicas=1 to the address.`
    }
    return 'Nothing was written. Check that the servers run and can be reached.'
  }
}

/** Makes a publish fail where the subject has a message. */
export function whereNothingIs(): MsgHdrs {
  const expected = headers()
  expected.set('Nats-Expected-Last-Subject-Sequence', '0')
  return expected
}
