import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { Relay } from '../../../src/relay/index.ts'
import { collect } from '../../support/workspace.ts'
import { boundless, clock, open, rejectionOf, request, resolved } from '../pipeline.ts'

const day = 86_400_000
const trace = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** A request that is claimed and answered, in a trace of its own. */
async function closed(relay: Relay, n: number): Promise<void> {
  await relay.request(request({ traceId: trace(n) }), { requestId: `closed-${n}`, wait: false })
  const claim = await relay.claim('researcher', { worker: 'w', requestId: `closed-${n}` })
  await relay.answer(`closed-${n}`, resolved, { claim: claim! })
}

function entriesOnTape(folder: string): number {
  const file = path.join(folder, 'tape', `${encodeURIComponent('relay/handoffs')}.jsonl`)
  return fs.readFileSync(file, 'utf8').trimEnd().split('\n').length
}

const kinds = async (relay: Relay, traceId: string) =>
  (await collect(relay.history({ traceId }))).map(({ type, requestId }) => `${type} ${requestId}`)

test('an archived trace leaves the tape and can still be looked up, in this process and in others [P4, P6]', async () => {
  const { relay, folder, again } = await open()
  await closed(relay, 1)
  await relay.request(request({ traceId: trace(2), handoffTo: 'human' }), { requestId: 'question' })
  const { id } = (await relay.escalations.list())[0]!
  await relay.escalations.answer(id, { marketSize: 7 }, { by: 'Kim' })
  const before = [await kinds(relay, trace(1)), await kinds(relay, trace(2))]
  const counters = await relay.counters()
  expect(await relay.archive()).toEqual({ traces: 2, requests: 2, open: 0, kept: 0 })
  expect(entriesOnTape(folder)).toBe(1)
  for (const each of [relay, await again()]) {
    expect([await kinds(each, trace(1)), await kinds(each, trace(2))]).toEqual(before)
    expect(await each.status('closed-1')).toMatchObject({ status: 'resolved', response: resolved })
    expect(await each.wait('closed-1')).toMatchObject(resolved)
    expect(await each.escalations.show(id)).toMatchObject({ answer: { by: 'Kim' } })
    expect(await each.owner(trace(1))).toMatchObject({ agent: 'generator' })
    expect(await each.counters()).toEqual(counters)
    expect(await collect(each.history())).toHaveLength(6)
  }
  expect(await relay.archive()).toBeUndefined()
})

test('what was promised of an archived request still holds: its id, its limits, its one use, its one answer [P3, P4, P6]', async () => {
  const { relay, again } = await open({ settings: { limits: { maxHandoffsPerItem: 1 } } })
  await closed(relay, 1)
  await relay.request(request({ traceId: trace(2), handoffTo: 'human' }), { requestId: 'used' })
  await relay.request(request({ traceId: trace(3), handoffTo: 'human' }), { requestId: 'unused' })
  for (const { id } of await relay.escalations.list())
    await relay.escalations.answer(id, { marketSize: 7 }, { by: 'Kim' })
  await relay.resume('used', { by: 'generator' })
  await relay.archive()
  const other = await again()
  expect(await other.request(request({ traceId: trace(1) }), { requestId: 'closed-1' })).toMatchObject({
    status: 'resolved',
  })
  await expect(other.request(request(), { requestId: 'closed-1' })).rejects.toMatchObject({ code: 'conflict' })
  expect(rejectionOf(await other.request(request({ traceId: trace(1) })))).toBe('item_limit')
  expect(await other.answer('closed-1', resolved)).toMatchObject({ status: 'duplicate' })
  expect(await other.answer('closed-1', { status: 'failed', failureReason: 'no' })).toMatchObject({ status: 'late' })
  await expect(other.resume('used', { by: 'generator' })).rejects.toMatchObject({ code: 'conflict' })
  expect(await relay.resume('unused', { by: 'generator' })).toMatchObject({ providedInputs: { marketSize: 7 } })
  await relay.archive()
  await expect(other.resume('unused', { by: 'generator' })).rejects.toMatchObject({ code: 'conflict' })
  expect(await kinds(other, trace(3))).toContain('resumed unused')
})

