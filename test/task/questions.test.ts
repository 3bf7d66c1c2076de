import path from 'node:path'
import { expect, test } from 'vitest'
import { type PersonDecision, type TaskQuestion, type Tasks } from '../../src/task/index.ts'
import { temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { anna, handoff, login, project, refusal } from './project.ts'

const issue = {
  issue: 'Delete the old database?',
  severity: 'blocker' as const,
  suggested_action: '',
  requires_human: true,
}
const asking = handoff({ blocking_issues: [issue] })

async function asked(): Promise<Tasks> {
  const { tasks } = await project()
  await tasks.create(login)
  await refusal(tasks.handoff(asking))
  return tasks
}

test('an issue that requires a person stops the handoff until one approves, and no force helps [S7]', async () => {
  const { tasks } = await project()
  await tasks.create(login)
  await expect(tasks.approve('TASK-001', anna)).rejects.toMatchObject({ code: 'invalid' })
  const error = await refusal(tasks.handoff(asking, { force: 'no time' }))
  expect(error.message).toContain('a person must decide: Delete the old database?')
  expect(error.questions).toMatchObject([{ issue: issue.issue, asked_by: 'engineer', version: 1 }])
  expect(await tasks.waitingForPerson('TASK-001')).toEqual([{ ...error.questions[0], escalation: undefined }])
  expect(await tasks.approve('TASK-001', { ...anna, note: 'Yes' })).toMatchObject({
    verdict: 'approved',
    version: 1,
    by: 'anna',
    via: 'terminal pts/7',
    note: 'Yes',
    issues: [issue.issue],
  })
  expect(await tasks.waitingForPerson('TASK-001')).toEqual([])
  await tasks.handoff(asking)
  const state = await tasks.get('TASK-001')
  expect(state).toMatchObject({ blocking_issues: [{ ...issue, approved_by: 'anna' }] })
  expect(state.quality_gates_passed).toContain('human-approval')

  // It stays approved as long as it is carried on, and is a new question when it comes back.
  await tasks.handoff(asking)
  await tasks.handoff(handoff())
  await refusal(tasks.handoff(asking))
  expect((await tasks.history('TASK-001'))[0]).toMatchObject({ approvals: [{ by: 'anna', note: 'Yes' }] })
})

test('a question is not got rid of by leaving it out, by other words, or by saying that nobody is needed [S5, S7]', async () => {
  const tasks = await asked()
  for (const blocking_issues of [
    [],
    [{ ...issue, requires_human: false }],
    [{ ...issue, approved_by: 'anna', approved_at: '2026-01-01T00:00:00Z' }],
    [{ ...issue, issue: 'Something harmless', requires_human: false }],
  ]) {
    const error = await refusal(tasks.handoff(handoff({ blocking_issues })))
    expect(error.message).toContain('a person must decide: Delete the old database?')
  }
  expect((await tasks.get('TASK-001')).version).toBe(1)
  expect(await tasks.waitingForPerson('TASK-001')).toHaveLength(1)
})

test('an approval counts for the version that the person saw [S7]', async () => {
  const tasks = await asked()
  expect(await tasks.approve('TASK-001', anna)).toMatchObject({ version: 1 })
  await tasks.handoff(handoff())
  // The task has moved on without it: the same words are another question now.
  const error = await refusal(tasks.handoff(asking))
  expect(error.message).toContain('a person must decide: Delete the old database?')
  expect(error.questions).toMatchObject([{ version: 2 }])
  expect((await tasks.get('TASK-001')).version).toBe(2)
})

test('a whole state cannot drop a question, answer it, or go on in spite of it [S5, S7]', async () => {
  const tasks = await asked()
  const state = { ...(await tasks.get('TASK-001')), version: 2 }
  const saving = (more: object) => tasks.save({ ...state, ...more })
  await expect(saving({})).rejects.toMatchObject({ code: 'refused' })
  await expect(saving({ blocking_issues: [{ ...issue, suggested_action: 'other' }] })).rejects.toMatchObject({
    code: 'refused',
  })
  const selfMade = [{ ...issue, approved_by: 'anna', approved_at: state.handoff_timestamp }]
  await expect(saving({ blocking_issues: selfMade })).rejects.toMatchObject({
    code: 'invalid',
    path: 'blocking_issues[0].approved_by',
  })
  await expect(saving({ blocking_issues: [issue], phase: 'implementing' })).rejects.toMatchObject({ code: 'refused' })
  await expect(saving({ blocking_issues: [issue], target_agent: 'qa' })).rejects.toMatchObject({ code: 'refused' })
  await expect(tasks.create({ ...login, task_id: 'B', blocking_issues: selfMade })).rejects.toMatchObject({
    path: 'blocking_issues[0].approved_by',
  })

  // A state that keeps the question may be saved, and the question is the same one.
  const [question] = await tasks.waitingForPerson('TASK-001')
  await saving({ blocking_issues: [issue], warnings: ['slow'] })
  expect(await tasks.waitingForPerson('TASK-001')).toEqual([question])
  await refusal(tasks.handoff(handoff()))
  await tasks.approve('TASK-001', anna)
  await tasks.handoff(handoff({ phase: 'implementing' }))
  expect((await tasks.get('TASK-001')).blocking_issues).toEqual([])
})

test('a task that is made with a question waits for a person at once [S5, S7]', async () => {
  const { tasks, again } = await project()
  await tasks.create({ ...login, blocking_issues: [issue] })
  const [question] = await tasks.waitingForPerson('TASK-001')
  expect(await (await again()).waitingForPerson('TASK-001')).toEqual([question])
  await refusal(tasks.handoff(handoff()))
  await tasks.withdraw('TASK-001', { ...anna, questions: [question!.id] })
  await tasks.handoff(handoff())
})

test('no agent of the task decides, and nobody without a terminal [S7, D10]', async () => {
  const tasks = await asked()
  for (const by of ['engineer', 'qa', ' ']) {
    await expect(tasks.approve('TASK-001', { ...anna, by })).rejects.toMatchObject({ code: 'invalid', path: 'by' })
  }
  // This test runs without a terminal, or below an agent.
  for (const verb of ['approve', 'reject', 'withdraw'] as const) {
    await expect(tasks[verb]('TASK-001', { by: 'anna' })).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('Only a person can decide this') as string,
    })
  }
  expect(await tasks.waitingForPerson('TASK-001')).toHaveLength(1)
})

