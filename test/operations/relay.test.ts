// What is shown of the relay as a whole.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { operations } from '../../src/operations/index.ts'
import type { HandoffHandler } from '../../src/relay/index.ts'
import { callBy, temporaryWorkspace } from './workspace.ts'

let opened: Awaited<ReturnType<typeof temporaryWorkspace>>
beforeEach(async () => {
  opened = await temporaryWorkspace()
})
afterEach(() => opened.close())

it('the limits of the relay come with what each trace has used of them [P4]', async () => {
  const { workspace } = opened
  const call = callBy()
  const trace = '11111111-2222-4333-8444-555555555555'
  const ask = (to: string, summary: string, more: object = {}) =>
    operations.relayAsk.run(workspace, { from: 'generator', to, summary, wait: false, ...more }, call)
  await ask('researcher', 'Numbers', { trace, item: 'report', missing: ['n'] })
  await ask('researcher', 'A picture', { trace, item: 'cover', missing: ['picture'] })
  await ask('human', 'Which title?', { trace, missing: ['title'] })
  await ask('researcher', 'Names', { missing: ['names'] })

  const { limits } = await operations.relayStatus.run(workspace, {}, call)
  expect(limits).toMatchObject({
    maxHandoffsPerItem: 3,
    maxHandoffsPerPipeline: 10,
    handoffTimeoutMs: 30_000,
    handoffCooldownMs: 5_000,
    maxHumanRequestsPerPipeline: 20,
  })
  const { requests } = await operations.relayRecent.run(workspace, { limit: 100 }, call)
  expect(requests.map(({ summary, used }) => [summary, used])).toEqual([
    ['Names', { perItem: 1, perPipeline: 1, people: 0 }],
    ['Which title?', { perItem: 0, perPipeline: 2, people: 1 }],
    ['A picture', { perItem: 1, perPipeline: 2, people: 0 }],
    ['Numbers', { perItem: 1, perPipeline: 1, people: 0 }],
  ])
})

it('what a worker asks back is told to the caller, and waits for a reply where that is wanted [P9]', async () => {
  const { workspace } = opened
  const relay = await workspace.relay()
  const stop = new AbortController()
  const handler: HandoffHandler = async (_, { clarify }) => ({
    status: 'resolved',
    providedInputs: { year: await clarify('Which year?') },
  })
  const serving = relay.serve('researcher', handler, { signal: stop.signal })
  const told: string[] = []
  const call = { ...callBy(), progress: (text: string) => void told.push(text) }
  const asking = { from: 'generator', to: 'researcher', summary: 'Look', wait: true }
  expect(await operations.relayAsk.run(workspace, asking, call)).toMatchObject({ status: 'failed' })
  const left = { ...asking, trace: randomUUID(), requestId: 'q', leaveQuestions: true }
  const answer = operations.relayAsk.run(workspace, left, call)
  await expect.poll(() => told).toHaveLength(1)
  expect(told[0]).toContain('asks back: Which year? (baton relay reply q --answer TEXT)')
  await operations.relayReply.run(workspace, { requestId: 'q', by: 'Kim', answer: 1291 }, call)
  expect(await answer).toMatchObject({ status: 'resolved', inputs: { year: 1291 } })
  stop.abort()
  await serving
})
