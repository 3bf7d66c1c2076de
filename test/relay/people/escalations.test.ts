import { expect, test } from 'vitest'
import type { Escalation } from '../../../src/relay/index.ts'
import { clock, open, request } from '../pipeline.ts'

const budget = [{ key: 'budget', expectedType: 'number', description: 'What may it cost?', source: 'user' }]
const toPerson = (more = {}) =>
  request({ handoffTo: 'human', reason: 'requires_human_decision', missingInputs: budget, ...more })

test('a person is asked: the caller is told, and does not wait [P6]', async () => {
  const told: Escalation[] = []
  const { relay } = await open({ notify: (escalation) => void told.push(escalation) })
  const outcome = await relay.request(toPerson())
  expect(outcome).toMatchObject({
    status: 'escalated',
    response: {
      respondingAgent: 'human',
      status: 'escalated',
      recommendations: [
        'Review the context of the request',
        'Provide budget (number)',
        expect.stringContaining('baton escalations answer e1 --input budget=NUMBER'),
      ],
    },
  })
  await relay.close()
  expect(told).toMatchObject([{ id: 'e1', from: 'generator', missing: budget }])
})

test('whoever is told of an escalation and fails, the escalation is stored all the same [P6]', async () => {
  const { relay } = await open({ notify: () => Promise.reject(new Error('The bell is broken')) })
  expect((await relay.request(toPerson())).status).toBe('escalated')
  expect(await relay.escalations.list()).toHaveLength(1)
})

test('escalations are listed by priority and age, with what a person needs to answer [P6, P16]', async () => {
  const time = clock()
  const { relay, again } = await open({ time })
  for (const priority of ['low', 'critical', 'medium', 'critical'] as const) {
    await relay.request(toPerson({ priority, reasonDetail: `${priority} question` }))
    time.advance(60_000)
  }
  const list = await (await again()).escalations.list()
  expect(list.map(({ id, priority, ageMs }) => [id, priority, ageMs])).toEqual([
    ['e2', 'critical', 180_000],
    ['e4', 'critical', 60_000],
    ['e3', 'medium', 120_000],
    ['e1', 'low', 240_000],
  ])
  expect(list[0]).toMatchObject({
    reason: 'requires_human_decision',
    reasonDetail: 'critical question',
    summary: 'Writing the market analysis',
    missing: budget,
  })
})

test('an answer days later reaches the one who waits, and one who starts later [P6]', async () => {
  const time = clock()
  const { relay, again } = await open({ time })
  const waiting = relay.request(toPerson(), { requestId: 'q', wait: true })
  const desk = await again()
  await expect.poll(async () => (await desk.escalations.list()).length).toBe(1)
  time.advance(5 * 86_400_000)
  const [asked] = await desk.escalations.list()
  expect(asked!.ageMs).toBe(5 * 86_400_000)
  expect(await desk.escalations.answer(asked!.id, { budget: 5_000 }, { by: 'Kim' })).toMatchObject({
    status: 'accepted',
    response: { respondingAgent: 'human', status: 'resolved', providedInputs: { budget: 5_000 } },
  })
  const outcome = await waiting
  expect(outcome).toMatchObject({ status: 'resolved', response: { providedInputs: { budget: 5_000 } } })
  const restarted = await again()
  expect(await restarted.wait('q')).toEqual(outcome.status === 'resolved' && outcome.response)
  expect(
    await restarted.request(toPerson({ traceId: (await desk.status('q')).envelope.request.traceId }), {
      requestId: 'q',
    }),
  ).toMatchObject({ status: 'resolved' })
  expect(await desk.escalations.list()).toEqual([])
  expect(await desk.escalations.show(asked!.id)).toMatchObject({ answer: { by: 'Kim' } })
})

test('an answer resumes one agent, once [P6]', async () => {
  const { relay, again } = await open()
  await relay.request(toPerson(), { requestId: 'q' })
  const racing = Promise.allSettled([
    relay.resume('q', { by: 'generator-1' }),
    (await again()).resume('q', { by: 'generator-2' }),
  ])
  const [asked] = await relay.escalations.list()
  await relay.escalations.answer(asked!.id, { budget: 1 }, { by: 'Kim' })
  const ends = await racing
  expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const lost = ends.find((end) => end.status === 'rejected')
  expect(lost?.reason).toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('was used by generator-') as string,
  })
})

