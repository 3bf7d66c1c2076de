import { randomUUID } from 'node:crypto'
import { expect, expectTypeOf, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import {
  type HandoffHandler,
  type HandoffProgress,
  openRelay,
  type Relay,
  relaySection,
} from '../../src/relay/index.ts'
import type { Store } from '../../src/store/index.ts'
import { collect, temporaryStore } from '../support/workspace.ts'
import { open, request, resolved } from './pipeline.ts'

const population = z.object({ inhabitants: z.number().int(), note: z.string().optional() })

/** A relay without any configuration. */
async function plain(handlers = {}): Promise<{ relay: Relay; again: () => Promise<Relay> }> {
  const store = await temporaryStore()
  const again = async (own = {}) => {
    const relay = await openRelay({ store, settings: relaySection.parse({}), handlers: own })
    onTestFinished(() => relay.close())
    return relay
  }
  return { relay: await again(handlers), again }
}

test('without agents and routes in a configuration, any agent asks any other, and the result has the type of the schema [P2]', async () => {
  const { relay } = await plain({
    researcher: () => ({ status: 'resolved', providedInputs: { inhabitants: 134_506 } }),
  })
  const answer = await relay.ask('writer', 'researcher', { summary: 'How many live in Bern?', schema: population })
  if (answer.status !== 'resolved') throw new Error(answer.status)
  expectTypeOf(answer.inputs).toEqualTypeOf<{ inhabitants: number; note?: string | undefined }>()
  expect(answer.inputs).toEqual({ inhabitants: 134_506 })
  const { envelope } = await relay.status(answer.requestId)
  expect(envelope.request).toMatchObject({
    sourceAgent: 'writer',
    reason: 'missing_required_input',
    missingInputs: [{ key: 'inhabitants', expectedType: 'integer' }],
  })
  expect(await relay.ask('writer', 'writer', { summary: 'Me?' })).toMatchObject({ status: 'rejected' })
})

test('an option that a function does not know is refused with those that it knows, before anything is stored [P2]', async () => {
  const { relay } = await plain({ researcher: () => ({ status: 'resolved', providedInputs: {} }) })
  const traceId = randomUUID()
  const wrong = { summary: 'Bern?', traceId }
  await expect(relay.ask('writer', 'researcher', wrong)).rejects.toMatchObject({
    code: 'invalid',
    path: 'traceId',
    message: 'relay.ask has no option "traceId"',
    hint: expect.stringMatching(/^Leave it out\. Known are summary, .*\btrace\b/) as string,
  })
  await expect(relay.ask('writer', 'researcher', 'Bern?' as never)).rejects.toThrow('must be an object')
  await expect(relay.request(request(), { timeout: 5 } as object)).rejects.toThrow('"timeout"')
  await expect(relay.serve('researcher', () => ({ status: 'resolved' }), { parallel: 5 } as object)).rejects.toThrow(
    '"parallel"',
  )
  expect(() => relay.history({ trace: traceId } as object)).toThrow('relay.history has no option "trace"')
  await expect(openRelay({ handler: {} } as object)).rejects.toThrow('openRelay has no option "handler"')
  expect(await collect(relay.history())).toEqual([])
})

test('the same code works with a worker of another process; what does not fit the schema has failed [P2, P9]', async () => {
  const { relay, again } = await plain()
  const worker = await again()
  void worker.serve('researcher', ({ contextForTarget }) => ({
    status: 'resolved',
    providedInputs: { inhabitants: contextForTarget.summary === 'half' ? 0.5 : 7 },
  }))
  const schema = z.object({ inhabitants: z.number().min(1) })
  expect(await relay.ask('writer', 'researcher', { summary: 'Bern?', schema })).toMatchObject({
    inputs: { inhabitants: 7 },
  })
  expect(await relay.ask('writer', 'researcher', { summary: 'half', schema })).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('does not fit the schema: inhabitants') as string,
  })
  await worker.close()
})

