import { createOpenAI } from '@ai-sdk/openai'
import { jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { expect, onTestFinished, test } from 'vitest'
import { openTape } from '../../src/tape/index.ts'
import { call, say, startModelServer } from '../support/model-server/index.ts'
import { collect, temporaryStore } from '../support/workspace.ts'

test('a run of the AI SDK is recorded step by step and its context goes on from there [T7]', async () => {
  const server = await startModelServer({
    script: [
      call('look', { at: 'sky' }, { usage: { input: 50, output: 5 } }),
      say('It is blue.', { usage: { input: 80, output: 7, cached: 40 } }),
      say('Still blue.'),
    ],
  })
  onTestFinished(() => server.close())
  const tape = await openTape('main', { store: await temporaryStore() })
  const model = createOpenAI({ apiKey: 'none', baseURL: `${server.url}/v1` }).chat('scripted')
  const tools = {
    look: tool({
      inputSchema: jsonSchema<{ at: string }>({ type: 'object', properties: { at: { type: 'string' } } }),
      execute: async ({ at }) => ({ seen: `${at} is blue` }),
    }),
  }
  const ask = async (content: string) => {
    await tape.record({ role: 'user', content })
    const { messages } = await tape.context({ format: 'ai-sdk', maxTokens: 120_000 })
    const run = streamText({
      model,
      tools,
      messages,
      stopWhen: stepCountIs(5),
      onStepFinish: (step) => tape.recordStep(step),
    })
    await run.consumeStream()
  }
  await ask('What colour is the sky?')
  await ask('And now?')
  expect((await collect(tape.entries())).map((entry) => entry.kind)).toEqual([
    'anchor',
    'message',
    'tool_call',
    'tool_result',
    'event',
    'message',
    'event',
    'message',
    'message',
    'event',
  ])
  expect(server.problems).toEqual([])
  expect(server.requests[2]!.messages.map((each) => each.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
  ])
  expect((await tape.info()).lastUsage).toMatchObject({ model: 'scripted' })
})
