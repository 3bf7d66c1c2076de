// Publishing with an acknowledgement, many at once. The client's own request makes two errors with their stack for every call, just in
// case; here an error is made when there is one, and one timer serves all.

import { type ApiError, JetStreamApiError, type PubAck } from '@nats-io/jetstream'
import { createInbox, errors, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'

interface Pending {
  readonly subject: string
  readonly end: number
  readonly resolve: (acknowledged: PubAck) => void
  readonly reject: (error: Error) => void
}

export class Publisher {
  readonly #connection: NatsConnection
  readonly #timeoutMs: number
  readonly #inbox = createInbox()
  /** In the order in which they were sent, and so in which they time out. */
  readonly #pending = new Map<string, Pending>()
  #sent = 0
  #timer: NodeJS.Timeout | undefined

  constructor(connection: NatsConnection, timeoutMs: number) {
    this.#connection = connection
    this.#timeoutMs = timeoutMs
    connection.subscribe(`${this.#inbox}.*`, {
      callback: (_, message) => this.#answer(message),
    })
  }

  publish(subject: string, data: Uint8Array, headers?: MsgHdrs): Promise<PubAck> {
    return new Promise((resolve, reject) => {
      const reply = `${this.#inbox}.${(++this.#sent).toString(36)}`
      this.#pending.set(reply, { subject, end: performance.now() + this.#timeoutMs, resolve, reject })
      this.#timer ??= setTimeout(() => this.#expire(), this.#timeoutMs)
      try {
        this.#connection.publish(subject, data, { reply, ...(headers === undefined ? {} : { headers }) })
      } catch (error) {
        this.#pending.delete(reply)
        reject(error instanceof Error ? error : new Error(String(error)))
      }
    })
  }

  #answer(message: Msg): void {
    const pending = this.#pending.get(message.subject)
    // One that came too late was taken for lost.
    if (pending === undefined) return
    this.#pending.delete(message.subject)
    if (message.data.length === 0 && message.headers?.code === 503) {
      pending.reject(new errors.NoRespondersError(pending.subject))
      return
    }
    const answer = message.json<PubAck & { error?: ApiError }>()
    if (answer.error === undefined) pending.resolve(answer)
    else pending.reject(new JetStreamApiError(answer.error))
  }

  #expire(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const [reply, { end, reject }] of this.#pending) {
      if (end > now) {
        this.#timer = setTimeout(() => this.#expire(), end - now)
        return
      }
      this.#pending.delete(reply)
      reject(new errors.TimeoutError())
    }
  }

  /** Nothing more will be answered. */
  close(): void {
    clearTimeout(this.#timer)
    for (const { reject } of this.#pending.values()) reject(new errors.ClosedConnectionError())
    this.#pending.clear()
  }
}
