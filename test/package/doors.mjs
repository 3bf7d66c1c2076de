// @ts-nocheck It is checked where it runs: there the package is installed.
// Goes through every door of an installed Baton, on the Node that runs this file: command line, library, server, client, MCP.
// Prints one line for each door it came through.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

const transcript = process.argv[2] ?? ''
const manifest = createRequire(join(process.cwd(), 'index.js')).resolve('@baton/baton/package.json')
const program = join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.baton)

/** @param {string[]} args */
function baton(args, input = '') {
  const run = spawnSync(process.execPath, [program, ...args], { input, encoding: 'utf8' })
  assert.equal(run.status, 0, `baton ${args.join(' ')}: ${run.stderr}`)
  assert.equal(run.stderr, '', `baton ${args.join(' ')} has nothing to complain about`)
  return run.stdout
}

baton(['tape', 'append', 'main'], '{"kind":"message","payload":{"role":"user","content":"by the command line"}}\n')
assert.match(baton(['handoff', transcript, '--budget', '1000']), /^# Session handoff/)
console.log('command line')

const { openTape } = await import('@baton/baton')
const tape = await openTape('main')
await tape.record({ role: 'assistant', content: 'by the library' })
assert.equal((await tape.context({ format: 'ai-sdk' })).messages.length, 2)
await tape.close()
console.log('library')

const server = spawn(process.execPath, [program, 'up', '--json', '--port', '0', '--no-supervisor'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const ended = new Promise((resolve) => server.on('exit', resolve))
// A door that does not open ends this program, and the server with it.
process.on('exit', () => server.kill())
const { url, token } = JSON.parse(await firstLine(server.stdout))
assert.equal((await fetch(`${url}/healthz`)).status, 200)
assert.equal((await fetch(`${url}/v1/tapes`)).status, 401)
const { createClient } = await import('@baton/baton/client')
const client = createClient({ url, token })
await client.tapeAppend({
  tape: 'main',
  entries: [{ kind: 'message', payload: { role: 'user', content: 'by the server' } }],
})
const messages = await client.tapeRead({ tape: 'main', kinds: ['message'] })
assert.deepEqual(
  messages.entries.map(({ payload }) => payload.content.replace('by the ', '')),
  ['command line', 'library', 'server'],
)
console.log('server and client')

const mcp = spawn(process.execPath, [program, 'mcp'], { stdio: ['pipe', 'pipe', 'inherit'] })
const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
mcp.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello })}\n`)
assert.equal(JSON.parse(await firstLine(mcp.stdout)).result.serverInfo.name, 'baton')
mcp.stdin.end()
await new Promise((resolve) => mcp.on('exit', resolve))
console.log('MCP')

baton(['down'])
assert.equal(await ended, 0)
console.log('down')

/** @param {import('node:stream').Readable} stream @returns {Promise<string>} */
function firstLine(stream) {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: stream })
    lines.once('line', resolve)
    lines.once('close', () => reject(new Error('the program ended without a line')))
  })
}
