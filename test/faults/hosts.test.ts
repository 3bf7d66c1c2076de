// Two hosts share a store, and the network between one of them and the store breaks.

import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openNatsStore } from '../../src/store/nats/engine.ts'
import { openPostgresStore } from '../../src/store/postgres/engine.ts'
import { startNats } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { Load } from './support/load.ts'

interface Network {
  readonly port: number
  /** From now on answers are lost, then every connection; nobody gets through until `restore`. */
  cut(): Promise<void>
  restore(): void
}

/** The way to a server, given as a port or a socket. */
async function network(server: net.NetConnectOpts, at: net.ListenOptions): Promise<Network> {
  const pairs = new Set<[net.Socket, net.Socket]>()
  let isCut = false
  const listener = net.createServer((client) => {
    if (isCut) return client.destroy()
    const far = net.connect(server)
    const pair: [net.Socket, net.Socket] = [client, far]
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) socket.on('error', end).on('close', end)
    client.on('data', (data) => far.write(data))
    far.on('data', (data) => isCut || client.write(data))
    return undefined
  })
  await new Promise<void>((resolve) => listener.listen(at, resolve))
  listener.unref()
  const address = listener.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    async cut() {
      isCut = true
      // Long enough for writes to arrive whose answers do not come back.
      await new Promise((resolve) => setTimeout(resolve, 50))
      for (const pair of pairs) for (const socket of pair) socket.destroy()
    },
    restore: () => (isCut = false),
  }
}

const engines = {
  async postgres() {
    const server = await startPostgres()
    const folder = temporaryFolder()
    const name = '.s.PGSQL.5432'
    const way = await network({ path: path.join(server.folder, name) }, { path: path.join(folder, name) })
    fs.chmodSync(path.join(folder, name), 0o777)
    const near = server.address('hosts')
    const far = near.replace(encodeURIComponent(server.folder), encodeURIComponent(folder))
    const open = (address: string) => openPostgresStore(address, { patience: 60_000 })
    return { server, way, near: await open(near), far: await open(far) }
  },
  async nats() {
    const server = await startNats()
    const near = server.address('hosts')
    const way = await network(
      { host: '127.0.0.1', port: Number(/:(\d+)\//.exec(near)![1]) },
      { host: '127.0.0.1', port: 0 },
    )
    const open = (address: string) => openNatsStore(address, { patience: 60_000 })
    return { server, way, near: await open(near), far: await open(near.replace(/:\d+\//, `:${way.port}/`)) }
  },
}

test.each(Object.entries(engines))(
  'two hosts on one tape in %s, and the network of one is cut under load: the other continues, nothing is lost or there twice [E5]',
  async (_, start) => {
    const { server, way, near, far } = await start()
    try {
      const load = new Load([near, far])
      for (let round = 0; round < 2; round++) {
        await load.grown(10, far)
        await way.cut()
        await load.grown(30, near)
        way.restore()
        await load.grown(10, far)
      }
      expect(await load.problems(near)).toEqual([])
      expect(await far.info('main')).toEqual(await near.info('main'))
    } finally {
      await far.close()
      await near.close()
      await server.stop()
    }
  },
)
