import { expect, test } from 'vitest'
import { boundless, clock, open, request } from '../pipeline.ts'

const worker = { worker: 'w' }

test('a claim whose lease has ended is no claim any more, whoever asks [P9]', async () => {
  const time = clock()
  const { relay, again } = await open({ settings: { limits: boundless }, time })
  await relay.request(request(), { wait: false, requestId: 'r' })
  await relay.claim('researcher', { ...worker, leaseMs: 1_000 })
  expect(await relay.status('r')).toMatchObject({ status: 'claimed' })
  time.advance(1_000)
  for (const each of [relay, await again()]) {
    expect(await each.status('r')).toMatchObject({ status: 'pending' })
    expect(await each.status()).toMatchObject({ pending: 1, claimed: 0, agents: { researcher: { pending: 1 } } })
  }
})

test('a request that is out of time has failed, whoever asks, and says how long it took [P3]', async () => {
  const time = clock()
  const { relay, again } = await open({ time })
  await relay.request(request(), { wait: false, requestId: 'r' })
  time.advance(40_000)
  const expected = { status: 'failed', response: { status: 'failed', executionTimeMs: 40_000 } }
  expect(await (await again()).status('r')).toMatchObject(expected)
  expect(await relay.status()).toMatchObject({ pending: 0, counters: { failed: 1, timedOut: 1 } })
})

test('agents may have any name, also one that objects have of themselves [P9]', async () => {
  const names = ['constructor', 'toString', 'ünï/kode agent', '研究']
  const { relay } = await open({
    settings: {
      agents: Object.fromEntries(['generator', ...names].map((name) => [name, {}])),
      routes: names.map((to) => ({ from: 'generator', to, reason: 'any' })),
      forbidden: [],
    },
  })
  for (const handoffTo of names) await relay.request(request({ handoffTo }), { wait: false })
  const { agents } = await relay.status()
  expect(Object.keys(agents)).toEqual(names)
  for (const name of names) expect((await relay.claim(name, worker))?.agent).toBe(name)
})

test('what is too large says what to do instead, and nothing is kept [P1]', async () => {
  const { relay } = await open()
  const contextForTarget = { summary: 'x'.repeat(10 * 1024 * 1024) }
  await expect(relay.request(request({ contextForTarget }), { requestId: 'r' })).rejects.toMatchObject({
    code: 'limit',
    message: expect.stringMatching(/^What is handed over has 10\d{6} bytes, and may have 921600$/) as string,
    hint: expect.stringContaining('tape:// reference') as string,
  })
  await expect(relay.status('r')).rejects.toMatchObject({ code: 'not_found' })
})

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('a lease of %d ms is none [P9]', async (leaseMs) => {
  const { relay } = await open()
  await expect(relay.claim('researcher', { ...worker, leaseMs })).rejects.toMatchObject({ code: 'invalid' })
})