test('a no stands in the history, and only a changed proposal is a new question [S5, S7]', async () => {
  const tasks = await asked()
  const [question] = await tasks.waitingForPerson('TASK-001')
  await tasks.reject('TASK-001', { ...anna, note: 'make a backup first' })
  expect(await tasks.waitingForPerson('TASK-001')).toEqual([])
  const repeated = await refusal(tasks.handoff(asking, { force: 'now' }))
  expect(repeated.message).toContain('anna rejected: Delete the old database?, saying "make a backup first"')
  expect(repeated.questions).toEqual([])
  await expect(
    tasks.save({ ...(await tasks.get('TASK-001')), version: 2, blocking_issues: [issue] }),
  ).rejects.toMatchObject({ code: 'refused' })
  const changed = handoff({ blocking_issues: [{ ...issue, suggested_action: 'after a backup' }] })
  expect((await refusal(tasks.handoff(changed))).questions).toMatchObject([{ suggested_action: 'after a backup' }])
  await tasks.approve('TASK-001', { ...anna })
  await tasks.handoff(changed)
  const [first, second] = await tasks.history('TASK-001')
  expect(first).toMatchObject({
    rejections: [{ by: 'anna', note: 'make a backup first', questions: [question!.id] }],
    approvals: [{ by: 'anna' }],
  })
  expect(second).toMatchObject({ version: 2 })
  expect((await tasks.get('TASK-001')).warnings).toEqual([
    'anna rejected: Delete the old database? (make a backup first)',
  ])

  // A person may think again, and names what was rejected.
  await refusal(tasks.handoff(asking))
  await tasks.approve('TASK-001', { ...anna, questions: [question!.id] })
  await tasks.handoff(asking)
})

test('the agent may go on without what a person rejected or withdrew [S5, S7]', async () => {
  const rejected = await asked()
  await rejected.reject('TASK-001', anna)
  await rejected.handoff(handoff())
  expect((await rejected.get('TASK-001')).version).toBe(2)
  const withdrawn = await asked()
  await withdrawn.withdraw('TASK-001', anna)
  // What was withdrawn may be asked again.
  await refusal(withdrawn.handoff(asking))
  await withdrawn.withdraw('TASK-001', anna)
  await withdrawn.handoff(handoff())
  expect((await withdrawn.history('TASK-001'))[0]).toMatchObject({ withdrawals: [{ by: 'anna' }, { by: 'anna' }] })
})

