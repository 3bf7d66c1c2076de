// A chat in a pane, and the model behind it: what a test of `baton chat` is made of. The tests of a file share one tmux
// server and run side by side.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll } from 'vitest'
import { openFileStore, type Store } from '../../src/store/index.ts'
import { type ModelServer, type Script, startModelServer } from '../support/model-server/index.ts'
import { type Pane, Tmux } from '../support/terminal.ts'
import { program } from './cli.ts'

interface RoomOptions {
  readonly script?: Script
  /** The section `agent` of baton.config.json. */
  readonly agent?: object
  /** How much the model takes. */
  readonly window?: number
}

interface PaneSettings {
  readonly columns?: number
  readonly rows?: number
  readonly env?: Record<string, string>
}

export interface Room {
  readonly folder: string
  readonly server: ModelServer
  /** What a program started here gets. */
  readonly env: Record<string, string>
  /** Resolves with the first frame, before anything is opened: what a test types may come early. */
  readonly chat: (args?: readonly string[], settings?: PaneSettings) => Promise<Pane>
  readonly run: (command: readonly string[], settings?: PaneSettings) => Pane
  readonly store: <T>(look: (store: Store) => Promise<T>) => Promise<T>
}

export function chatRooms(): (options?: RoomOptions) => Promise<Room> {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-chat-'))
  const tmux = new Tmux()
  const servers: ModelServer[] = []
  afterAll(async () => {
    tmux[Symbol.dispose]()
    await Promise.all(servers.map((server) => server.close()))
    await remove(place)
  })
  return async ({ script = [], agent, window = 100_000 } = {}) => {
    const folder = fs.mkdtempSync(path.join(place, 'room-'))
    const config = { ...(agent === undefined ? {} : { agent }), transcripts: { models: { scripted: { window } } } }
    fs.writeFileSync(path.join(folder, 'baton.config.json'), JSON.stringify(config))
    const server = await startModelServer({ script })
    servers.push(server)
    const env = { HOME: folder, BATON_TRUST: '1', BATON_MODEL: 'test/scripted', BATON_BASE_URL: `${server.url}/v1` }
    const run = (command: readonly string[], { env: more = {}, ...size }: PaneSettings = {}) =>
      tmux.open(command, { cwd: folder, env: { ...env, ...more }, ...size })
    return {
      folder,
      server,
      env,
      run,
      chat: async (args = [], settings) => {
        const pane = run([process.execPath, program, 'chat', ...args], settings)
        await pane.shows('Baton chat')
        return pane
      },
      store: async (look) => {
        const data = path.join(folder, '.local/share/baton')
        const store = await openFileStore(path.join(data, fs.readdirSync(data)[0]!))
        try {
          return await look(store)
        } finally {
          await store.close()
        }
      },
    }
  }
}

/** A chat that is still closing may write into a folder that was just emptied: then it is looked at anew. */
async function remove(folder: string): Promise<void> {
  for (let again = 50; ; again--) {
    try {
      return fs.rmSync(folder, { recursive: true, force: true })
    } catch (error) {
      if (again === 0) throw error
      await sleep(100)
    }
  }
}

/** Resolves when nothing runs any more. */
export async function atRest(pane: Pane): Promise<void> {
  await pane.until(() => !pane.lines.some((line) => line.includes('Esc cancels')), 'the chat at rest')
}