test('a person is asked without waiting; the answer comes under the same id [P2, P6]', async () => {
  const { relay } = await plain()
  const asked = await relay.ask('writer', 'human', { summary: 'May I?', missing: ['ok'], requestId: 'q' })
  if (asked.status !== 'escalated') throw new Error(asked.status)
  await relay.escalations.answer(asked.escalation, { ok: true }, { by: 'Kim', reason: 'Go on with plan B' })
  const { traceId } = (await relay.status('q')).envelope.request
  const answer = await relay.ask('writer', 'human', {
    summary: 'May I?',
    missing: ['ok'],
    requestId: 'q',
    trace: traceId,
  })
  expect(answer).toMatchObject({ status: 'resolved', inputs: { ok: true } })
  if (answer.status !== 'resolved') return
  // A remark is no failure.
  expect(answer.response.failureReason).toBeUndefined()
  expect(answer.response.recommendations).toEqual(['Go on with plan B'])
})

test('aborting cancels the request, and the signal of its worker, in another process or in this one [P9]', async () => {
  const { relay, again } = await plain({
    local: (_: unknown, { signal }: { signal: AbortSignal }) => untilAborted(signal),
  })
  const worker = await again()
  const ended: string[] = []
  const untilAborted = (signal: AbortSignal) =>
    new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => {
        ended.push((signal.reason as Error).message)
        reject(signal.reason as Error)
      }),
    )
  void worker.serve('remote', (_, { signal }) => untilAborted(signal))
  for (const to of ['remote', 'local']) {
    const cancel = new AbortController()
    const requestId = randomUUID()
    const asking = relay.ask('writer', to, { summary: 'Look', requestId, signal: cancel.signal })
    await expect.poll(async () => (await relay.status()).claimed).toBe(1)
    cancel.abort()
    await expect(asking).rejects.toMatchObject({ code: 'cancelled' })
    expect(await relay.status(requestId)).toMatchObject({
      status: 'failed',
      response: { failureReason: 'writer has cancelled it' },
    })
  }
  await expect.poll(() => ended.length).toBe(2)
  expect(ended[0]).toBe('writer has cancelled it')
  expect((await relay.status()).claimed).toBe(0)
})

test('a request that somebody else cancels ends for the asker; what has ended cannot be cancelled [P9]', async () => {
  const { relay, again } = await plain()
  const asking = relay.ask('writer', 'researcher', { summary: 'Look', requestId: 'r' })
  const other = await again()
  await expect.poll(() => other.inbox('researcher')).toHaveLength(1)
  expect(await other.cancel('r', { by: 'Kim', reason: 'Not needed' })).toBe(true)
  expect(await asking).toMatchObject({ status: 'failed', cause: 'cancelled', reason: 'Not needed' })
  expect(await other.cancel('r', { by: 'Kim' })).toBe(false)
  await expect(other.cancel('none', { by: 'Kim' })).rejects.toMatchObject({ code: 'not_found' })
})

test('the asker sees how far a worker or a function is, and it is on the tape [P9]', async () => {
  const reading: HandoffHandler = async (_, { progress }) => {
    await progress({ text: 'reading', percent: 10 })
    await progress({ percent: 90 })
    await expect(progress({ percent: 101 })).rejects.toMatchObject({ code: 'invalid' })
    return { status: 'resolved' }
  }
  const { relay, again } = await plain({ local: reading })
  void (await again()).serve('remote', reading)
  for (const to of ['remote', 'local']) {
    const seen: HandoffProgress[] = []
    await relay.ask('writer', to, { summary: 'Look', onProgress: (each) => seen.push(each) })
    expect(seen.map(({ text, percent }) => [text, percent])).toEqual([
      ['reading', 10],
      [undefined, 90],
    ])
  }
  const rows = (await collect(relay.history())).filter(({ type }) => type === 'progress')
  expect(rows).toHaveLength(4)
})

