// The server on its port, from the first request to the last.

import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { BatonError, StorageError } from '../errors.ts'
import type { Workspace } from '../operations/index.ts'
import { createApp } from './app.ts'
import { PlainConnections } from './http/plain.ts'
import { SignIn } from './access/sign-in.ts'
import { type Tokens } from './access/tokens.ts'

const usualPort = 4747

export interface ServeOptions {
  readonly workspace: Workspace
  readonly tokens: Tokens
  readonly host: string
  /** 0: any free one. Undefined: the usual one, or the next that is free. */
  readonly port: number | undefined
  readonly tls?: { readonly cert: string; readonly key: string }
  readonly web?: string
  readonly waiting: () => Promise<unknown>
  readonly onProblem: (error: unknown) => void
}

export interface Serving {
  readonly url: string
  /** A code that signs a browser in, once. */
  readonly newCode: () => string
  /** Ends streams, lets requests finish for a moment, and resolves when the port is free. */
  readonly close: () => Promise<void>
}

const loopback = ['127.0.0.1', 'localhost', '[::1]']

export function isLoopback(host: string): boolean {
  return loopback.includes(host) || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** How long requests may take to finish when the server closes. */
const graceMs = 2_000
const sweepMs = 60 * 60 * 1000

export async function serve(options: ServeOptions): Promise<Serving> {
  const { workspace, tokens, host, tls, web, waiting, onProblem } = options
  const closing = new AbortController()
  const signIn = new SignIn()
  // Requests without a Host get an answer of ours, as those for another host do.
  const settings = { requireHostHeader: false }
  const server =
    tls === undefined ? http.createServer(settings) : https.createServer({ ...settings, cert: tls.cert, key: tls.key })
  // A sender that trickles its request does not hold a connection for ever.
  server.headersTimeout = 15_000
  server.requestTimeout = 120_000
  server.keepAliveTimeout = 30_000
  await listen(server, host, options.port)
  const { port } = server.address() as AddressInfo
  const scheme = tls === undefined ? 'http' : 'https'
  const name = host.includes(':') ? `[${host}]` : host
  const shown = isLoopback(host) || host === '0.0.0.0' || host === '::' ? '127.0.0.1' : name
  const hosts = [...new Set([shown, name, ...loopback])]
  const app = createApp({
    workspace,
    tokens,
    signIn,
    hosts,
    port,
    scheme,
    web,
    waiting,
    closing: closing.signal,
    onProblem,
  })
  server.on('request', app.listener)
  const plain = server instanceof https.Server ? undefined : new PlainConnections(server, app.servePlain)
  const sweep = () => void app.answers.sweep().catch(onProblem)
  sweep()
  const sweeping = setInterval(sweep, sweepMs).unref()
  return {
    url: `${scheme}://${shown}:${port}`,
    newCode: () => signIn.newCode(),
    close: async () => {
      clearInterval(sweeping)
      closing.abort()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      plain?.closeIdle()
      server.closeIdleConnections()
      const enough = setTimeout(() => {
        plain?.closeAll()
        server.closeAllConnections()
      }, graceMs)
      await closed
      clearTimeout(enough)
    },
  }
}

async function listen(server: http.Server, host: string, wanted: number | undefined): Promise<void> {
  for (let port = wanted ?? usualPort; ; port++) {
    try {
      return await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          resolve()
        })
      })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EADDRINUSE' && wanted === undefined && port < usualPort + 100) continue
      throw portError(code, port, host, error)
    }
  }
}

function portError(code: string | undefined, port: number, host: string, cause: unknown): BatonError {
  if (code === 'EADDRINUSE')
    return new StorageError(`Port ${port} is taken`, { hint: 'Choose another with --port, or leave it out.', cause })
  if (code === 'EACCES')
    return new StorageError(`Port ${port} is not for you to open`, { hint: 'Choose one above 1023.', cause })
  return new StorageError(`The server cannot listen on ${host}: ${code ?? String(cause)}`, {
    hint: 'See --host.',
    cause,
  })
}

/** The folder of the dashboard beside the program, if this build has one. */
export function builtDashboard(program: string): string | undefined {
  for (const folder of [path.join(path.dirname(program), '..', 'web'), path.join(path.dirname(program), 'web')]) {
    if (fs.existsSync(path.join(folder, 'index.html'))) return folder
  }
  return undefined
}
