import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { handoff, login, project } from '../task/project.ts'
import { requiredAttributes, setUpSdk } from './sdk.ts'

test('a handoff of a task is a span with its gates, and then the work of the agent is one [P11]', async () => {
  const sdk = setUpSdk()
  const { tasks, write, again } = await project({ gates: [{ name: 'tests', run: 'test -e ok' }] })
  await tasks.create(login)
  await expect(tasks.handoff(handoff())).rejects.toMatchObject({ code: 'refused' })
  expect(sdk.spans().map(({ name }) => name)).toEqual(['execute_tool tests', 'task.handoff'])
  const [tool, refused] = sdk.spans()
  expect(tool).toMatchObject({
    kind: SpanKind.INTERNAL,
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'tests', 'error.type': 'gate' },
  })
  expect(tool!.parentSpanContext?.spanId).toBe(refused!.spanContext().spanId)
  expect(refused!.attributes).toMatchObject({
    'task.id': 'TASK-001',
    'task.version': 1,
    'handoff.source_agent': 'engineer',
    'handoff.target_agent': 'qa',
    'gen_ai.conversation.id': 'TASK-001',
    'task.gates_failed': ['tests'],
    'error.type': 'gate',
  })

  write('ok', '')
  await tasks.handoff(handoff())
  // Nobody had handed the task to the first agent, so nobody knows how long it took.
  expect(sdk.spans('invoke_agent engineer')).toEqual([])
  const first = sdk.spans('task.handoff').at(-1)!
  const before = await tasks.get('TASK-001')
  const tokenUsage = { input: 1_200, output: 300 }
  await (await again()).handoff(handoff({ source_agent: 'qa', target_agent: 'reviewer' }), { tokenUsage })
  const second = sdk.spans('task.handoff').at(-1)!
  expect(second.links.map(({ context }) => context.spanId)).toEqual([first.spanContext().spanId])
  const [work] = sdk.spans('invoke_agent qa')
  expect(work).toMatchObject({ kind: SpanKind.INTERNAL, parentSpanContext: undefined })
  for (const name of requiredAttributes.invoke_agent) expect(work!.attributes[name]).toBeDefined()
  expect(work!.attributes).toMatchObject({ 'gen_ai.agent.name': 'qa', 'gen_ai.conversation.id': 'TASK-001' })
  expect(work!.attributes).toMatchObject({ 'gen_ai.usage.input_tokens': 1_200, 'gen_ai.usage.output_tokens': 300 })
  expect(work!.startTime[0] * 1000 + work!.startTime[1] / 1e6).toBeCloseTo(Date.parse(before.handoff_timestamp), 0)
  expect(work!.links.map(({ context }) => context.spanId)).toEqual(
    [first, second].map((each) => each.spanContext().spanId),
  )

  const found = await sdk.metrics()
  expect(found.get('task.handoffs')!.points.map(({ attributes, value }) => [attributes['error.type'], value])).toEqual([
    ['gate', 1],
    [undefined, 1],
    [undefined, 1],
  ])
  expect(found.get('gen_ai.execute_tool.duration')).toMatchObject({ unit: 's' })
  expect(found.get('gen_ai.invoke_agent.duration')).toMatchObject({ unit: 's', points: [{ value: { count: 1 } }] })
  expect(
    found.get('gen_ai.client.token.usage')!.points.map(({ attributes }) => attributes['gen_ai.token.type']),
  ).toEqual(['input', 'output'])
  const attributes = [...found.values()].flatMap(({ points }) => points.flatMap((each) => Object.keys(each.attributes)))
  expect(attributes.filter((name) => /(^|[._])id$/.test(name))).toEqual([])
})

test('what is tried only, and what fails before there is a task, leaves no span; a conflict does [P11]', async () => {
  const sdk = setUpSdk()
  const { tasks } = await project()
  await tasks.create(login)
  await tasks.prepare(handoff())
  await expect(tasks.handoff(handoff({ task_id: 'none' }))).rejects.toMatchObject({ code: 'not_found' })
  expect(sdk.spans()).toEqual([])
  await tasks.handoff(handoff())
  await expect(tasks.handoff(handoff(), { expect: 1 })).rejects.toMatchObject({ code: 'conflict' })
  expect(sdk.spans('task.handoff').map(({ attributes }) => attributes['error.type'])).toEqual([
    undefined,
    'ConflictError',
  ])
})
