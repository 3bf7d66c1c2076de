// A NATS server from the outside: connecting to it, whether it can hold a store, and what its errors mean.

import { JetStreamApiError } from '@nats-io/jetstream'
import { connect, errors, type NatsConnection } from '@nats-io/transport-node'
import { StorageError, UnsupportedError } from '../../errors.ts'
import { limits } from '../store.ts'
import type { NatsAddress } from './address.ts'

export const noMessage = 10037
export const streamNotFound = 10059
export const wrongStream = 10060
export const subjectsTaken = 10065
export const wrongLastSequence = 10071
export const tooFewServers = 10005
export const fullCodes = new Set([10023, 10028, 10047, 10077])

export function codeOf(error: unknown): number {
  return error instanceof JetStreamApiError ? error.code : 0
}

export function isNoResponder(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error instanceof errors.NoRespondersError || error.name === 'JetStreamNotEnabled' || isNoResponder(error.cause)
}

export function isTimeout(error: unknown): boolean {
  return error instanceof errors.TimeoutError || (error instanceof Error && isTimeout(error.cause))
}

/** A leader is being elected, the connection is being made again, or the disk may be freed: worth another try. */
export function mayPass(error: unknown): boolean {
  const code = codeOf(error)
  if (code === 10008 || code === tooFewServers || code === streamNotFound || (code === 0 && isNoResponder(error)))
    return true
  return (
    isTimeout(error) ||
    error instanceof errors.RequestError ||
    error instanceof errors.ConnectionError ||
    error instanceof errors.ClosedConnectionError
  )
}

export async function connectTo(address: NatsAddress): Promise<NatsConnection> {
  try {
    return await connectOnce(address)
  } catch (error) {
    if (!(error instanceof NoServerTookUs)) throw explain(address, error)
  }
  // Only the named servers, each once: what they answer is the reason.
  await connect({ ...address.connection, timeout: connectMs, reconnect: false, ignoreClusterUpdates: true }).then(
    (connection) => connection.close(),
    (error: unknown) => {
      throw explain(address, error)
    },
  )
  // One of them takes us after all.
  return connectOnce(address).catch((error: unknown) => {
    throw explain(address, error)
  })
}

const connectMs = 5_000
const reconnectMs = 250

class NoServerTookUs extends Error {
  override readonly message = 'none of its servers let this process in'
}

/**
 * The servers of a cluster name each other, and the client adds those to the ones it tries, so a refused one comes back for as long as
 * another is asked. Before the first connection the number of tries therefore has a bound.
 */
async function connectOnce(address: NatsAddress): Promise<NatsConnection> {
  const { servers } = address.connection
  let triesLeft = 2 * (Array.isArray(servers) ? servers.length : 1) + 1
  const connection = await connect({
    ...address.connection,
    name: 'baton',
    timeout: connectMs,
    maxReconnectAttempts: -1,
    // A password may be put right on the server while this process runs.
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: () => {
      if (triesLeft-- <= 0) throw new NoServerTookUs()
      return reconnectMs * (1 + Math.random() / 2)
    },
    pingInterval: 20_000,
  })
  triesLeft = Infinity
  return connection
}

function explain(address: NatsAddress, error: unknown): StorageError {
  const why = error instanceof Error ? error.message : String(error)
  const isRefused = error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError
  const isUntrusted = /certificate|altnames/i.test(why)
  return new StorageError(`Cannot use ${address.place}: ${why}`, {
    hint: isUntrusted
      ? 'Nothing was written. If the servers use their own certificate authority, name the file of its certificate: tls://HOST:4222/WORKSPACE?ca=FILE'
      : isRefused
        ? 'The user, the password or the token is wrong. They can be in the address, in NATS_USER and NATS_PASSWORD, in NATS_TOKEN, or in the file that NATS_CREDS names.'
        : 'Nothing was written. Check that the server runs and can be reached.',
    cause: error,
  })
}

export function checkServer({ info }: NatsConnection, place: string): void {
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
