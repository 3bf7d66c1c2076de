// `baton mcp` as an agent starts it: a process whose pipes can end at any time.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import readline from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { batonProcess, program } from '../cli/cli.ts'
import { temporaryFolder } from '../support/workspace.ts'

const hello = {
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

function lines(...messages: object[]): string {
  return messages.map((each) => `${JSON.stringify({ jsonrpc: '2.0', ...each })}\n`).join('')
}

function call(id: number, name: string, args: object): object {
  return { id, method: 'tools/call', params: { name, arguments: args } }
}

const appends = (count: number, from: number) =>
  Array.from({ length: count }, (_, i) =>
    call(from + i, 'tape_append', {
      tape: 'main',
      entries: [{ kind: 'message', payload: { role: 'user', content: `n${i}` } }],
    }),
  )

/** In a workspace of its own. */
function start(folder: string): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [program, 'mcp'], { cwd: folder, env: { ...process.env, HOME: folder } })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdin.on('error', () => {})
  return child
}

test('requests that came before the end of the input are answered, and then the server ends [D5]', async () => {
  const folder = temporaryFolder(onTestFinished)
  const sent = lines({ id: 0, ...hello }, { method: 'notifications/initialized' }, ...appends(300, 1))
  const { code, out, err } = await batonProcess(folder, ['mcp'], sent)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const answers = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: number; error?: object })
  expect(answers.map(({ id }) => id).sort((a, b) => a - b)).toEqual(Array.from({ length: 301 }, (_, i) => i))
  expect(answers.filter(({ error }) => error !== undefined)).toEqual([])
  expect((await batonProcess(folder, ['tape', 'info', 'main', '--json'])).out).toContain('"lastId":300')
})

test('a request that was cancelled is not waited for, nor is any once the server is told to end [D5]', async () => {
  const waits = { from: 'a', to: 'b', summary: 'Anybody?', wait: true }
  const folder = temporaryFolder(onTestFinished)
  const cancelled = start(folder)
  const answers = readline.createInterface({ input: cancelled.stdout })[Symbol.asyncIterator]()
  cancelled.stdin.write(
    lines({ id: 0, ...hello }, { method: 'notifications/initialized' }, call(1, 'relay_ask', waits)),
  )
  expect((await answers.next()).value).toContain('"id":0')
  cancelled.stdin.end(lines({ method: 'notifications/cancelled', params: { requestId: 1 } }, call(2, 'tape_list', {})))
  expect((await answers.next()).value).toContain('"id":2')
  expect(await once(cancelled, 'exit')).toEqual([0, null])

  const ended = start(folder)
  ended.stdin.end(lines({ id: 0, ...hello }, { method: 'notifications/initialized' }, call(1, 'relay_ask', waits)))
  await once(ended.stdout, 'data')
  ended.kill('SIGTERM')
  expect(await once(ended, 'exit')).toEqual([0, null])
})
