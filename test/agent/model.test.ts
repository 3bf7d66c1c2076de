import { APICallError } from 'ai'
import { describe, expect, test } from 'vitest'
import { modelFailure } from '../../src/agent/model/failure.ts'
import { type Api, call, closedGate, cutAfter, fail, failAfter, say } from '../support/model-server/index.ts'
import { collect } from '../support/workspace.ts'
import { echo, scene } from './harness.ts'

const apis = ['chat-completions', 'responses', 'messages'] as const

describe.each(apis)('over %s', (api: Api) => {
  test('what passes is tried again, and what was said before the cut is not recorded twice [T21]', async () => {
    const { agent, server, of } = await scene(
      [
        fail.rateLimit(0),
        fail.overloaded(),
        fail.server(),
        cutAfter(2, say('a text that breaks off here')),
        say('a text that breaks off here, and is whole'),
      ],
      {},
      api,
    )
    expect(await agent.submit('go')).toMatchObject({
      status: 'done',
      text: 'a text that breaks off here, and is whole',
    })
    expect(of('retry').map(({ attempt, of: all }) => `${attempt}/${all}`)).toEqual(['1/5', '2/5', '3/5', '4/5'])
    expect(of('retry')[0]!.seconds).toBe(0)
    const said = (await collect(agent.tape.entries({ kinds: ['message'] }))).map(({ payload }) =>
      JSON.stringify(payload),
    )
    expect(said.filter((each) => each.includes('breaks off'))).toHaveLength(1)
    expect(server.requests).toHaveLength(5)
  })

  test('a failure inside the stream is tried again too [T21]', async () => {
    const { agent, of } = await scene([failAfter(1, fail.overloaded(), say('begun well')), say('whole')], {}, api)
    expect(await agent.submit('go')).toMatchObject({ status: 'done', text: 'whole' })
    expect(of('retry')).toHaveLength(1)
  })

  test('what is refused fails at once, with the reason, as an entry [T21]', async () => {
    const { agent, server, of } = await scene([fail.auth(), say('after all')], {}, api)
    const result = await agent.submit('go')
    expect(result).toMatchObject({ status: 'failed', error: /key.*HTTP 401/ })
    expect(server.requests).toHaveLength(1)
    expect(await collect(agent.tape.entries({ kinds: ['error'] }))).toMatchObject([{ payload: { kind: 'model' } }])
    expect(of('turn-end')).toMatchObject([{ status: 'failed', error: /401/ }])
    expect(await agent.resume()).toMatchObject({ status: 'done', text: 'after all' })
  })

  test('a context that is too long is handed off with a document, and asked once more [T22]', async () => {
    const { agent, server, of } = await scene(
      [say('Noted.'), call('test_echo', { text: 'x' }), fail.contextLength(9_000, 8_192), say('From the document.')],
      { tools: [echo()] },
      api,
    )
    await agent.submit('Never touch the public API.')
    expect(await agent.submit('Now what was the rule?')).toMatchObject({ status: 'done', text: 'From the document.' })
    const { messages } = server.requests.at(-1)!
    expect(messages.every(({ role }) => role === 'user')).toBe(true)
    const text = messages.map((message) => message.text).join('\n')
    expect(text).toContain('<handoff-context>')
    expect(text).toContain('Never touch the public API')
    expect(messages.at(-1)!.text).toMatch(/Now what was the rule\?$/)
    expect((await agent.tape.info()).lastAnchor).toBe('handoff/overflow')
    expect(of('handoff').map(({ phase, trigger }) => `${phase} ${trigger}`)).toEqual([
      'start overflow',
      'done overflow',
    ])
    if (api !== 'responses') expect(agent.window).toBe(8_192)
  })

  test("an error's text never shrinks the window below what already worked [T22]", async () => {
    const { agent } = await scene(
      [say('Noted.'), fail.contextLength(9_000, 4_096), say('Again.')],
      { window: 200_000 },
      api,
    )
    await agent.submit(`Remember: ${'word '.repeat(20_000)}`)
    await agent.submit('And now?')
    expect(agent.window).toBeGreaterThan(15_000)
  })

  test('once a turn: a second refusal fails the turn with its reason [T22]', async () => {
    const { agent, server, of } = await scene([say('Hello.'), fail.contextLength(), fail.contextLength()], {}, api)
    await agent.submit('one')
    expect(await agent.submit('two')).toMatchObject({ status: 'failed' })
    expect(server.requests).toHaveLength(3)
    expect(of('handoff').filter(({ phase }) => phase === 'done')).toHaveLength(1)
  })
})

