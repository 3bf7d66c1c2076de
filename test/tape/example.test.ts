import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { expect, onTestFinished, test } from 'vitest'
import { turn } from '../../examples/stream-text.ts'
import { openTape } from '../../src/tape/index.ts'
import { call, say, startModelServer } from '../support/model-server/index.ts'
import { temporaryFolder, temporaryStore } from '../support/workspace.ts'

test('the example talks, calls its tool, and hands off to itself when its context is full [T5, H8]', async () => {
  const folder = temporaryFolder()
  const server = await startModelServer({
    script: [call('list', { folder }), say('It is empty.'), say('Still empty.')],
  })
  onTestFinished(() => server.close())
  const model = createOpenAICompatible({ name: 'scripted', baseURL: `${server.url}/v1` })('scripted')
  const tape = await openTape('main', { store: await temporaryStore() })
  expect(await turn(tape, model, 'How many files are here? Never delete any.', 10)).toBe('It is empty.')
  expect((await tape.info()).lastAnchor).toBe('handoff')
  expect(await turn(tape, model, 'And now?')).toBe('Still empty.')
  const [, , third] = server.requests
  expect(third!.messages.at(-1)).toMatchObject({ role: 'user', text: expect.stringContaining('And now?') as string })
  expect(JSON.stringify(third!.messages)).toContain('Never delete any')
  expect(JSON.stringify(third!.messages)).not.toContain('It is empty.",')
  expect(server.problems).toEqual([])
})
