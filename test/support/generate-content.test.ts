import { expect, onTestFinished, test } from 'vitest'
import { call, fail, type ModelServer, say, type Script, startModelServer } from './model-server/index.ts'

async function serve(script: Script): Promise<ModelServer> {
  const server = await startModelServer({ script, id: () => 'id' })
  onTestFinished(() => server.close())
  return server
}

const post = (server: ModelServer, verb: string, body: object) =>
  fetch(`${server.url}/v1beta/models/gemini-x:${verb}`, { method: 'POST', body: JSON.stringify(body) })

const contents = [
  { role: 'user', parts: [{ text: 'say hi' }] },
  {
    role: 'model',
    parts: [{ text: 'hm', thought: true }, { functionCall: { id: 'k', name: 'look', args: { at: 1 } } }],
  },
  { role: 'user', parts: [{ functionResponse: { id: 'k', name: 'look', response: { output: 'seen' } } }] },
]

test('a stream of pieces and a call, with the usage that the script says', async () => {
  const server = await serve([
    { ...call('go', { to: 'x' }), text: 'one two', chunk: 4, usage: { input: 9, output: 2 } },
  ])
  const tools = [{ functionDeclarations: [{ name: 'go' }] }]
  const answered = await post(server, 'streamGenerateContent', { contents, tools })
  const frames = (await answered.text()).trim().split('\r\n\r\n')
  const told = frames.map((frame) => JSON.parse(frame.replace(/^data: /, '')) as Record<string, unknown>)
  expect(told.map(({ candidates }) => (candidates as { content: { parts: object[] } }[])[0]!.content.parts[0])).toEqual(
    [
      { text: 'one ' },
      { text: 'two' },
      {
        functionCall: { id: 'call_id', name: 'go', args: { to: 'x' } },
        thoughtSignature: expect.any(String) as string,
      },
      { text: '' },
    ],
  )
  expect(told.at(-1)).toMatchObject({
    candidates: [{ finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 2, totalTokenCount: 11 },
  })
  expect(server.requests).toMatchObject([
    {
      api: 'generate-content',
      model: 'gemini-x',
      stream: true,
      tools: ['go'],
      messages: [
        { role: 'user', text: 'say hi' },
        { role: 'assistant', text: '', toolCalls: [{ id: 'k', name: 'look', arguments: { at: 1 } }] },
        { role: 'tool', toolResults: [{ id: 'k', name: 'look', text: 'seen' }] },
      ],
    },
  ])
})

test('which model is to answer, and how many tokens there are, no script is asked', async () => {
  const server = await serve([say('whole')])
  const schema = { generationConfig: { responseJsonSchema: { properties: { complexity_score: {} } } } }
  expect(await (await post(server, 'generateContent', { contents, ...schema })).text()).toContain('complexity_score')
  expect(await (await post(server, 'countTokens', { contents })).json()).toMatchObject({
    totalTokens: expect.any(Number) as number,
  })
  expect(server.requests).toEqual([])
  expect(await (await post(server, 'generateContent', { contents })).json()).toMatchObject({
    candidates: [{ content: { parts: [{ text: 'whole' }] } }],
  })
  expect(server.problems).toEqual([])
})

test('a limit of the minute and one of the day are told apart', async () => {
  const server = await serve([fail.rateLimit(20), fail.rateLimit(40_000), fail.contextLength(2, 1)])
  for (const [status, words] of [
    [429, 'PerMinute'],
    [429, 'PerDay'],
    [400, 'exceeds the maximum number of tokens'],
  ] as const) {
    const answered = await post(server, 'generateContent', { contents })
    expect(answered.status).toBe(status)
    expect(await answered.text()).toContain(words)
  }
})
