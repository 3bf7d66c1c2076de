// What the scripted model server sends, byte for byte.

import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { call, closedGate, say } from './model-server/index.ts'
import { serve } from './serve.ts'

const post = (url: string, body: object | string): Promise<Response> =>
  fetch(url, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
const hello = { model: 'scripted', messages: [{ role: 'user', content: 'hi' }] }
const events = async (response: Response): Promise<string[]> =>
  (await response.text()).split('\n').flatMap((line) => (line.startsWith('event: ') ? [line.slice(7)] : []))

test('anthropic events come in the order the provider sends them', async () => {
  const server = await serve([call('look', { at: 'x' }, { text: 'Looking.', reasoning: 'hm', chunk: 100 })])
  expect(await events(await post(`${server.url}/v1/messages?beta=true`, { ...hello, stream: true }))).toEqual([
    'message_start',
    'ping',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
})

test('responses events come in the order the provider sends them', async () => {
  const server = await serve([call('look', { at: 'x' }, { text: 'Looking.', chunk: 100 })])
  const asked = { model: 'scripted', input: 'hi', stream: true }
  expect(await events(await post(`${server.url}/responses`, asked))).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.output_item.added',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.output_item.done',
    'response.completed',
  ])
})

test('chat completions stream usage only to those who ask for it', async () => {
  const server = await serve(() => say('hi', { usage: { input: 5, output: 2 } }))
  const url = `${server.url}/v1/chat/completions`
  const plain = await (await post(url, { ...hello, stream: true })).text()
  expect(plain).not.toContain('usage')
  expect(plain.endsWith('data: [DONE]\n\n')).toBe(true)
  const counted = await post(url, { ...hello, stream: true, stream_options: { include_usage: true } })
  expect(await counted.text()).toContain('"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2')
})

test('a delay comes before the first byte and before each piece, and ends when the client leaves', async () => {
  const server = await serve([say('one two ', { chunk: 4, delayMs: 20 }), say('never', { delayMs: 3_600_000 })])
  const begun = performance.now()
  expect(await (await post(`${server.url}/v1/messages`, { ...hello, stream: true })).text()).toContain('two ')
  expect(performance.now() - begun).toBeGreaterThan(3 * 19)
  await server.next()
  const leave = new AbortController()
  const body = JSON.stringify(hello)
  const left = fetch(`${server.url}/v1/messages`, { method: 'POST', body, signal: leave.signal })
  const request = await server.next()
  leave.abort()
  await expect(left).rejects.toThrow('aborted')
  expect(await request.ended).toBe('aborted')
})

test('a freeform tool is called with plain text', async () => {
  const server = await serve([call('apply_patch', '*** Begin Patch')])
  const asked = { model: 'scripted', input: 'patch it', tools: [{ type: 'custom', name: 'apply_patch' }] }
  expect(await (await post(`${server.url}/v1/responses`, asked)).json()).toMatchObject({
    output: [{ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch' }],
  })
})

test('the probes of real agents are answered and kept apart from model calls', async () => {
  const server = await serve([])
  expect((await fetch(server.url, { method: 'HEAD' })).status).toBe(200)
  expect(await (await fetch(`${server.url}/v1/models`)).json()).toMatchObject({ data: [{ id: 'scripted' }] })
  const counted = await post(`${server.url}/v1/messages/count_tokens`, 'x'.repeat(400))
  expect(await counted.json()).toEqual({ input_tokens: 100 })
  expect((await fetch(`${server.url}/api/elsewhere`)).status).toBe(404)
  expect(server.probes).toEqual([
    'HEAD / 200',
    'GET /v1/models 200',
    'POST /v1/messages/count_tokens 200',
    'GET /api/elsewhere 404',
  ])
  expect(server.requests).toEqual([])
  expect(server.problems).toEqual([])
})

test('a body that cannot be read is a problem', async () => {
  const server = await serve(() => say('never'))
  expect((await post(`${server.url}/v1/messages`, '{"model":')).status).toBe(500)
  expect((await post(`${server.url}/v1/responses`, { model: 'scripted' })).status).toBe(500)
  const lost = { model: 'scripted', input: [{ type: 'item_reference', id: 'rs_lost' }] }
  expect(await (await post(`${server.url}/v1/responses`, lost)).text()).toContain("'rs_lost' not found")
  expect(server.problems).toHaveLength(3)
})

test('closing breaks off held replies, idle sockets and waiting tests', async () => {
  const server = await serve(() => say('never', { hold: closedGate().opened }))
  const silent = connect(Number(new URL(server.url).port), '127.0.0.1')
  const dropped = new Promise((resolve) => silent.once('close', resolve))
  await new Promise((resolve) => silent.once('connect', resolve))
  const held = expect(post(`${server.url}/v1/messages`, hello)).rejects.toThrow(
    /fetch failed|closed|terminated|hang up|reset/i,
  )
  const request = await server.next()
  const waiting = expect(server.next()).rejects.toThrow('it had seen 1')
  await server.close()
  await Promise.all([held, waiting, dropped, server.idle(), server[Symbol.asyncDispose]()])
  expect(await request.ended).toBe('aborted')
  await expect(fetch(server.url)).rejects.toThrow('fetch failed')
})
