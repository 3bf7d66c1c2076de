// What a process decides on the state that it knows, when others have answered and archived before it is written.

import { expect, onTestFinished, test } from 'vitest'
import { type Claim, openRelay, type Relay } from '../../../src/relay/index.ts'
import type { Store } from '../../../src/store/index.ts'
import { collect, temporaryStore } from '../../support/workspace.ts'
import { open, rejectionOf, request, resolved, settings, type SettingsInput } from '../pipeline.ts'

const trace = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** The store as a slow process uses it: before its first entry of that type is written, others do something. */
function overtaken(store: Store, type: string, others: () => Promise<void>): Store {
  let isLeft = true
  const append: Store['append'] = async (tape, drafts, options) => {
    const isIt = drafts.some(({ payload }) => (payload as { name?: string }).name === `handoff.${type}`)
    if (isIt && isLeft) {
      isLeft = false
      await others()
    }
    return store.append(tape, drafts, options)
  }
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (name === 'append') return append
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** A relay, and that of a slower process on the same store. */
async function two(type: string, others: (relay: Relay) => Promise<void>, more: SettingsInput = {}) {
  const { relay, folder } = await open({ settings: more })
  let told = () => {}
  const overtook = new Promise<void>((resolve) => (told = resolve))
  const store = overtaken(await temporaryStore(folder), type, () => others(relay).then(told))
  const slow = await openRelay({ store, settings: settings(more) })
  onTestFinished(() => slow.close())
  return { relay, slow, overtook }
}

async function workOn(relay: Relay, requestId: string): Promise<void> {
  const claim = await relay.claim('researcher', { worker: 'fast', requestId })
  await relay.answer(requestId, resolved, { claim: claim! })
}

/** A trace of its own that is over, so that there is something to archive. */
async function closed(relay: Relay): Promise<void> {
  await relay.request(request(), { requestId: 'closed', wait: false })
  await workOn(relay, 'closed')
}

/** Serves as the slow process until `last` is answered; returns what its handler was called for. */
async function served(last: string, { relay, slow, overtook }: Awaited<ReturnType<typeof two>>): Promise<string[]> {
  const handled: string[] = []
  const done = new AbortController()
  const handler = (_body: object, { envelope }: { envelope: { requestId: string } }) => {
    handled.push(envelope.requestId)
    return resolved
  }
  const serving = slow.serve('researcher', handler, { worker: 'slow', signal: done.signal })
  await Promise.race([overtook, serving])
  expect(await relay.wait(last)).toMatchObject(resolved)
  done.abort()
  await serving
  return handled
}

async function eventsOf(relay: Relay, requestId: string, type: string): Promise<number> {
  return (await collect(relay.history())).filter((row) => row.requestId === requestId && row.type === type).length
}

test.each([1, 2])(
  'a worker that has not read of an answer does not work on the request again behind archive %i [P4, P12]',
  async (archives) => {
    const both = await two('taken', async (relay) => {
      await workOn(relay, 'r1')
      for (let n = 0; n < archives; n++) {
        expect(await relay.archive()).toMatchObject({ traces: 1 })
        await relay.request(request(), { requestId: `next-${n}`, wait: false })
        if (n + 1 < archives) await workOn(relay, `next-${n}`)
      }
    })
    const { relay, slow } = both
    await relay.request(request(), { requestId: 'r1', wait: false })
    expect(await served(`next-${archives - 1}`, both)).toEqual([`next-${archives - 1}`])
    expect(await eventsOf(relay, 'r1', 'answered')).toBe(1)
    expect(await eventsOf(relay, 'r1', 'claimed')).toBe(1)
    for (const each of [relay, slow]) {
      expect(await each.counters()).toMatchObject({ requests: 1 + archives, resolved: 1 + archives, late: 0 })
      expect(await each.status('r1')).toMatchObject({ status: 'resolved', response: resolved })
    }
  },
)

test('a request that another worker holds is not claimed behind an archive [P4, P12]', async () => {
  let claim: Claim | undefined
  const both = await two('taken', async (relay) => {
    claim = await relay.claim('researcher', { worker: 'fast', requestId: 'r1' })
    expect(await relay.archive()).toMatchObject({ traces: 1, open: 1 })
    await relay.request(request(), { requestId: 'r2', wait: false })
  })
  const { relay, slow } = both
  await closed(relay)
  await relay.request(request(), { requestId: 'r1', wait: false })
  expect(await served('r2', both)).toEqual(['r2'])
  expect(await eventsOf(relay, 'r1', 'claimed')).toBe(1)
  expect(await slow.status('r1')).toMatchObject({ claim: { worker: 'fast' } })
  expect(await slow.answer('r1', resolved, { claim: claim! })).toMatchObject({ status: 'accepted' })
})

test('of two answers with an archive between them the first counts [P4, P12]', async () => {
  const { relay, slow } = await two('answered', async () => {
    expect(await relay.answer('r1', resolved)).toMatchObject({ status: 'accepted' })
    expect(await relay.archive()).toMatchObject({ traces: 1 })
  })
  await relay.request(request(), { requestId: 'r1', wait: false })
  expect(await slow.answer('r1', { status: 'failed', failureReason: 'no' })).toMatchObject({
    status: 'late',
    response: resolved,
  })
  expect(await slow.counters()).toMatchObject({ requests: 1, resolved: 1, failed: 0, late: 1 })
})

test('limits count on and an id keeps its request, for a process that does not know of the archive yet [P3, P12]', async () => {
  const { relay, slow } = await two(
    'requested',
    async () => {
      await relay.request(request({ traceId: trace(1) }), { requestId: 'r1', wait: false })
      await workOn(relay, 'r1')
      expect(await relay.archive()).toMatchObject({ traces: 1 })
    },
    { limits: { maxHandoffsPerItem: 1 } },
  )
  // It looks at the tape before there is any archive, and the others are faster while it writes.
  expect(rejectionOf(await slow.request(request({ traceId: trace(1) }), { wait: false }))).toBe('item_limit')
  // It knows of one archive, and has never seen this trace.
  await relay.request(request({ traceId: trace(2) }), { requestId: 'r2', wait: false })
  await workOn(relay, 'r2')
  await relay.archive()
  expect(rejectionOf(await slow.request(request({ traceId: trace(2) }), { wait: false }))).toBe('item_limit')
  expect(await slow.counters()).toMatchObject({ requests: 4, resolved: 2, rejected: 2 })
})

test('a request that is repeated under its id across an archive is not made twice [P4, P12]', async () => {
  const { relay, slow } = await two('requested', async () => {
    await relay.request(request({ traceId: trace(1) }), { requestId: 'r1', wait: false })
    await workOn(relay, 'r1')
    expect(await relay.archive()).toMatchObject({ traces: 1 })
  })
  expect(await slow.request(request({ traceId: trace(1) }), { requestId: 'r1' })).toMatchObject({ status: 'resolved' })
  expect(await eventsOf(slow, 'r1', 'requested')).toBe(1)
})

test('an answer is used once, also when the other use was archived meanwhile [P3, P12]', async () => {
  const { relay, slow } = await two('resumed', async () => {
    await relay.resume('asked', { by: 'generator' })
    expect(await relay.archive()).toMatchObject({ traces: 1 })
  })
  await relay.request(request({ handoffTo: 'human' }), { requestId: 'asked' })
  const { id } = (await relay.escalations.list())[0]!
  await relay.escalations.answer(id, { marketSize: 7 }, { by: 'Kim' })
  await expect(slow.resume('asked', { by: 'validator' })).rejects.toMatchObject({ code: 'conflict' })
  expect(await eventsOf(relay, 'asked', 'resumed')).toBe(1)
})