test('open traces are never archived: requests that wait, are claimed, escalated or dead go on behind it [P9]', async () => {
  const { relay, again } = await open({ settings: { limits: { ...boundless, maxDeliveries: 1 }, leaseMs: 60_000 } })
  await relay.request(request({ traceId: trace(4) }), { requestId: 'dead', wait: false })
  await relay.claim('researcher', { worker: 'dies', leaseMs: 1 })
  // Whoever comes for it after the lease has ended finds that it has cost its only worker.
  const lookAgain = async () => {
    expect(await relay.claim('researcher', { worker: 'next' })).toBeUndefined()
    return (await relay.deadLetters.list()).length
  }
  await expect.poll(lookAgain).toBe(1)
  await closed(relay, 9)
  await relay.request(request({ traceId: trace(2) }), { requestId: 'claimed', wait: false })
  const claim = await relay.claim('researcher', { worker: 'w' })
  await relay.progress('claimed', { by: 'w', percent: 40 })
  await relay.request(request({ traceId: trace(1) }), { requestId: 'waiting', wait: false })
  await relay.request(request({ traceId: trace(3), handoffTo: 'human' }), { requestId: 'asked' })
  expect(await relay.archive()).toEqual({ traces: 1, requests: 1, open: 4, kept: 0 })
  const other = await again()
  expect(await other.status()).toMatchObject({ pending: 1, claimed: 1, escalated: 1, deadLetters: 1 })
  expect(await other.status('claimed')).toMatchObject({ claim: { worker: 'w' }, progress: { percent: 40 } })
  expect(await relay.heartbeat(claim!)).toBe(true)
  expect(await other.answer('claimed', resolved, { claim: claim! })).toMatchObject({ status: 'accepted' })
  expect(await other.claim('researcher', { worker: 'v' })).toMatchObject({ requestId: 'waiting' })
  const { id } = (await other.escalations.list())[0]!
  const waiting = relay.wait('asked')
  await other.escalations.answer(id, { marketSize: 7 }, { by: 'Kim' })
  expect(await waiting).toMatchObject({ providedInputs: { marketSize: 7 } })
  await other.deadLetters.retry('dead', { by: 'Kim' })
  expect(await relay.claim('researcher', { worker: 'v' })).toMatchObject({ requestId: 'dead' })
  // Some of these are over by now, and follow at the next archive.
  expect(await relay.archive()).toEqual({ traces: 2, requests: 2, open: 2, kept: 0 })
  expect(await kinds(await again(), trace(2))).toEqual(
    expect.arrayContaining(['answered claimed', 'progress claimed', 'requested claimed']),
  )
})

test('closed traces are archived by age or by number; the others stay at hand [P12]', async () => {
  const time = clock()
  const { relay } = await open({ time, settings: { limits: boundless } })
  for (const n of [1, 2, 3, 4]) {
    await closed(relay, n)
    time.advance(day)
  }
  expect(await relay.archive({ olderThanMs: 3.5 * day })).toMatchObject({ traces: 1, kept: 3 })
  expect(await relay.archive({ keep: 2 })).toMatchObject({ traces: 1, kept: 2 })
  expect(await relay.archive({ keep: 2 })).toBeUndefined()
  expect(await relay.archive({ keep: 2, olderThanMs: 1.5 * day })).toMatchObject({ traces: 1, kept: 1 })
  for (const n of [1, 2, 3, 4]) expect(await relay.status(`closed-${n}`)).toMatchObject({ status: 'resolved' })
  await expect(relay.archive({ keep: -1 })).rejects.toMatchObject({ code: 'invalid' })
})

test('of processes that archive at the same time one does it, and nothing is lost [P12]', async () => {
  const { relay, again } = await open()
  for (const n of [1, 2, 3]) await closed(relay, n)
  const others = await Promise.all([again(), again()])
  const results = await Promise.all([relay, ...others].map((each) => each.archive()))
  expect(results.filter((result) => result !== undefined)).toEqual([{ traces: 3, requests: 3, open: 0, kept: 0 }])
  for (const each of others) {
    for (const n of [1, 2, 3]) expect(await each.status(`closed-${n}`)).toMatchObject({ status: 'resolved' })
  }
})

test('old traces are archived on their own [P12]', async () => {
  const time = clock()
  const { relay, folder } = await open({ time, settings: { limits: boundless, retention: { days: 7 } } })
  await closed(relay, 1)
  time.advance(6 * day)
  await closed(relay, 2)
  expect(await relay.archiveWhenDue()).toBeUndefined()
  time.advance(2 * day)
  expect(await relay.archiveWhenDue()).toMatchObject({ traces: 1, kept: 1 })
  expect(entriesOnTape(folder)).toBe(1)
  time.advance(4 * day)
  expect(await relay.archiveWhenDue()).toBeUndefined()
  time.advance(2 * day)
  expect(await relay.archiveWhenDue()).toMatchObject({ traces: 1, kept: 0 })
})

test('a busy relay archives by number on its own, and every request is still answered once [P4, P12]', async () => {
  const count = 800
  const handlers = { researcher: () => resolved }
  const { relay, folder, again } = await open({ handlers, settings: { limits: boundless, retention: { traces: 0 } } })
  const ids = Array.from({ length: count }, (_, i) => `r${i}`)
  const left = [...ids]
  const caller = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) await relay.request(request(), { requestId: id })
  }
  await Promise.all(Array.from({ length: 64 }, caller))
  await relay.close()
  expect(fs.readdirSync(path.join(folder, 'tape', 'archived')).length).toBeGreaterThan(0)
  expect(entriesOnTape(folder)).toBeLessThan(2 * count)
  const other = await again()
  expect(await other.counters()).toMatchObject({ requests: count, resolved: count })
  const answers = (await collect(other.history())).filter(({ type }) => type === 'answered')
  expect(new Set(answers.map(({ requestId }) => requestId)).size).toBe(count)
  expect(answers).toHaveLength(count)
  for (const id of [ids[0]!, ids[count / 2]!, ids[count - 1]!])
    expect(await other.status(id)).toMatchObject({ status: 'resolved' })
})
