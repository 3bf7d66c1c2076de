// The connection to the streams of one workspace: publishing what must not be there yet, reading by subject, waiting while the
// servers are away or elect a leader, and errors in words a reader can act on.

import {
  type JetStreamClient,
  JetStreamApiError,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { connect, errors, headers, type NatsConnection } from '@nats-io/transport-node'
import { BatonError, StorageError, UnknownOutcomeError, UnsupportedError } from '../../errors.ts'
import { newWorkspaceId } from '../name.ts'
import { limits } from '../store.ts'
import { type NatsAddress, parseNatsAddress } from './address.ts'

/** Long enough for a cluster to elect a new leader. */
const defaultPatience = 30_000
/** A person who names a wrong server is told soon. */
const openingPatience = 8_000
const requestMs = 3_000
const format = 1

export class NatsStreams {
  readonly place: string
  readonly replicas: number
  /** The stream with tapes and blobs, and the one with what can be made anew from it. */
  readonly stream: string
  readonly indexStream: string
  readonly prefix: string
  readonly indexPrefix: string
  readonly newsPrefix: string
  readonly connection: NatsConnection
  readonly #js: JetStreamClient
  readonly #jsm: JetStreamManager
  readonly #patience: number
  /** Called when the streams are gone: what was known of them means nothing any more. */
  onLost: () => void = () => {}

  static async open(address: string, patience = defaultPatience): Promise<NatsStreams> {
    const parsed = parseNatsAddress(address)
    const connection = await connectTo(parsed)
    try {
      checkServer(connection, parsed.place)
      const jsm = await jetstreamManager(connection, { checkAPI: false, timeout: requestMs })
      return new NatsStreams(parsed, connection, jsm, patience)
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  private constructor(address: NatsAddress, connection: NatsConnection, jsm: JetStreamManager, patience: number) {
    this.place = address.place
    this.replicas = address.replicas ?? (connection.info?.cluster === undefined ? 1 : 3)
    this.stream = `baton-${address.workspace}`
    this.indexStream = `baton-${address.workspace}-index`
    this.prefix = `baton.${address.workspace}`
    this.indexPrefix = `baton-index.${address.workspace}`
    this.newsPrefix = `baton-news.${address.workspace}`
    this.connection = connection
    this.#js = jetstream(connection, { timeout: requestMs })
    this.#jsm = jsm
    this.#patience = patience
  }

  /** Makes the streams where there are none, and returns the id of the workspace. Safe with many starters. */
  async prepare(id = newWorkspaceId()): Promise<{ workspace: string; isIndexNew: boolean }> {
    const patience = Math.min(openingPatience, this.#patience)
    const common = { num_replicas: this.replicas, allow_direct: false, max_consumers: -1 }
    await this.#persist(
      () => this.#stream({ ...common, name: this.stream, subjects: [`${this.prefix}.>`], allow_rollup_hdrs: true }),
      { patience },
    )
    const isIndexNew = await this.#persist(
      () =>
        this.#stream({
          ...common,
          name: this.indexStream,
          subjects: [`${this.indexPrefix}.>`],
          max_msgs_per_subject: 1,
        }),
      { patience },
    )
    const subject = `${this.prefix}.workspace.id`
    const mine = Buffer.from(JSON.stringify({ workspace: id, format }))
    let known = await this.get(subject)
    if (known === undefined) {
      await this.create(subject, mine)
      known = await this.get(subject)
    }
    const { workspace, format: found } = JSON.parse(known!.toString()) as { workspace: string; format: number }
    if (found <= format) return { workspace, isIndexNew }
    throw new StorageError(`${this.place} was written by a newer version of Baton (format ${found})`, {
      hint: 'Nothing was written. Upgrade Baton on this machine.',
    })
  }

  /** Whether it had to be made. */
  async #stream(config: Partial<StreamConfig> & { name: string }): Promise<boolean> {
    try {
      await this.#jsm.streams.info(config.name)
      return false
    } catch (error) {
      if (codeOf(error) !== streamNotFound) throw error
      await this.#jsm.streams.add(config)
      return true
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

  /** Stores a message under a subject that has none. `false`: the subject is taken, perhaps by an earlier try of this call. */
  create(subject: string, data: Uint8Array): Promise<boolean> {
    return this.#persist(
      async () => {
        try {
          await this.#js.publish(subject, data, { expect: { lastSubjectSequence: 0 } })
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
    const rollup = headers()
    rollup.set('Nats-Rollup', 'sub')
    await this.#persist(() => this.#js.publish(subject, data, { headers: rollup }))
  }

  /** Stores a message of the index stream, which keeps the last of each subject. */
  async put(subject: string, data: Uint8Array): Promise<void> {
    await this.#persist(() => this.#js.publish(subject, data))
  }

  /** The last message of a subject, from the leader, so that what was acknowledged is seen. */
  async get(subject: string): Promise<Buffer | undefined> {
    const stream = subject.startsWith(`${this.prefix}.`) ? this.stream : this.indexStream
    return this.#persist(async () => {
      try {
        const found = await this.#jsm.streams.getMessage(stream, { last_by_subj: subject })
        return found === null ? undefined : Buffer.from(found.data.buffer, found.data.byteOffset, found.data.length)
      } catch (error) {
        if (codeOf(error) === noMessage) return undefined
        throw error
      }
    })
  }

  /** The subjects of a stream that match a filter. */
  async subjects(stream: string, filter: string): Promise<string[]> {
    const info = await this.#persist(() => this.#jsm.streams.info(stream, { subjects_filter: filter }))
    return Object.keys(info.state.subjects ?? {})
  }

  async drop(stream: string, filter: string): Promise<void> {
    await this.#persist(() => this.#jsm.streams.purge(stream, { filter }))
  }

  info(): Promise<StreamInfo> {
    return this.#persist(() => this.#jsm.streams.info(this.stream))
  }

  async close(): Promise<void> {
    await this.connection.flush().catch(() => {}) // a server that is away gets no last notification
    await this.connection.close()
  }

  async #persist<T>(
    work: () => Promise<T>,
    { isWrite = false, patience = this.#patience }: { isWrite?: boolean; patience?: number } = {},
  ): Promise<T> {
    const end = performance.now() + patience
    let isUnknown = false
    for (let wait = 20; ; wait = Math.min(1_000, wait * 2)) {
      try {
        return await work()
      } catch (error) {
        if (BatonError.is(error)) throw error
        isUnknown ||= isWrite && isTimeout(error)
        if (!mayPass(error) || performance.now() + wait > end) throw this.#explain(error, isUnknown)
      }
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }

  #explain(error: unknown, isUnknown: boolean): BatonError {
    const why = error instanceof Error ? error.message : String(error)
    if (isUnknown) {
      return new UnknownOutcomeError(`${this.place} did not acknowledge a write: ${why}`, {
        hint: 'It may or may not have been stored. Retrying with the same meta.idempotency is safe.',
        cause: error,
      })
    }
    return new StorageError(`Cannot use ${this.place}: ${why}`, { hint: this.#hint(error), cause: error })
  }

  #hint(error: unknown): string {
    const code = codeOf(error)
    if (code === streamNotFound || isNoResponder(error)) {
      this.onLost()
      return `Nothing was written. The stream ${this.stream} is gone from the server, or JetStream is off there: restore the stream from a backup, or start the server with -js.`
    }
    if (fullCodes.has(code)) return 'The disk of the server, or what JetStream may use of it, is full. Free some space.'
    if (code === tooFewServers) {
      return `The cluster has too few servers for ${this.replicas} replicas. Start the others, or add ?replicas=1 to the address.`
    }
    return 'Nothing was written. Check that the servers run and can be reached.'
  }
}

const noMessage = 10037
const streamNotFound = 10059
const wrongLastSequence = 10071
const tooFewServers = 10005
const fullCodes = new Set([10023, 10028, 10047, 10077])

function codeOf(error: unknown): number {
  return error instanceof JetStreamApiError ? error.code : 0
}

function isNoResponder(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error instanceof errors.NoRespondersError || error.name === 'JetStreamNotEnabled' || isNoResponder(error.cause)
}

function isTimeout(error: unknown): boolean {
  return error instanceof errors.TimeoutError || (error instanceof Error && isTimeout(error.cause))
}

/** A leader is being elected, the connection is being made again, or the disk may be freed: worth another try. */
function mayPass(error: unknown): boolean {
  const code = codeOf(error)
  if (code === 10008 || code === tooFewServers || (code === 0 && isNoResponder(error))) return true
  return (
    isTimeout(error) ||
    error instanceof errors.RequestError ||
    error instanceof errors.ConnectionError ||
    error instanceof errors.ClosedConnectionError
  )
}

async function connectTo(address: NatsAddress): Promise<NatsConnection> {
  try {
    return await connect({
      ...address.connection,
      name: 'baton',
      timeout: 5_000,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      pingInterval: 20_000,
    })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const isRefused =
      error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError
    throw new StorageError(`Cannot use ${address.place}: ${why}`, {
      hint: isRefused
        ? 'The user, the password or the token is wrong. They may stand in the address, in NATS_USER and NATS_PASSWORD, in NATS_TOKEN, or in the file that NATS_CREDS names.'
        : 'Nothing was written. Check that the server runs and can be reached.',
      cause: error,
    })
  }
}

function checkServer({ info }: NatsConnection, place: string): void {
  const [major = 0, minor = 0] = (info?.version ?? '').split('.').map(Number)
  if (major < 2 || (major === 2 && minor < 9)) {
    throw new UnsupportedError(`The server of ${place} is NATS ${info?.version}, older than 2.9`, {
      hint: 'Upgrade the server.',
    })
  }
  if (info?.jetstream !== true) {
    throw new UnsupportedError(`The server of ${place} runs without JetStream`, {
      hint: 'Start it with -js, or with a jetstream block in its configuration.',
    })
  }
  // A message is a batch with a few bytes around it.
  const needed = limits.batchBytes + 64 * 1024
  if (info.max_payload < needed) {
    throw new UnsupportedError(`The server of ${place} takes messages of ${info.max_payload} bytes at most`, {
      hint: `Set max_payload to ${needed} or more in its configuration.`,
    })
  }
}
