import { expect, test } from 'vitest'
import { fail, say } from '../support/model-server/index.ts'
import { collect } from '../support/workspace.ts'
import { scene } from './harness.ts'

const log = (lines: number) => Array.from({ length: lines }, (_, i) => `${i}: é 🎉 a line of the log\n`).join('')

test('what a person pastes reaches the model whole, in this turn and in the next [T25, T21]', async () => {
  const pasted = `Why?\n${log(4_000)}`
  const { agent, server, of } = await scene([say('Line 7.'), say('Yes.')], { window: 100_000 })
  await agent.submit(pasted)
  await agent.submit('Sure?')
  expect(server.requests[0]!.messages.map(({ text }) => text)).toEqual([pasted])
  expect(server.requests[1]!.messages.map(({ text }) => text)).toEqual([pasted, 'Line 7.', 'Sure?'])
  expect(of('warning')).toEqual([])
})

test('of more than half the window the model gets the ends and a reference, and the person is told [T25]', async () => {
  const pasted = log(12_000)
  const { agent, server, of } = await scene([say('I will page through it.')], { window: 100_000 })
  await agent.submit(pasted)
  const { text } = server.requests[0]!.messages[0]!
  expect(text.length).toBeLessThan(3_000)
  expect(text).toMatch(/^0: é 🎉 a line/)
  expect(text).toContain('11999: é 🎉')
  expect(of('warning')).toEqual([
    { type: 'warning', message: expect.stringMatching(/^A message of \d+ bytes is too large/) as string },
  ])
  const sha256 = /blob:([0-9a-f]{64})/.exec(text)![1]!
  expect((await agent.tape.readBlob(sha256)).toString()).toBe(pasted)
})

test('a model that turns out to take less gets the ends after all [T22, T25]', async () => {
  const pasted = log(4_000)
  const { agent, server } = await scene([fail.contextLength(40_000, 16_000), say('Now.')], { window: 100_000 })
  expect(await agent.submit(pasted)).toMatchObject({ status: 'done', text: 'Now.' })
  const last = server.requests.at(-1)!.messages.at(-1)!.text
  expect(last.length).toBeLessThan(3_000)
  expect(last).toContain('0: é 🎉 a line')
  expect((await collect(agent.tape.entries({ kinds: ['anchor'] }))).length).toBe(2)
})
