import { expect, test } from 'vitest'
import { boundless, open, request, resolved } from '../pipeline.ts'

const limits = { settings: { limits: boundless } }

test('the beginning of an id stands for it, as long as only one begins like that [P4]', async () => {
  const { relay, again } = await open(limits)
  const first = request({ traceId: 'aaaa1111-0000-4000-8000-000000000001' })
  const second = request({ traceId: 'aaaa2222-0000-4000-8000-000000000002' })
  await relay.request(first, { wait: false, requestId: 'order-1' })
  await relay.request(second, { wait: false, requestId: 'order-22' })
  for (const each of [relay, await again()]) {
    expect(await each.wholeId('request', 'order-2')).toBe('order-22')
    expect(await each.wholeId('trace', 'AAAA1')).toBe(first.traceId)
    await expect(each.wholeId('request', 'ord')).rejects.toThrow(
      '"ord" is the beginning of several ids: order-1, order-22',
    )
    await expect(each.wholeId('trace', 'aaaa')).rejects.toMatchObject({ code: 'invalid' })
    expect(await each.wholeId('request', 'nothing')).toBe('nothing')
  }
})

test('a whole id is taken as it is, also when others begin like it [P4]', async () => {
  const { relay } = await open(limits)
  for (const requestId of ['r', 'r1', 'r11']) await relay.request(request(), { wait: false, requestId })
  expect(await relay.wholeId('request', 'r')).toBe('r')
  await relay.answer('r1', resolved)
  expect(await relay.wholeId('request', 'r1')).toBe('r1')
  expect(await relay.wholeId('request', 'r11')).toBe('r11')
})

test('what has ended is found by the beginning of its id, also in an archive [P4]', async () => {
  const { relay, again } = await open(limits)
  const body = request({ traceId: 'bbbb1111-0000-4000-8000-000000000001' })
  await relay.request(body, { wait: false, requestId: 'ended' })
  await relay.answer('ended', resolved)
  expect(await relay.wholeId('request', 'end')).toBe('ended')
  await relay.archive()
  for (const each of [relay, await again()]) {
    expect(await each.wholeId('request', 'end')).toBe('ended')
    expect(await each.wholeId('trace', 'bbbb')).toBe(body.traceId)
  }
})

test('an escalation is found by the beginning of its id [P6]', async () => {
  const { relay } = await open(limits)
  for (let i = 0; i < 9; i++) await relay.request(request(), { wait: false })
  const asked = await relay.request(request({ handoffTo: 'human' }))
  expect(asked).toMatchObject({ status: 'escalated', escalation: 'e10' })
  // Entry 1 is a request to an agent, so e1 can only be the beginning of e10.
  for (const given of ['e', 'e1', 'e10']) expect(await relay.wholeId('escalation', given)).toBe('e10')
})
