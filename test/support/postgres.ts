// A PostgreSQL server of the tests' own: on a socket in a temporary folder, gone when its runner is.

import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'

export interface PostgresServer {
  /** The folder of its socket. */
  readonly folder: string
  /** The address of a schema of its own. */
  address(schema: string): string
  /** Ends it without a clean shutdown, as a crash would, and starts it again. */
  crash(): Promise<void>
  stop(): Promise<void>
}

/** `listen` is an address beside its socket. `access` is a line for pg_hba.conf that comes before the others, which let everybody in. `durable`: writes reach the disk before they are acknowledged, as on a real server. `set` are further settings. */
export async function startPostgres({
  durable = false,
  access = '',
  listen = '',
  set = [] as string[],
} = {}): Promise<PostgresServer> {
  const bin = programs()
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-postgres-'))
  const data = path.join(folder, 'data')
  const isRoot = process.getuid?.() === 0
  // The server refuses to run as root.
  const owner = isRoot ? ownerOf('postgres') : undefined
  if (owner !== undefined) fs.chownSync(folder, owner.uid, owner.gid)
  const asOwner =
    owner === undefined
      ? []
      : ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', '--pdeathsig', 'INT']
  const command = (name: string, flags: string) => [...asOwner, path.join(bin, name), '-D', data, ...flags.split(' ')]
  const [init, ...initArgs] = command('initdb', '-U baton -A trust --no-sync --locale=C.UTF-8 -E UTF8')
  execFileSync(init!, initArgs, { stdio: ['ignore', 'ignore', 'pipe'] })
  if (access !== '') {
    const file = path.join(data, 'pg_hba.conf')
    fs.writeFileSync(file, `${access}\n${fs.readFileSync(file, 'utf8')}`)
  }
  const settings = [
    `listen_addresses=${listen}`,
    'max_connections=200',
    ...(durable ? [] : ['fsync=off', 'full_page_writes=off']),
    ...set,
  ]
  const [program, ...args] = [...command('postgres', `-k ${folder}`), ...settings.flatMap((each) => ['-c', each])]
  const start = async () => {
    const server = spawn(program!, args, { stdio: 'ignore' })
    const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
    await reachable(folder)
    return async (signal: 'SIGINT' | 'SIGQUIT') => {
      server.kill(signal)
      await ended
    }
  }
  let end = await start()
  return {
    folder,
    address: (schema) => `postgres://baton@/postgres?host=${encodeURIComponent(folder)}&schema=${schema}`,
    async crash() {
      await end('SIGQUIT')
      end = await start()
    },
    async stop() {
      await end('SIGINT')
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A program that comes with the server, such as pg_dump. */
export function serverProgram(name: string): string {
  return path.join(programs(), name)
}

/** The folder of the server's programs; Debian keeps them off the PATH, one folder for each version. */
function programs(): string {
  const debian = '/usr/lib/postgresql'
  const versions = fs.existsSync(debian) ? fs.readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => path.join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(':'),
  ]
  const found = folders.find((folder) => fs.existsSync(path.join(folder, 'initdb')))
  if (found === undefined) throw new Error('There is no PostgreSQL server on this machine')
  return found
}

export function ownerOf(user: string): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Resolves when the server answers: its socket is there some time before. */
async function reachable(folder: string): Promise<void> {
  for (const end = Date.now() + 60_000; ;) {
    const client = new pg.Client({ host: folder, user: 'baton', database: 'postgres' })
    client.on('error', () => {}) // the attempt itself fails, too
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      if (Date.now() > end) throw new Error('The PostgreSQL server of the tests did not start', { cause: error })
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