test('an answer is bound to its escalation and counts once [P6]', async () => {
  const { relay, again } = await open()
  await relay.request(toPerson(), { requestId: 'q' })
  const [asked] = await relay.escalations.list()
  const desks = await Promise.all([again(), again(), again()])
  const answers = await Promise.allSettled(
    desks.map((desk, i) => desk.escalations.answer(asked!.id, { budget: i }, { by: `person ${i}` })),
  )
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const { response } = await relay.status('q')
  const winner = response!.providedInputs!['budget'] as number
  for (const [i, answer] of answers.entries()) {
    if (answer.status === 'fulfilled') expect(i).toBe(winner)
    else
      expect(answer.reason).toMatchObject({
        code: 'conflict',
        message: expect.stringContaining(`by person ${winner}`) as string,
      })
  }
  expect(await relay.escalations.answer(asked!.id, { budget: winner }, { by: 'anyone' })).toMatchObject({
    status: 'duplicate',
  })
  await expect(relay.escalations.answer('e99', { budget: 1 }, { by: 'Kim' })).rejects.toMatchObject({
    code: 'not_found',
  })
  await expect(relay.escalations.show('q')).rejects.toMatchObject({ code: 'not_found' })
})

test('an answer of the wrong type is refused with its path, and the question stays [P6, P15]', async () => {
  const { relay } = await open()
  await relay.request(toPerson())
  const answer = (inputs: unknown) => relay.escalations.answer('e1', inputs, { by: 'Kim' })
  await expect(answer({ budget: 'plenty' })).rejects.toMatchObject({
    code: 'invalid',
    path: 'providedInputs.budget',
    message: 'providedInputs.budget must be number, not "plenty"',
  })
  await expect(answer({})).rejects.toThrow('It is not resolved without budget')
  await expect(answer({ budget: 1, mood: 'good' })).rejects.toThrow('providedInputs.mood was not asked for')
  await expect(answer('1')).rejects.toMatchObject({ code: 'invalid' })
  expect(await relay.escalations.list()).toHaveLength(1)
})

test('a person may decline, or provide a part [P6]', async () => {
  const { relay } = await open()
  await relay.request(toPerson(), { requestId: 'a' })
  await relay.request(toPerson(), { requestId: 'b' })
  await relay.escalations.answer('e1', undefined, { by: 'Kim', status: 'failed', reason: 'Not now' })
  expect(await relay.wait('a')).toMatchObject({ status: 'failed', failureReason: 'Not now', respondingAgent: 'human' })
  await relay.escalations.answer('e2', {}, { by: 'Kim', status: 'partial' })
  expect(await relay.wait('b')).toMatchObject({ status: 'partial', unresolved: ['budget'] })
})

test('an agent can hand a request on to a person; what it says then is late [P6, P9]', async () => {
  const { relay, again } = await open({
    handlers: { orchestrator: () => ({ status: 'escalated' as const, recommendations: ['Ask Kim'] }) },
  })
  const outcome = await relay.request(request({ handoffTo: 'orchestrator', missingInputs: budget }), { requestId: 'q' })
  expect(outcome).toMatchObject({ status: 'escalated', escalation: 'e2' })
  const desk = await again()
  expect(await desk.escalations.show('e2')).toMatchObject({ via: 'orchestrator', recommendations: ['Ask Kim'] })
  const late = { status: 'resolved', providedInputs: { budget: 0 } }
  expect(await desk.answer('q', late)).toMatchObject({ status: 'late' })
  const waiting = relay.wait('q')
  await desk.escalations.answer('e2', { budget: 7 }, { by: 'Kim' })
  expect(await waiting).toMatchObject({ respondingAgent: 'human', providedInputs: { budget: 7 } })
  expect(await relay.counters()).toMatchObject({ requests: 1, escalated: 1, resolved: 1, late: 1 })
})

test('waiting can be given up; the question stays [P6]', async () => {
  const { relay } = await open()
  await relay.request(toPerson(), { requestId: 'q' })
  await expect(relay.wait('q', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' })
  const giveUp = new AbortController()
  const waiting = relay.wait('q', { signal: giveUp.signal })
  giveUp.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'cancelled' })
  await expect(relay.wait('unknown')).rejects.toMatchObject({ code: 'not_found' })
  const closed = relay.wait('q')
  await relay.close()
  await expect(closed).rejects.toMatchObject({ code: 'cancelled' })
})