test('a worker or a function asks back and goes on with the reply; an asker that answers no questions says so [P9]', async () => {
  const asking: HandoffHandler = async (_, { clarify }) => {
    const year = await clarify('Which year?')
    return { status: 'resolved', providedInputs: { year } }
  }
  const { relay, again } = await plain({ local: asking })
  void (await again()).serve('researcher', asking)
  const year = { summary: 'Look', onQuestion: () => 1291 }
  expect(await relay.ask('writer', 'local', year)).toMatchObject({ inputs: { year: 1291 } })
  const asked: string[] = []
  const onQuestion = ({ text }: { text: string }) => (asked.push(text), 2026)
  expect(await relay.ask('writer', 'researcher', { summary: 'Look', onQuestion })).toMatchObject({
    inputs: { year: 2026 },
  })
  expect(asked).toEqual(['Which year?'])
  expect(await relay.ask('writer', 'researcher', { summary: 'Look' })).toMatchObject({
    status: 'failed',
    reason: 'writer does not answer "Which year?": it answers no questions',
  })
  // The asker leaves it to somebody else, and still waits.
  const left = relay.ask('writer', 'researcher', { summary: 'Look', requestId: 'left', onQuestion: () => undefined })
  await expect.poll(async () => (await relay.status('left')).question?.text).toBe('Which year?')
  await relay.reply('left', { by: 'Kim', answer: 1415 })
  expect(await left).toMatchObject({ inputs: { year: 1415 } })
  // Nobody waits: the question is part of the status, and anyone may reply.
  await relay.ask('writer', 'researcher', { summary: 'Look', wait: false, requestId: 'later' })
  await expect.poll(async () => (await relay.status('later')).question?.text).toBe('Which year?')
  await relay.reply('later', { by: 'Kim', answer: 1848 })
  expect(await relay.wait('later')).toMatchObject({ providedInputs: { year: 1848 } })
})

test('progress and a question that come before the request is acknowledged reach the asker [P9]', async () => {
  const store = await temporaryStore()
  const settings = relaySection.parse({})
  const worker = await openRelay({ store, settings })
  onTestFinished(() => worker.close())
  void worker.serve('researcher', async (_, { progress, clarify }) => {
    await progress({ percent: 10 })
    return { status: 'resolved', providedInputs: { year: await clarify('Which year?') } }
  })
  // The worker reads the request while its asker still waits for the acknowledgement.
  const isAsking = async () => {
    await expect.poll(async () => (await worker.status('r')).question?.text).toBe('Which year?')
  }
  const relay = await openRelay({ store: lateStore(store, isAsking), settings })
  onTestFinished(() => relay.close())
  const seen: (number | undefined)[] = []
  const answer = await relay.ask('writer', 'researcher', {
    summary: 'Look',
    requestId: 'r',
    onProgress: ({ percent }) => seen.push(percent),
    onQuestion: () => 1291,
  })
  expect(answer).toMatchObject({ status: 'resolved', inputs: { year: 1291 } })
  expect(seen).toEqual([10])
})

/** A store that acknowledges its first append only when that is over. */
function lateStore(store: Store, over: () => Promise<unknown>): Store {
  let isFirst = true
  const append: Store['append'] = async (...given) => {
    const entries = await store.append(...given)
    if (isFirst) {
      isFirst = false
      await over()
    }
    return entries
  }
  return new Proxy(store, {
    get: (_, name) => {
      const value: unknown = name === 'append' ? append : Reflect.get(store, name)
      return typeof value === 'function' ? (value.bind(store) as unknown) : value
    },
  })
}

test('a failure on the way is tried again on the same target, twice by default, and is no circle [P4, P10]', async () => {
  let left = 2
  const failing = () => {
    if (left-- > 0) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    return resolved
  }
  const recovery = [{ strategy: 'retry_same_target' as const, backoffMs: 1 }]
  const { relay } = await open({ handlers: { researcher: failing }, settings: { recovery } })
  expect(await relay.request(request(), { requestId: 'r' })).toMatchObject({ status: 'resolved' })
  left = 3
  expect(await relay.request(request())).toMatchObject({ status: 'failed', reason: 'read ECONNRESET' })
  const rows = await collect(relay.history())
  const retries = rows.flatMap((row) => (row.type === 'recovered' ? [row.action] : []))
  expect(retries).toEqual(Array.from({ length: 4 }, () => 'retry_same_target'))
  expect(await relay.counters()).toMatchObject({ requests: 2, circularBlocked: 0 })
})
