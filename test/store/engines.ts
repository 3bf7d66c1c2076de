// The columns of the promise table. A further engine is one more entry here.

import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openFileStore, type OpenOptions, openStore, type Store } from '../../src/store/index.ts'
import { type NatsServers, startNats } from '../support/nats.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'

interface Place {
  /** Opens the place; each call is a handle of its own, as another process would have. */
  open(options?: OpenOptions): Promise<Store>
  discard(): Promise<void>
}

export interface Engine {
  readonly name: string
  /** A new, empty place for tapes. */
  fresh(): Promise<Place>
  /** Ends the server that `fresh` has started. */
  stop(): Promise<void>
}

let postgres: Promise<PostgresServer> | undefined
let nats: Promise<NatsServers> | undefined

export const engines: readonly Engine[] = [
  {
    name: 'file',
    async fresh() {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-store-'))
      return {
        open: (options) => openFileStore(path.join(folder, '.baton'), options),
        discard: async () => fs.rmSync(folder, { recursive: true }),
      }
    },
    stop: async () => {},
  },
  {
    name: 'postgres',
    async fresh() {
      const server = await (postgres ??= startPostgres())
      const address = server.address(`t${randomBytes(6).toString('hex')}`)
      return { open: (options) => openStore(address, options), discard: async () => {} }
    },
    async stop() {
      await (await postgres)?.stop()
      postgres = undefined
    },
  },
  {
    name: 'nats',
    async fresh() {
      const server = await (nats ??= startNats())
      const address = server.address(`t${randomBytes(6).toString('hex')}`)
      return { open: (options) => openStore(address, options), discard: async () => {} }
    },
    async stop() {
      await (await nats)?.stop()
      nats = undefined
    },
  },
]
