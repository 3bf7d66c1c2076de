// The conformance suite of the protocol's makers against Baton's own server factory, with the fixtures that the suite asks for. It
// runs on a Node of its own, because it needs a newer one than Baton does. `conformance/2026-07-28.yaml` lists what fails, and why.
import { execFile } from 'node:child_process'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { mcpFactory } from '../../src/mcp/index.ts'
import { Addresses } from '../../src/server/access.ts'
import { temporaryWorkspace } from '../operations/workspace.ts'
import { addFixtures } from './conformance/fixtures.ts'

const modules = path.resolve(import.meta.dirname, '../../node_modules')
const node = path.join(modules, '.newcomers/node_modules/node-22/bin/node')
const suite = path.join(modules, '.conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js')

let opened: Awaited<ReturnType<typeof temporaryWorkspace>>
let server: http.Server
let url: string
beforeAll(async () => {
  opened = await temporaryWorkspace()
  const make = mcpFactory(opened.workspace, { name: 'suite', scope: 'write' })
  const { fetch } = createMcpHandler(async (context) => {
    const made = await make(context)
    if ('registerTool' in made) addFixtures(made)
    return made
  })
  // The suite sends no token; who may ask is checked as at the real door.
  const listener = getRequestListener((request) => (isOurs(request) ? fetch(request) : refused()))
  server = http.createServer((incoming, outgoing) => void listener(incoming, outgoing))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
})
afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await opened.close()
})

function isOurs({ headers }: Request): boolean {
  const addresses = new Addresses(['127.0.0.1', 'localhost'], Number(new URL(url).port), 'http')
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

it.runIf(`${process.platform}-${process.arch}` === 'linux-x64').each(['2026-07-28'])(
  'everything that protocol %s requires passes, but for what is listed [D5]',
  { timeout: 120_000 },
  async (revision) => {
    const expected = path.join(import.meta.dirname, 'conformance', `${revision}.yaml`)
    const args = [suite, 'server', '--url', url, '--requirements', revision, '--expected-failures', expected]
    const ended = await promisify(execFile)(node, args, { cwd: opened.folder }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    )
    // The end of what it prints names each scenario and what was not expected of it.
    expect([ended.code, ended.stdout.slice(ended.stdout.lastIndexOf('=== SUMMARY'))]).toEqual([
      0,
      expect.stringMatching(/Total: \d+ passed/),
    ])
  },
)
