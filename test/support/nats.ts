// NATS servers of the tests' own, on free ports of this machine, with JetStream in a temporary folder.

import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import { connect, errors, type NatsConnection } from '@nats-io/transport-node'
import { parseNatsAddress } from '../../src/store/nats/address.ts'

export interface NatsServers {
  /** The address of a workspace, on all servers. */
  address(workspace: string): string
  readonly size: number
  /** Ends a server as `kill -9` does. */
  kill(at: number): Promise<void>
  start(at: number): Promise<void>
  stop(): Promise<void>
}

/** One server, or a cluster of three. `args` are added to the command line of each. */
export async function startNats({ size = 1, args = [] as string[], host = '127.0.0.1' } = {}): Promise<NatsServers> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-nats-'))
  const ports = await freePorts(size * 2, host)
  const routes = ports.slice(size).map((port) => `nats://${host}:${port}`)
  const running: ({ server: ChildProcess; ended: Promise<void> } | undefined)[] = []
  const start = async (at: number) => {
    const cluster = size === 1 ? [] : ['--cluster_name', 'c', '--cluster', routes[at]!, '--routes', routes.join(',')]
    const name = ['-n', `n${at}`, '-a', host, '-p', String(ports[at]), '-js', '-sd', path.join(folder, `${at}`)]
    // `setpriv` ends the server with the runner that started it.
    const [program, ...rest] = ['setpriv', '--pdeathsig', 'KILL', 'nats-server', ...name, ...cluster, ...args]
    const server = spawn(program, rest, { stdio: 'ignore' })
    running[at] = { server, ended: new Promise((resolve) => server.once('exit', () => resolve())) }
    await reachable(ports[at]!, host)
  }
  const kill = async (at: number) => {
    running[at]?.server.kill('SIGKILL')
    await running[at]?.ended
    running[at] = undefined
  }
  await Promise.all(Array.from({ length: size }, (_, at) => start(at)))
  return {
    size,
    address: (workspace) => {
      const hosts = ports.slice(0, size).map((port) => `${host}:${port}`)
      return `nats://${hosts.join(',')}/${workspace}`
    },
    kill,
    start,
    async stop() {
      for (let at = 0; at < size; at++) await kill(at)
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePorts(size: number, host: string): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: size }, () => {
      return new Promise<net.Server>((resolve) => {
        const server = net.createServer().listen(0, host, () => resolve(server))
      })
    }),
  )
  const ports = servers.map((server) => (server.address() as net.AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

async function reachable(port: number, host: string): Promise<void> {
  for (const end = Date.now() + 60_000; ;) {
    const isUp = await new Promise<boolean>((resolve) => {
      const probe = net.connect(port, host, () => {
        probe.destroy()
        resolve(true)
      })
      probe.once('error', () => resolve(false))
    })
    if (isUp) return
    if (Date.now() > end) throw new Error('The NATS server of the tests did not start')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** A cluster that elects a leader answers nobody: what was asked then is asked again, for a minute. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + 60_000; ;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof errors.TimeoutError) || Date.now() > end) throw error
    }
  }
}

/** What a person with the tools of NATS can do: the stream of a workspace, by its address. */
export async function administer<T>(
  address: string,
  work: (at: { connection: NatsConnection; streams: JetStreamManager['streams']; stream: string }) => Promise<T>,
): Promise<T> {
  const { connection: options, workspace } = parseNatsAddress(address)
  const connection = await connect(options)
  try {
    const { streams } = await jetstreamManager(connection, { checkAPI: false })
    const [stream = ''] = await answered(() => streams.names(`baton.${workspace}.workspace.id`).next())
    return await work({ connection, streams, stream })
  } finally {
    await connection.close()
  }
}
