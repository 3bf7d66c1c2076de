// What is shown of the relay as a whole.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { operations } from '../../src/operations/index.ts'
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
