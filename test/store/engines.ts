// The columns of the promise table. A further engine is one more entry here.

import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openFileStore, type OpenOptions, openStore, type Store } from '../../src/store/index.ts'
import { startNats } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'

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

interface TestServer {
  /** The address of a place of its own. */
  address(name: string): string
  stop(): Promise<void>
}

/** An engine behind a server, which is started for the first place and serves them all. */
function engineBehind(name: string, start: () => Promise<TestServer>): Engine {
  let server: Promise<TestServer> | undefined
  return {
    name,
    async fresh() {
      const address = (await (server ??= start())).address(`t${randomBytes(6).toString('hex')}`)
      return { open: (options) => openStore(address, options), discard: async () => {} }
    },
    async stop() {
      await (await server)?.stop()
      server = undefined
    },
  }
}

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
  engineBehind('postgres', startPostgres),
  engineBehind('nats', startNats),
]
