// The address of a workspace on NATS, `nats://USER@HOST:4222,HOST2:4222/WORKSPACE?replicas=3`, and who it lets in. A password may
// also come from the environment or from a file of credentials, so that an address need not contain it.

import fs from 'node:fs'
import { checkServerIdentity, type ConnectionOptions } from 'node:tls'
import { credsAuthenticator, type NodeConnectionOptions } from '@nats-io/transport-node'
import { InvalidError } from '../../errors.ts'

export interface NatsAddress {
  readonly connection: NodeConnectionOptions
  readonly workspace: string
  /** How many servers keep the workspace; chosen by the engine unless given. */
  readonly replicas: number | undefined
  /** The servers and the workspace, without user or password. */
  readonly place: string
}

const form =
  'It looks like nats://HOST:4222/WORKSPACE, with several servers divided by commas. In a password, write / @ and % as %2F %40 and %25.'

export function parseNatsAddress(address: string, env: NodeJS.ProcessEnv = process.env): NatsAddress {
  const found = /^(?:nats|tls):\/\/(?:([^@/]*)@)?([^/?@]+)(?:\/([^?@]*))?(?:\?(.*))?$/.exec(address)
  // The address is not repeated: it may hold a password.
  if (found === null) throw new InvalidError('That is not the address of a NATS server', { hint: form })
  const [, login = '', hosts = '', path = '', query = ''] = found
  const workspace = path === '' ? 'baton' : path
  if (!/^[A-Za-z0-9_-]{1,40}$/.test(workspace)) {
    throw new InvalidError(`"${workspace}" cannot be the workspace of a store`, {
      hint: 'Use letters, digits, - and _: nats://HOST:4222/team-a',
    })
  }
  const options = new URLSearchParams(query)
  for (const name of options.keys()) {
    if (!['replicas', 'ca', 'creds'].includes(name)) {
      throw new InvalidError(`A NATS address has no option "${name}"`, { hint: 'There are replicas, ca and creds.' })
    }
  }
  const replicas = options.get('replicas')
  if (replicas !== null && !/^[135]$/.test(replicas)) {
    throw new InvalidError(`A workspace has 1, 3 or 5 replicas, not ${replicas}`)
  }
  const ca = options.get('ca') ?? undefined
  return {
    connection: {
      servers: hosts.split(','),
      ...loginOf(login, options.get('creds') ?? env.NATS_CREDS, env),
      ...(address.startsWith('tls:') || ca !== undefined ? { tls: tlsTo(hosts.split(','), ca) } : {}),
    },
    workspace,
    replicas: replicas === null ? undefined : Number(replicas),
    place: `nats://${hosts}/${workspace}`,
  }
}

/** The client checks a certificate against `localhost` where a server is named by its IP address; here it may be that of any server named. */
function tlsTo(
  hosts: readonly string[],
  ca: string | undefined,
): { caFile?: string } & Pick<ConnectionOptions, 'checkServerIdentity'> {
  const names = hosts.map((host) => host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1'))
  return {
    ...(ca === undefined ? {} : { caFile: ca }),
    checkServerIdentity(name, certificate) {
      const errors = (name === 'localhost' ? names : [name]).map((each) => checkServerIdentity(each, certificate))
      return errors.includes(undefined) ? undefined : errors[0]
    },
  }
}

function loginOf(login: string, creds: string | undefined, env: NodeJS.ProcessEnv): NodeConnectionOptions {
  const colon = login.indexOf(':')
  const decode = (text: string) => {
    try {
      return decodeURIComponent(text)
    } catch {
      throw new InvalidError('That is not the address of a NATS server', { hint: form })
    }
  }
  if (colon >= 0) return { user: decode(login.slice(0, colon)), pass: decode(login.slice(colon + 1)) }
  if (login !== '' && env.NATS_PASSWORD) return { user: decode(login), pass: env.NATS_PASSWORD }
  if (login !== '') return { token: decode(login) }
  if (creds) return { authenticator: credsAuthenticator(readCreds(creds)) }
  if (env.NATS_USER) return { user: env.NATS_USER, pass: env.NATS_PASSWORD ?? '' }
  return env.NATS_TOKEN ? { token: env.NATS_TOKEN } : {}
}

function readCreds(file: string): Uint8Array {
  try {
    return fs.readFileSync(file)
  } catch (error) {
    throw new InvalidError(`Cannot read the NATS credentials in ${file}`, { cause: error })
  }
}
