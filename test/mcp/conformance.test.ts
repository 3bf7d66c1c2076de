// The conformance suite of the protocol's makers against Baton's own server factory, with the fixtures that the suite asks for. It
// runs on a Node of its own, because it needs a newer one than Baton does. The lists in `conformance/` say what fails, and why: `door-…` of
// the real /mcp, which has no fixtures.
import { execFile } from 'node:child_process'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { mcpFactory } from '../../src/mcp/index.ts'
import { Addresses } from '../../src/server/access/access.ts'
import { createApp } from '../../src/server/app.ts'
import { SignIn } from '../../src/server/access/sign-in.ts'
import { Tokens } from '../../src/server/access/tokens.ts'
import { temporaryWorkspace } from '../operations/workspace.ts'
import { addFixtures } from './conformance/fixtures.ts'

const modules = path.resolve(import.meta.dirname, '../../node_modules')
const node = path.join(modules, '.newcomers/node_modules/node-22/bin/node')
const suite = path.join(modules, '.conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js')

type Handler = (incoming: http.IncomingMessage, outgoing: http.ServerResponse) => void

let opened: Awaited<ReturnType<typeof temporaryWorkspace>>
let server: http.Server
let door: http.Server
beforeAll(async () => {
  opened = await temporaryWorkspace()
  const make = mcpFactory(opened.workspace, { name: 'suite', scope: 'write' })
  const { fetch } = createMcpHandler(async (context) => {
    const made = await make(context)
    if ('registerTool' in made) addFixtures(made)
    return made
  })
  // The suite sends no token; who may ask is checked as at the real door.
  server = await listening((port) => {
    const listener = getRequestListener((request) => (isOurs(request, port) ? fetch(request) : refused()))
    return (incoming, outgoing) => void listener(incoming, outgoing)
  })
  door = await listening(realDoor)
})
afterAll(async () => {
  for (const each of [server, door]) {
    each.close()
    each.closeAllConnections()
  }
  await opened.close()
})

async function listening(handler: (port: number) => Handler | Promise<Handler>): Promise<http.Server> {
  const made = http.createServer()
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  return made.on('request', await handler(portOf(made)))
}

function portOf(listens: http.Server): number {
  return (listens.address() as AddressInfo).port
}

/** `/mcp` as `baton up` serves it, for the suite that has no token: each request is given one on its way. */
async function realDoor(port: number): Promise<Handler> {
  const { workspace } = opened
  const tokens = new Tokens(workspace.folder)
  const { token } = await tokens.create({ name: 'suite', scope: 'write', kind: 'agent' })
  const app = createApp({
    workspace,
    tokens,
    signIn: new SignIn(),
    hosts: ['127.0.0.1', 'localhost'],
    port,
    scheme: 'http',
    web: undefined,
    waiting: async () => ({ items: [] }),
    closing: new AbortController().signal,
    onProblem: (error) => console.error(error),
  })
  return (incoming, outgoing) => {
    incoming.headers.authorization = `Bearer ${token}`
    incoming.rawHeaders.push('Authorization', `Bearer ${token}`)
    app.listener(incoming, outgoing)
  }
}

function isOurs({ headers }: Request, port: number): boolean {
  const addresses = new Addresses(['127.0.0.1', 'localhost'], port, 'http')
  try {
    addresses.check({ header: (name) => headers.get(name) ?? undefined })
    return true
  } catch {
    return false
  }
}

function refused(): Response {
  return new Response('Refused', { status: 403 })
}

const canRun = `${process.platform}-${process.arch}` === 'linux-x64'

/** What the suite prints at its end: each scenario, and what was not expected of it. */
async function summaryOf(at: http.Server, revision: string, ...more: string[]): Promise<[number, string]> {
  const args = [suite, 'server', '--url', `http://127.0.0.1:${portOf(at)}/mcp`, '--requirements', revision, ...more]
  const ended = await promisify(execFile)(node, args, { cwd: opened.folder }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
  )
  return [ended.code, ended.stdout.slice(ended.stdout.lastIndexOf('=== SUMMARY'))]
}

it.runIf(canRun)(
  'everything that protocol 2026-07-28 requires passes, but for what is listed [D5]',
  { timeout: 120_000 },
  async () => {
    const expected = path.join(import.meta.dirname, 'conformance', '2026-07-28.yaml')
    const told = await summaryOf(server, '2026-07-28', '--expected-failures', expected)
    expect(told).toEqual([0, expect.stringMatching(/Total: \d+ passed/)])
  },
)

/** The scenarios that need no fixture: what is about the protocol itself. */
const ofProtocol = {
  '2026-07-28': [
    'tools-list',
    'resources-list',
    'sep-2164-resource-not-found',
    'prompts-list',
    'dns-rebinding-protection',
    'caching',
    'input-required-result-unsupported-methods',
    'input-required-result-validate-input',
    'http-header-validation',
  ],
  '2025-11-25': [
    'server-initialize',
    'ping',
    'tools-list',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection',
  ],
}

it.runIf(canRun).each(['2026-07-28', '2025-11-25'] as const)(
  '/mcp as baton up serves it passes what protocol %s asks of every server, and fails only where it is listed [D5]',
  { timeout: 120_000 },
  async (revision) => {
    const expected = path.join(import.meta.dirname, 'conformance', `door-${revision}.yaml`)
    const [code, summary] = await summaryOf(door, revision, '--expected-failures', expected)
    expect([code, summary]).toEqual([0, expect.stringMatching(/Total: \d+ passed/)])
    const passed = [...summary.matchAll(/✓ ([\w-]+): [1-9]\d* passed, 0 failed/g)].map(([, name]) => name)
    expect(passed).toEqual(expect.arrayContaining(ofProtocol[revision]))
  },
)
