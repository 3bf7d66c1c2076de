import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, type LanguageModel, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  type Api,
  closedGate,
  cutAfter,
  fail,
  failAfter,
  inOrder,
  refuse,
  say,
  type Script,
} from './model-server/index.ts'
import { serve } from './serve.ts'

const apiKey = 'none'
const models: Record<Api, (url: string) => LanguageModel> = {
  'chat-completions': (url) =>
    createOpenAICompatible({ name: 'loop', baseURL: `${url}/v1`, apiKey, includeUsage: true }).chatModel('scripted'),
  responses: (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses('scripted'),
  messages: (url) => createAnthropic({ baseURL: `${url}/v1`, apiKey }).languageModel('scripted'),
}

const paths: Record<Api, string> = {
  'chat-completions': '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
}

describe.each(['chat-completions', 'responses', 'messages'] as const)('%s', (api) => {
  const open = async (script: Script) => {
    const server = await serve(script)
    return {
      server,
      ask: { model: models[api](server.url), prompt: 'say hi', maxRetries: 0, maxOutputTokens: 1000 } as const,
    }
  }
  const quietly = { onError: () => undefined }

  test('a text is streamed in pieces and ends with stop', async () => {
    const { server, ask } = await open([say('Grüße 👋 from the script', { chunk: 5 })])
    const result = streamText({ ...ask, system: 'be brief' })
    const pieces: string[] = []
    for await (const piece of result.textStream) pieces.push(piece)
    expect(pieces).toEqual(['Grüße', ' 👋 fr', 'om th', 'e scr', 'ipt'])
    expect(await result.finishReason).toBe('stop')
    expect(server.requests).toMatchObject([
      {
        api,
        path: paths[api],
        model: 'scripted',
        system: 'be brief',
        messages: [{ role: 'user', text: 'say hi', toolCalls: [], toolResults: [] }],
        tools: [],
        stream: true,
        raw: { model: 'scripted' },
      },
    ])
    expect(server.requests[0]?.headers['user-agent']).toContain('ai-sdk')
    expect(await server.requests[0]?.ended).toBe('answered')
    expect(server.problems).toEqual([])
  })

  test('a text is answered whole when no stream is asked for', async () => {
    const { server, ask } = await open([say('whole')])
    const { text, finishReason } = await generateText(ask)
    expect({ text, finishReason }).toEqual({ text: 'whole', finishReason: 'stop' })
    expect(server.requests[0]?.stream).toBe(false)
  })

  test.each(['streamed', 'whole'])('parallel tool calls make the round trip, %s', async (how) => {
    const { server, ask } = await open([
      {
        text: 'Two at once.',
        toolCalls: [
          { id: 'a', name: 'add', arguments: { left: 1, right: 2 } },
          { id: 'b', name: 'add', arguments: { left: 30, right: 4 } },
        ],
      },
      say('3 and 34'),
    ])
    const add = tool({
      inputSchema: z.object({ left: z.number(), right: z.number() }),
      execute: ({ left, right }) => `sum ${left + right}`,
    })
    const settings = { ...ask, tools: { add }, stopWhen: stepCountIs(3) }
    const result = how === 'streamed' ? streamText(settings) : await generateText(settings)
    expect(await result.text).toBe('3 and 34')
    expect((await result.steps).map((step) => step.finishReason)).toEqual(['tool-calls', 'stop'])
    expect(server.requests.map((request) => request.tools)).toEqual([['add'], ['add']])
    expect(server.requests[1]?.messages).toEqual([
      { role: 'user', text: 'say hi', toolCalls: [], toolResults: [] },
      {
        role: 'assistant',
        text: 'Two at once.',
        toolCalls: [
          { id: 'a', name: 'add', arguments: { left: 1, right: 2 } },
          { id: 'b', name: 'add', arguments: { left: 30, right: 4 } },
        ],
        toolResults: [],
      },
      {
        role: 'tool',
        text: '',
        toolCalls: [],
        toolResults: [
          { id: 'a', name: 'add', text: 'sum 3' },
          { id: 'b', name: 'add', text: 'sum 34' },
        ],
      },
    ])
    expect(server.problems).toEqual([])
  })

  test.each(['streamed', 'whole'])('usage is what the script says, %s', async (how) => {
    const { ask } = await open([say('counted', { usage: { input: 190_000, output: 77, cached: 150_000 } })])
    const result = how === 'streamed' ? streamText(ask) : await generateText(ask)
    expect(await result.totalUsage).toMatchObject({
      inputTokens: 190_000,
      outputTokens: 77,
      inputTokenDetails: { cacheReadTokens: 150_000 },
    })
  })

  test('usage not given is estimated from the bytes, four to a token', async () => {
    const { server, ask } = await open(() => say('x'.repeat(400)))
    const small = await generateText(ask)
    const large = await generateText({ ...ask, prompt: 'y'.repeat(40_000) })
    expect(small.usage.outputTokens).toBe(100)
    expect(small.usage.inputTokens).toBe(Math.ceil(JSON.stringify(server.requests[0]?.raw).length / 4))
    expect(large.usage.inputTokens).toBeGreaterThan(10_000)
    expect(large.usage.inputTokens).toBeLessThan(10_100)
  })

  test.each(['streamed', 'whole'])('reasoning arrives apart from the text, %s', async (how) => {
    const { ask } = await open([say('42', { reasoning: 'six times seven' })])
    const result = how === 'streamed' ? streamText(ask) : await generateText(ask)
    expect(await result.reasoningText).toBe('six times seven')
    expect(await result.text).toBe('42')
  })

  test('a reply may have no text at all, and may stop at its length', async () => {
    const { ask } = await open([{ noText: true }, say('and then', { stop: 'length' }), { noText: true }])
    const silent = streamText(ask)
    expect(await silent.text).toBe('')
    expect(await silent.finishReason).toBe('stop')
    expect(await streamText(ask).finishReason).toBe('length')
    expect((await generateText(ask)).text).toBe('')
  })

  test('each failure has the status and wording of the provider', async () => {
    const openAi = api !== 'messages'
    const { server, ask } = await open([
      fail.contextLength(130_000, 128_000),
      fail.rateLimit(7),
      fail.overloaded(),
      fail.server(),
      fail.auth(),
      fail.status(418, 'short and stout'),
    ])
    const failed = async (): Promise<APICallError> => {
      const error: unknown = await generateText(ask).catch((cause: unknown) => cause)
      if (!APICallError.isInstance(error)) throw new Error(`no API error but ${String(error)}`)
      return error
    }
    const tooLong = await failed()
    expect(tooLong.statusCode).toBe(400)
    if (openAi) expect(tooLong.data).toMatchObject({ error: { code: 'context_length_exceeded' } })
    else expect(tooLong.message).toBe('prompt is too long: 130000 tokens > 128000 maximum')
    const limited = await failed()
    expect(limited).toMatchObject({ statusCode: 429, isRetryable: true })
    expect(limited.responseHeaders?.['retry-after']).toBe('7')
    expect(limited.data).toMatchObject(
      openAi ? { error: { code: 'rate_limit_exceeded' } } : { error: { type: 'rate_limit_error' } },
    )
    expect(await failed()).toMatchObject(
      openAi
        ? { statusCode: 503, isRetryable: true, data: { error: { code: 'server_is_overloaded' } } }
        : { statusCode: 529, isRetryable: true, data: { error: { type: 'overloaded_error', message: 'Overloaded' } } },
    )
    expect(await failed()).toMatchObject({ statusCode: 500, isRetryable: true })
    expect(await failed()).toMatchObject({ statusCode: 401, isRetryable: false })
    expect(await failed()).toMatchObject({ statusCode: 418, message: 'short and stout' })
    expect(server.problems).toEqual([])
  })

  test('a client that may retry gets through after a rate limit', async () => {
    const { server, ask } = await open([fail.rateLimit(0), say('in the end')])
    expect(await streamText({ ...ask, maxRetries: 1, ...quietly }).text).toBe('in the end')
    expect(server.requests).toHaveLength(2)
  })

  test('a failure in mid-stream comes after the pieces before it', async () => {
    const { ask } = await open([failAfter(2, fail.overloaded(), say('one two three', { chunk: 4 }))])
    const seen: string[] = []
    const errors: unknown[] = []
    for await (const part of streamText({ ...ask, ...quietly }).fullStream) {
      if (part.type === 'text-delta') seen.push(part.text)
      if (part.type === 'error') errors.push(part.error)
    }
    expect(seen).toEqual(['one ', 'two '])
    expect(JSON.stringify(errors)).toMatch(/overloaded/i)
  })

  test('a cut breaks the connection after the given pieces', async () => {
    const gate = closedGate()
    const held = { chunk: 4, hold: gate.opened, holdAfter: 2 }
    const { server, ask } = await open([cutAfter(2, say('one two three', held))])
    const seen: string[] = []
    const reading = (async () => {
      for await (const part of streamText({ ...ask, ...quietly }).fullStream) {
        if (part.type === 'text-delta') seen.push(part.text)
        if (seen.length === 2) gate.open()
      }
    })()
    await expect(reading).rejects.toMatchObject({ cause: { message: 'terminated' } })
    expect(seen).toEqual(['one ', 'two '])
    expect(await server.requests[0]?.ended).toBe('cut')
  })

  test('a cut may come after all of the text but before the end', async () => {
    const gate = closedGate()
    const { server, ask } = await open([cutAfter(9, say('all of it', { chunk: 99, hold: gate.opened, holdAfter: 9 }))])
    const pieces = streamText({ ...ask, ...quietly }).textStream[Symbol.asyncIterator]()
    expect((await pieces.next()).value).toBe('all of it')
    gate.open()
    await expect(pieces.next()).rejects.toThrow('Failed to process successful response')
    expect(await server.requests[0]?.ended).toBe('cut')
  })

  test('a cut leaves a whole answer unreadable', async () => {
    const { server, ask } = await open([cutAfter(1, say('never whole'))])
    await expect(generateText(ask)).rejects.toThrow(/terminated|closed|connect|process/i)
    expect(await server.requests[0]?.ended).toBe('cut')
  })

  test('a held reply goes on when the gate opens', async () => {
    const gate = closedGate()
    const { server, ask } = await open([say('one two', { chunk: 4, hold: gate.opened, holdAfter: 1 })])
    const pieces = streamText(ask).textStream[Symbol.asyncIterator]()
    expect((await pieces.next()).value).toBe('one ')
    const request = await server.next()
    expect(await Promise.race([request.ended, Promise.resolve('still open')])).toBe('still open')
    gate.open()
    expect((await pieces.next()).value).toBe('two')
    expect(await request.ended).toBe('answered')
  })

  test.each([undefined, 1])('the client can leave a held reply (held after %s pieces)', async (holdAfter) => {
    const gate = closedGate()
    const { server, ask } = await open([say('never said', { chunk: 5, hold: gate.opened, holdAfter }), say('next')])
    const leave = new AbortController()
    const begun = closedGate()
    const result = streamText({ ...ask, abortSignal: leave.signal, ...quietly })
    const types: string[] = []
    const reading = (async () => {
      for await (const part of result.fullStream) {
        types.push(part.type)
        if (part.type === 'text-delta') begun.open()
      }
    })()
    const request = await server.next()
    if (holdAfter !== undefined) await begun.opened
    leave.abort()
    expect(await request.ended).toBe('aborted')
    await reading
    expect(types.at(-1)).toBe('abort')
    expect(types.includes('text-delta')).toBe(holdAfter !== undefined)
    await server.idle()
    expect(await streamText(ask).text).toBe('next')
    expect(server.problems).toEqual([])
  })

  test('parallel requests are answered each for itself', async () => {
    const gate = closedGate()
    const { server, ask } = await open((request) =>
      say(`you said ${request.messages.at(-1)?.text}`, { hold: gate.opened }),
    )
    const prompts = ['one', 'two', 'three', 'four', 'five']
    const answers = Promise.all(prompts.map((prompt) => streamText({ ...ask, prompt }).text))
    for (const prompt of prompts) await server.next((request) => request.messages.at(-1)?.text === prompt)
    gate.open()
    expect(await answers).toEqual(prompts.map((prompt) => `you said ${prompt}`))
    await server.idle()
    expect(await Promise.all(server.requests.map((request) => request.ended))).toEqual(prompts.map(() => 'answered'))
  })

  test('a script that runs out is a loud failure', async () => {
    const { server, ask } = await open([say('the only one')])
    await generateText(ask)
    await expect(generateText({ ...ask, prompt: 'more' })).rejects.toMatchObject({
      statusCode: 500,
      message: expect.stringContaining('the script ran out: it has 1 replies and this is request 2'),
    })
    expect(server.problems).toEqual([expect.stringContaining('last message user: "more"')])
    expect(server.requests).toHaveLength(2)
  })

  test('a script that throws or says nothing is a problem, not a reply', async () => {
    const replies = inOrder([{}])
    const { server, ask } = await open((request) => {
      if (request.messages.at(-1)?.text === 'throw') throw new Error('the script broke')
      return replies(request)
    })
    await expect(generateText(ask)).rejects.toThrow('says nothing')
    await expect(generateText({ ...ask, prompt: 'throw' })).rejects.toThrow('the script broke')
    expect(server.problems).toHaveLength(2)
  })
})

describe('refusals', () => {
  const no = refuse('I will not do that.')

  test.each(['streamed', 'whole'])('chat completions and responses refuse in words, %s', async (how) => {
    const server = await serve([no, no])
    const provider = createOpenAI({ baseURL: server.url, apiKey })
    for (const model of [provider.chat('scripted'), provider.responses('scripted')]) {
      const ask = { model, prompt: 'do it' }
      const result = how === 'streamed' ? streamText(ask) : await generateText(ask)
      expect(await result.text).toBe('I will not do that.')
      expect(await result.finishReason).toBe('content-filter')
    }
  })

  test.each(['streamed', 'whole'])('messages refuse with a stop reason and an explanation, %s', async (how) => {
    const server = await serve([no])
    const ask = { model: models.messages(server.url), prompt: 'do it', maxOutputTokens: 1000 }
    const result = how === 'streamed' ? streamText(ask) : await generateText(ask)
    expect(await result.text).toBe('')
    expect(await result.finishReason).toBe('content-filter')
    expect(await result.providerMetadata).toMatchObject({
      anthropic: { stopDetails: { type: 'refusal', explanation: 'I will not do that.' } },
    })
  })
})
