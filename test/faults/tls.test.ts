// Stores behind TLS with an authority of their own. Passwords come from the environment or a file, and are shown nowhere.

import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { batonProcess, type Run } from '../cli/cli.ts'
import { startNats } from '../support/nats.ts'
import { ownerOf, startPostgres } from '../support/postgres.ts'
import { temporaryFolder } from '../support/workspace.ts'

const folder = temporaryFolder(afterAll)
fs.chmodSync(folder, 0o755)
const at = (file: string) => path.join(folder, file)
const openssl = (...args: string[]) =>
  execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })

// A loopback address of its own, so that the usual port is free there.
const host = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(2, 255)}`
const elliptic = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
for (const name of ['ca', 'other-ca']) {
  openssl('req', '-x509', ...elliptic, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`)
}
openssl('req', ...elliptic, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=store')
fs.writeFileSync(at('names'), `subjectAltName=IP:${host}`)
const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names']
openssl('x509', '-req', '-in', 'server.csr', ...signed, '-out', 'server.pem')
fs.chmodSync(at('server.key'), 0o600)
// The server of NATS runs as the tests do, that of PostgreSQL perhaps not.
fs.copyFileSync(at('server.key'), at('postgres.key'))
fs.chmodSync(at('postgres.key'), 0o600)
if (process.getuid?.() === 0) fs.chownSync(at('postgres.key'), ownerOf('postgres').uid, ownerOf('postgres').gid)

const secret = 'hush-7431'
const [postgres, nats] = await Promise.all([
  startPostgres({
    listen: host,
    access: 'hostssl all all 127.0.0.0/8 scram-sha-256\nhost all all 127.0.0.0/8 reject',
    set: ['ssl=on', `ssl_cert_file=${at('server.pem')}`, `ssl_key_file=${at('postgres.key')}`],
  }),
  startNats({
    host,
    args: ['--tls', '--tlscert', at('server.pem'), '--tlskey', at('server.key'), '--user', 'baton', '--pass', secret],
  }),
])
afterAll(() => Promise.all([postgres.stop(), nats.stop()]))
const admin = new pg.Client(postgres.address('x').replace(/&schema=.*/, ''))
await admin.connect()
await admin.query(`create role team login password '${secret}'; grant create on database postgres to team`)
afterAll(() => admin.end())
fs.writeFileSync(at('passwords'), `${host}:5432:postgres:team:${secret}\n`, { mode: 0o600 })

const onPostgres = (ca: string) => `postgres://team@${host}/postgres?sslmode=verify-full&sslrootcert=${at(ca)}`
const onNats = (ca: string) => `${nats.address('team').replace('nats:', 'tls:')}?ca=${at(ca)}`

const line = `${JSON.stringify({ kind: 'message', payload: { role: 'user', content: 'over the wire' } })}\n`

const engines: { engine: string; address: (ca: string) => string; env: Record<string, string> }[] = [
  { engine: 'PostgreSQL, PGPASSWORD', address: onPostgres, env: { PGPASSWORD: secret } },
  { engine: 'PostgreSQL, a password file', address: onPostgres, env: { PGPASSFILE: at('passwords') } },
  { engine: 'NATS, NATS_PASSWORD', address: onNats, env: { NATS_USER: 'baton', NATS_PASSWORD: secret } },
]

/** Runs `baton` with these variables and no others that hold a password. */
async function baton(env: Record<string, string>, args: readonly string[], input = ''): Promise<Run> {
  const names = ['PGPASSWORD', 'PGPASSFILE', 'NATS_USER', 'NATS_PASSWORD']
  const before = Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
  for (const name of names) delete process.env[name]
  Object.assign(process.env, env)
  try {
    return await batonProcess(folder, args, input)
  } finally {
    for (const name of names) delete process.env[name]
    Object.assign(process.env, before)
  }
}

test.each(engines)(
  '$engine: a store behind TLS is used with the file of its authority [E6]',
  async ({ address, env }) => {
    const appended = await baton(env, ['--store', address('ca.pem'), 'tape', 'append', 'main'], line)
    expect(appended).toMatchObject({ code: 0, err: '' })
    const shown = await baton(env, ['--store', address('ca.pem'), 'show', 'main#1'])
    expect(shown.out).toContain('over the wire')
    expect(appended.out + appended.err + shown.out + shown.err).not.toContain(secret)
  },
)

test.each(engines)(
  '$engine: a server of another authority is refused, and no password is sent or shown [E6]',
  async ({ address, env }) => {
    const refused = await baton(env, ['--store', address('other-ca.pem'), 'tape', 'ls'])
    expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/certificate/) })
    expect(refused.out + refused.err).not.toContain(secret)
    const wrong = await baton({ PGPASSWORD: 'whisper', NATS_USER: 'baton', NATS_PASSWORD: 'whisper' }, [
      '--store',
      address('ca.pem'),
      'tape',
      'ls',
    ])
    expect(wrong).toMatchObject({ code: 1, err: expect.stringMatching(/password/) })
    expect(wrong.out + wrong.err).not.toContain('whisper')
  },
)