test('of several questions a person decides on those that are named, and on no other [S7]', async () => {
  const tasks = await asked()
  const other = { issue: 'Sell it?', severity: 'high' as const, requires_human: true }
  const both = handoff({ blocking_issues: [issue, other] })
  await refusal(tasks.handoff(both))
  const open = await tasks.waitingForPerson('TASK-001')
  expect(open.map((each) => each.issue)).toEqual([issue.issue, other.issue])
  const unnamed = tasks.approve('TASK-001', anna)
  await expect(unnamed).rejects.toMatchObject({
    path: 'questions',
    message: expect.stringContaining('Sell it?') as string,
  })
  await expect(tasks.approve('TASK-001', { ...anna, questions: ['nope'] })).rejects.toMatchObject({ code: 'not_found' })
  await tasks.approve('TASK-001', { ...anna, questions: [open[0]!.id] })
  expect(await tasks.waitingForPerson('TASK-001')).toEqual([open[1]])
  expect((await refusal(tasks.handoff(both))).message).not.toContain('Delete the old database')
  await tasks.approve('TASK-001', anna)
  await tasks.handoff(both)
})

test('questions that are asked at the same time are all kept [S7, S11]', async () => {
  const { tasks, again } = await project()
  await tasks.create(login)
  const other = await again()
  const ask = (from: Tasks, n: number) =>
    refusal(
      from.handoff(handoff({ blocking_issues: [{ issue: `Question ${n}?`, severity: 'low', requires_human: true }] })),
    )
  await Promise.all([1, 2, 3, 4, 5, 6].map((n) => ask(n % 2 === 0 ? tasks : other, n)))
  const open = await tasks.waitingForPerson('TASK-001')
  expect(open.map((each) => each.issue).sort()).toEqual([1, 2, 3, 4, 5, 6].map((n) => `Question ${n}?`))
})

test('the library brings a question before people, once, and takes it back when it is decided [S7, P6]', async () => {
  const calls: TaskQuestion[] = []
  const settled: [string, PersonDecision['verdict']][] = []
  let problem: Error | undefined
  const people = {
    ask: async (question: TaskQuestion) => {
      calls.push(question)
      if (problem !== undefined) throw problem
      return `e${calls.length}`
    },
    settle: async ({ question }: TaskQuestion, { verdict }: PersonDecision) =>
      void settled.push([question.id, verdict]),
  }
  const { tasks } = await project({}, temporaryFolder(), people)
  await tasks.create(login)
  problem = new Error('the relay is on fire')
  const first = await refusal(tasks.handoff(asking))
  expect(first).toMatchObject({ problem: 'the relay is on fire', questions: [{ issue: issue.issue }] })
  problem = undefined
  const second = await refusal(tasks.handoff(asking))
  expect(second.questions).toMatchObject([{ id: first.questions[0]!.id, escalation: 'e2' }])
  await tasks.reject('TASK-001', anna)
  expect(settled).toEqual([[first.questions[0]!.id, 'rejected']])
})

test('a tape from before there were questions still stops where a person was asked [S7]', async () => {
  const { tasks, folder, again } = await project()
  await tasks.create(login)
  const store = await temporaryStore(path.join(folder, '.baton'))
  const refused = {
    version: 1,
    source_agent: 'engineer',
    target_agent: 'qa',
    phase: 'planning',
    gates: [],
    issues: ['Really?'],
  }
  await store.append('task/TASK-001', [
    { kind: 'event', payload: { name: 'refusal', data: refused }, meta: { key: 'refusal', context: false } },
  ])
  const later = await again()
  await refusal(later.handoff(handoff()))
  const approved = { version: 1, by: 'bo', issues: ['Really?'] }
  await later.approve('TASK-001', anna)
  await store.append('task/TASK-001', [
    { kind: 'event', payload: { name: 'approval', data: approved }, meta: { key: 'approval', context: false } },
  ])
  expect((await later.history('TASK-001'))[0]).toMatchObject({ approvals: [{ by: 'anna' }, { by: 'bo' }] })
  await later.handoff(handoff())
  await store.close()
})
