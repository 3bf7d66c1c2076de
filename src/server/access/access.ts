// Who is at the door: the address that was asked for, the page that asks, and the token. Checked before anything else.

import { allows, type Caller, type Scope } from '../../operations/index.ts'
import { HttpError } from '../http/problem.ts'
import type { Token, Tokens } from './tokens.ts'

export const cookieName = 'baton_session'

/** What is looked at of a request to know who is at the door. */
export interface Knock {
  readonly method: string
  header(name: string): string | undefined
  cookie(name: string): string | undefined
}

/** The addresses under which this server may be asked for: anything else is a page that made its name resolve to us. */
export class Addresses {
  readonly #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>

  constructor(hosts: readonly string[], port: number, scheme: 'http' | 'https') {
    const usual = scheme === 'http' ? 80 : 443
    const names = hosts.flatMap((host) => [`${host}:${port}`, ...(port === usual ? [host] : [])])
    this.#hosts = new Set(names)
    this.#origins = new Set(names.map((name) => `${scheme}://${name}`))
  }

  /** Throws if the request is for another host, or comes from the page of another site. */
  check(knock: Pick<Knock, 'header'>): void {
    const host = knock.header('host')?.toLowerCase() ?? ''
    if (!this.#hosts.has(host)) {
      throw new HttpError('foreign_host', 'The Host of the request is not an address of this server', {
        hint: 'Ask for the address that "baton up" printed.',
      })
    }
    const origin = knock.header('origin')
    if (origin === undefined || this.#origins.has(origin.toLowerCase())) return
    throw new HttpError('foreign_origin', 'The request comes from the page of another site', {
      hint: 'Call from a program without an Origin header, or from a page of this server.',
    })
  }
}

/** Who calls, by the token in the Authorization header or behind the cookie. */
export function tokenOf(knock: Knock, tokens: Tokens): Token {
  const authorization = knock.header('authorization')
  if (authorization !== undefined) {
    const value = /^Bearer ([\w.~+/=-]{1,300})$/i.exec(authorization)?.[1]
    const token = value === undefined ? undefined : tokens.find(value)
    if (token !== undefined && token.kind !== 'browser') return token
    throw unauthenticated('This token is not valid')
  }
  const cookie = knock.cookie(cookieName)
  if (cookie === undefined) throw unauthenticated('A token is needed')
  const token = tokens.find(cookie)
  if (token?.kind !== 'browser') throw unauthenticated('You are no longer signed in')
  // A cookie comes along with whatever a page asks for: what changes something must say that it is our own page.
  const { method } = knock
  if (method !== 'GET' && method !== 'HEAD' && knock.header('origin') === undefined) {
    throw new HttpError('foreign_origin', 'A request with a cookie needs an Origin', {
      hint: 'Programs use a token in the Authorization header.',
    })
  }
  return token
}

function unauthenticated(message: string): HttpError {
  return new HttpError('unauthenticated', message, {
    hint: 'Send "Authorization: Bearer TOKEN"; make one with "baton token create", or sign in with the address of "baton up".',
    headers: { 'www-authenticate': 'Bearer realm="baton"' },
  })
}

/** A person stands behind a signed-in page, and behind a token with `operate` that was not made for an agent. */
export function callerOf({ name, scope, kind }: Token): Caller {
  if (kind === 'browser') return { name, scope, person: { via: 'dashboard', where: name } }
  if (kind === 'agent' || !allows(scope, 'operate')) return { name, scope }
  return { name, scope, person: { via: 'token', where: name } }
}

/** Throws unless the token may do what needs that scope. */
export function demand(token: Token, scope: Scope): void {
  if (allows(token.scope, scope)) return
  throw new HttpError('forbidden', `This needs the scope ${scope}; this token has ${token.scope}`, {
    hint: `Make one with: baton token create NAME --scope ${scope}`,
  })
}