test('attempts have an end, and what was said last stays [T21]', async () => {
  const { agent, server } = await scene(() => cutAfter(2, say('never complete')), {
    retry: { attempts: 2, seconds: 0.01 },
  })
  expect(await agent.submit('go')).toMatchObject({ status: 'failed', text: 'never complete' })
  expect(server.requests).toHaveLength(2)
  const messages = await collect(agent.tape.entries({ kinds: ['message', 'error'] }))
  expect(messages.map(({ kind }) => kind)).toEqual(['message', 'message', 'error'])
})

test('cancelling ends the wait for another attempt at once [T21]', async () => {
  const { agent, server, until } = await scene([fail.rateLimit(60)])
  const turn = agent.submit('go')
  await until(({ type }) => type === 'retry')
  agent.abort()
  expect(await turn).toMatchObject({ status: 'aborted' })
  expect(server.requests).toHaveLength(1)
})

test('nobody waits for a provider that asks to come back in an hour [T21]', async () => {
  const { agent } = await scene([fail.rateLimit(3600)])
  expect(await agent.submit('go')).toMatchObject({ status: 'failed', error: /Rate limit/ })
})

test('whoever is asked to wait is told how long and until when, in the unit that fits [T21]', async () => {
  const waits: readonly (readonly [seconds: number, said: RegExp])[] = [
    [600, /asks to wait 10 minutes, until \d\d:\d\d\./],
    [3 * 3600, /asks to wait 3 hours, until \d\d:\d\d\./],
    [4 * 86_400, /asks to wait 4 days, until \d{4}-\d\d-\d\d\./],
  ]
  const { agent, of } = await scene([fail.rateLimit(0), ...waits.map(([seconds]) => fail.rateLimit(seconds))])
  for (const [, said] of waits) expect(await agent.submit('go')).toMatchObject({ status: 'failed', error: said })
  // A short wait is waited for, and told too.
  expect(of('retry')).toEqual([{ type: 'retry', attempt: 1, of: 5, seconds: 0, reason: expect.any(String) as string }])
})

test('a server that is not there fails with its address in mind, after the attempts [T21]', async () => {
  const { agent, server, of } = await scene([], { retry: { attempts: 2, seconds: 0.01 } })
  await server.close()
  expect(await agent.submit('go')).toMatchObject({ status: 'failed', error: /Cannot connect/ })
  expect(of('retry')).toHaveLength(1)
})

