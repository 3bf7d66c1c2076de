import { describe, expect, test } from 'vitest'
import { failureOf } from '../../src/agent/failure.ts'
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

test('a server that is not there fails with its address in mind, after the attempts [T21]', async () => {
  const { agent, server, of } = await scene([], { retry: { attempts: 2, seconds: 0.01 } })
  await server.close()
  expect(await agent.submit('go')).toMatchObject({ status: 'failed', error: /Cannot connect/ })
  expect(of('retry')).toHaveLength(1)
})

test('how providers and servers say that the context is too long [T22]', () => {
  const says = [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    'prompt is too long: 210000 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
    'the request exceeds the available context size. try increasing the context size or enable context shift',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    "Requested token count exceeds the model's maximum context length of 32768 tokens",
    'The number of tokens to keep from the initial prompt is greater than the context length',
  ]
  for (const message of says) expect(failureOf({ message }), message).toMatchObject({ tooLong: true, retry: false })
  expect(failureOf({ message: says[0] }).window).toBe(128_000)
  expect(failureOf({ message: says[1] }).window).toBe(200_000)
  for (const message of [
    'Overloaded',
    'invalid x-api-key',
    'Rate limit reached for tokens per min',
    'max_tokens must be positive',
  ])
    expect(failureOf({ message }), message).toMatchObject({ tooLong: false })
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