test.each<[string, number?]>([
  ["This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.", 128_000],
  ['prompt is too long: 210000 tokens > 200000 maximum', 200_000],
  ['input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000', 200_000],
  ['Your input exceeds the context window of this model. Please adjust your input and try again.'],
  ['the request exceeds the available context size. try increasing the context size or enable context shift'],
  ['request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it', 4_096],
  ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', 1_048_576],
  ["Requested token count exceeds the model's maximum context length of 32768 tokens", 32_768],
  ['The number of tokens to keep from the initial prompt is greater than the context length'],
  ['However, the model is loaded with context length of only 4096 tokens, which is not enough.', 4_096],
  ['The decoder prompt (length 9000) is longer than the maximum model length of 8192.', 8_192],
  ["This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131_072],
  ['Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length', 32_768],
  ['prompt token count of 130000 exceeds the limit of 128000', 128_000],
  ['Input validation error: `inputs` must have less than 8192 tokens. Given: 9000', 8_192],
  ['Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens', 4_096],
  ['too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.'],
  ['Input is too long for requested model.'],
  ['input length exceeds maximum context length'],
  ['<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]', 30_720],
  ['Range of input length should be [1, 129024]', 129_024],
  ['Prompt exceeds max length'],
  ["The input (9000 tokens) is longer than the model's context length (8192 tokens).", 8_192],
  ['Input length (9000 tokens) exceeds the maximum allowed length (8192 tokens). Use a shorter input', 8_192],
  ['Input length 140000 exceeds the maximum length 131072', 131_072],
  [
    'Total tokens of image and text exceed max message tokens. Input length 140000 exceeds the maximum length 131072',
    131_072,
  ],
  ['invalid params, context window exceeds limit (2013)'],
])('a context that is too long, in the words of a provider: %s [T22]', (message, window) => {
  const failure = modelFailure({ message })
  expect(failure).toMatchObject({ tooLong: true, retry: false })
  expect(failure.window).toBe(window)
})

test.each([
  'Overloaded',
  'invalid x-api-key',
  'Rate limit reached for tokens per min',
  'max_tokens must be positive',
  'max_tokens is too large: 200000. This model supports at most 16384 completion tokens',
  'max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for this model',
])('no context that is too long: %s [T22]', (message) => {
  expect(modelFailure({ message })).toMatchObject({ tooLong: false })
})

function refusal(statusCode: number | undefined, responseBody: string, url = 'https://host/v1/chat/completions?key=k') {
  const message = statusCode === undefined ? 'Cannot connect to API: connect ECONNREFUSED' : 'Status Text'
  return new APICallError({ message, url, requestBodyValues: {}, responseBody, ...(statusCode && { statusCode }) })
}

test('a refusal is told in the words of the server, wherever they stand, with what can be done', () => {
  const words = [
    '{"error":"too hot"}',
    '{"message":"too hot"}',
    '{"detail":"too hot"}',
    '[{"error":{"message":"too hot"}}]',
  ]
  for (const body of words) expect(modelFailure(refusal(400, body)).message, body).toBe('too hot (HTTP 400)')
  expect(modelFailure(refusal(502, '<html>Bad Gateway</html>')).message).toBe('Status Text (HTTP 502)')
  expect(modelFailure(refusal(413, '<html>'))).toMatchObject({ tooLong: true })
  expect(modelFailure(refusal(401, '{}')).hint).toBe('Is OPENAI_API_KEY the key for https://host/v1/chat/completions?')
  expect(modelFailure(refusal(401, '{}', 'https://host/v1/messages')).hint).toContain('Is ANTHROPIC_API_KEY the key')
  expect(modelFailure(refusal(404, '')).hint).toMatch(/Asked at https:\/\/host.*name of a model.*\/v1/)
  expect(modelFailure(refusal(undefined, '')).hint).toContain('Is the server running?')
})

test('a turn in which the model says nothing has failed, and says so on the tape [T21]', async () => {
  const { agent } = await scene(
    [{ noText: true }, { noText: true, stop: 'length' }, call('test_echo', { text: 'x' }), { noText: true }],
    {
      tools: [echo()],
    },
  )
  expect(await agent.submit('one')).toMatchObject({ status: 'failed', error: 'The model returned no text' })
  expect(await agent.submit('two')).toMatchObject({ status: 'failed', error: /no text.*length limit/ })
  expect(await agent.submit('three'), 'work was done').toMatchObject({ status: 'done', text: '' })
  const errors = await collect(agent.tape.entries({ kinds: ['error'] }))
  expect(errors.map(({ payload }) => payload)).toMatchObject([
    { kind: 'model', message: 'The model returned no text' },
    { kind: 'model' },
  ])
})

test('the model can be changed between turns; what it may hold is told it [T22]', async () => {
  const { agent, server } = await scene([say('a'), say('b'), say('c')], { window: 50_000 })
  const gate = closedGate()
  await agent.submit('one')
  expect(server.requests[0]!.system).toContain('holds 50000 tokens')
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  agent.setModel({
    name: 'scripted/claude-haiku-4-5',
    model: createOpenAICompatible({ name: 's', baseURL: `${server.url}/v1` })('other'),
  })
  expect(agent.window).toBe(200_000)
  await agent.submit('two')
  expect(server.requests[1]).toMatchObject({
    model: 'other',
    system: expect.stringContaining('holds 200000 tokens') as string,
  })
  gate.open()
})
