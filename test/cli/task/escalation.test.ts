import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../support/workspace.ts'
import { run } from '../../../src/cli/program.ts'
import { openRelay, relaySection } from '../../../src/relay/index.ts'
import { openFileStore } from '../../../src/store/index.ts'
import { openTasks } from '../../../src/task/index.ts'
import { baton, ioOf, records, type Run } from '../cli.ts'

const blocker = JSON.stringify({ issue: 'Drop the users table?', severity: 'high', requires_human: true })
const handing = ['handoff', 'T1', '--from', 'planner', '--to', 'engineer', '--phase', 'implementing']

async function place(agents: object) {
  const cwd = fs.realpathSync(temporaryFolder())
  fs.mkdirSync(path.join(cwd, '.baton'))
  fs.writeFileSync(path.join(cwd, 'baton.config.json'), JSON.stringify({ relay: { agents } }))
  const task = (...args: string[]): Promise<Run> => baton(cwd, ['task', ...args])
  const escalations = (...args: string[]): Promise<Run> => baton(cwd, ['escalations', ...args])
  await task('new', 'T1', '--title', 'Migrate')
  const relay = (...args: string[]): Promise<Run> => baton(cwd, ['relay', ...args])
  return { cwd, task, escalations, relay, open: async () => records(await escalations('ls', '--json')) }
}

async function waiting(task: (...args: string[]) => Promise<Run>): Promise<{ id: string }[]> {
  const [shown] = records(await task('show', 'T1', '--json'))
  return shown!.waiting_for_person as { id: string }[]
}

test('a task that waits for a person is an escalation, and its answer is the approval [P6, S7]', async () => {
  const { task, escalations, open } = await place({ planner: {}, engineer: {} })
  const stopped = await task(...handing, '--blocker', blocker)
  expect(stopped.code).toBe(1)
  const id = /A person is asked: baton escalations show (e\d+)/.exec(stopped.err)![1]!
  expect(stopped.err).toContain('T1 was not handed to engineer')
  // Tried again, it is the same question.
  expect(JSON.parse((await task(...handing, '--blocker', blocker, '--json')).err)).toMatchObject({
    error: { code: 'refused', questions: [{ issue: 'Drop the users table?', escalation: id }] },
  })
  expect(await open()).toMatchObject([
    { id, from: 'planner', priority: 'high', reasonDetail: 'May T1 go to engineer?', missing: [{ key: 'approved' }] },
  ])
  expect((await escalations('show', id)).out).toContain('Drop the users table?')
  const answered = await escalations('answer', id, '--input', 'approved=true', '--by', 'anna', '--reason', 'backed up')
  expect(answered.code).toBe(0)
  expect(records(await task('history', 'T1', '--json'))).toMatchObject([
    { version: 1, approvals: [{ by: 'anna', note: 'backed up' }] },
  ])
  expect((await task(...handing, '--blocker', blocker)).code).toBe(0)
  expect(await open()).toEqual([])
})

test('the question of a task cannot be cancelled as a request of an agent can: it stays until a person decides [P6, S7]', async () => {
  const { task, relay, open } = await place({ planner: {}, engineer: {} })
  await task(...handing, '--blocker', blocker)
  const [asked] = await open()
  const cancelled = await relay('cancel', String(asked!.requestId), '--by', 'planner', '--reason', 'not needed')
  expect(cancelled.code).not.toBe(0)
  expect(cancelled.err).toContain('only a person can withdraw the question')
  expect(cancelled.err).toContain('baton task withdraw T1')
  expect(await open()).toMatchObject([{ id: asked!.id }])
  expect((await task('withdraw', 'T1', '--by', 'anna')).code).toBe(0)
  expect(await open()).toEqual([])
})

test('a no is the decision, and a changed proposal is a new question [P6, S7]', async () => {
  const { task, escalations, open } = await place({ planner: {}, engineer: {} })
  await task(...handing, '--blocker', blocker)
  const [first] = await open()
  const no = await escalations(
    'answer',
    String(first!.id),
    '--input',
    'approved=false',
    '--by',
    'anna',
    '--reason',
    'no',
  )
  expect(no.code).toBe(0)
  const repeated = await task(...handing, '--blocker', blocker)
  expect(repeated.code).toBe(1)
  expect(repeated.err).toContain('anna rejected: Drop the users table?, saying "no"')
  expect(await open()).toEqual([])
  expect((await task('history', 'T1')).out).toContain('rejected by anna: no')

  const changed = JSON.stringify({ ...(JSON.parse(blocker) as object), suggested_action: 'after a backup' })
  await task(...handing, '--blocker', changed)
  const [second] = await open()
  expect((await escalations('show', String(second!.id))).out).toContain('Drop the users table? (after a backup)')
  await escalations('answer', String(second!.id), '--input', 'approved=true', '--by', 'anna')
  expect((await task(...handing, '--blocker', changed)).code).toBe(0)
  expect((await task('show', 'T1', '--full')).out).toContain('anna rejected: Drop the users table? (no)')
})

test('an answer to a question that was decided elsewhere is a conflict [P6, S7]', async () => {
  const { cwd, task, escalations, open } = await place({ planner: {}, engineer: {} })
  await task(...handing, '--blocker', blocker)
  const [asked] = await open()
  const tasks = await openTasks({ cwd, address: path.join(cwd, '.baton') })
  await tasks.withdraw('T1', { by: 'anna', person: { via: 'terminal', where: 'pts/7' } })
  await tasks.close()
  const late = await escalations('answer', String(asked!.id), '--input', 'approved=true', '--by', 'bo')
  expect(late.code).toBe(3)
  expect(late.err).toContain('This question of T1 is not open any more')
  expect((await escalations('answer', String(asked!.id), '--status', 'failed', '--reason', 'done')).code).toBe(0)
})

test('task approve, reject and withdraw settle the question [P6, S7]', async () => {
  for (const verb of ['approve', 'reject', 'withdraw']) {
    const { task, open } = await place({ planner: {}, engineer: {} })
    await task(...handing, '--blocker', blocker)
    expect(await open()).toHaveLength(1)
    expect((await task(verb, 'T1', '--by', 'anna')).code).toBe(0)
    expect(await open()).toEqual([])
    expect((await task(...handing)).code).toBe(0)
  }
})

test('an answer that no door has checked decides nothing, and the question is asked again [P6, S7, D10]', async () => {
  const { cwd, task, open } = await place({ planner: {}, engineer: {} })
  await task(...handing, '--blocker', blocker)
  const [asked] = await open()
  const store = await openFileStore(path.join(cwd, '.baton'))
  const relay = await openRelay({ store, settings: relaySection.parse({ agents: { planner: {}, engineer: {} } }) })
  await relay.escalations.answer(String(asked!.id), { approved: true }, { by: 'planner' })
  await relay.close()
  await store.close()
  expect((await task(...handing, '--blocker', blocker)).code).toBe(1)
  expect(await open()).toMatchObject([{ from: 'planner', missing: [{ key: 'approved' }] }])
})

test('an agent decides nothing: neither on the task, nor by answering what it asked a person [S7, D10]', async () => {
  const { cwd, task, open } = await place({ planner: {}, engineer: {} })
  await task(...handing, '--blocker', blocker)
  const [asked] = await open()
  for (const command of [
    ['task', 'approve', 'T1', '--by', 'anna'],
    ['task', 'reject', 'T1', '--by', 'anna'],
    ['task', 'withdraw', 'T1', '--by', 'anna'],
    ['escalations', 'answer', String(asked!.id), '--input', 'approved=true', '--by', 'anna'],
    ['relay', 'answer', String(asked!.requestId), '--status', 'resolved', '--input', 'approved=true'],
  ]) {
    const { person: _person, ...io } = ioOf(cwd)
    expect(await run(command, io)).toBe(1)
    expect(io.stderr.text).toContain('Only a person can decide this')
  }
  expect(await open()).toHaveLength(1)
})

test('a person who answers something else decides nothing, whatever task it claims to be about [S7, D10]', async () => {
  const { task, open, escalations, relay } = await place({ planner: {}, engineer: {} })
  await task(...handing, '--blocker', blocker)
  const [asked] = await open()
  const [question] = await waiting(task)
  const harmless = [
    ['--from', 'planner', '--to', 'human', '--reason', 'requires_human_decision', '--detail', 'Tabs or spaces?'],
    ['--summary', 'Tabs?', '--missing', 'approved:boolean:tabs', '--document', 'task', '--step', '1', '--attempt', '7'],
    ['--output', 'task_id="T1"', '--output', `question="${question!.id}"`, '--output', 'version=1'],
  ].flat()
  const forged = ['task:tabs.1', `task:${question!.id}.7`]
  for (const id of forged) {
    expect((await relay('request', '--request-id', id, ...harmless)).code).toBe(0)
    const { id: escalation } = (await open()).find(({ requestId }) => requestId === id)!
    const answered = await escalations('answer', String(escalation), '--input', 'approved=true', '--by', 'anna')
    expect(answered.code).toBe(1)
    expect(answered.err).toContain('does not ask what T1 asks: Drop the users table?')
  }
  // Neither does a mistake in the answer to the real one.
  for (const input of ['approved="yes"', 'aproved=true'])
    expect((await escalations('answer', String(asked!.id), '--input', input, '--by', 'anna')).code).toBe(2)
  expect(await waiting(task)).toHaveLength(1)
  expect((await task(...handing)).code).toBe(1)

  expect((await task('approve', 'T1', '--by', 'anna')).code).toBe(0)
  expect((await open()).map(({ requestId }) => requestId)).toEqual(forged)
  expect((await task(...handing)).code).toBe(0)
})

test('a question reaches people also if somebody has taken its id [S7, P6]', async () => {
  const first = await place({ planner: {}, engineer: {} })
  await first.task(...handing, '--blocker', blocker)
  const [asked] = await first.open()
  const { task, open, relay } = await place({ planner: {}, engineer: {} })
  const taking = ['--request-id', String(asked!.requestId), '--from', 'planner', '--to', 'human', '--summary', 'Hello']
  await relay('request', ...taking, '--reason', 'missing_required_input', '--detail', 'Hello')
  expect(await open()).toHaveLength(1)
  expect((await task(...handing, '--blocker', blocker)).err).toContain('A person is asked')
  expect(await open()).toMatchObject([{ reasonDetail: 'May T1 go to engineer?' }, { reasonDetail: 'Hello' }])
})

test('a project without a relay is asked as before [P6, S7]', async () => {
  // No configuration at all, and one whose relay does not know the agent.
  for (const agents of [undefined, { writer: {} }]) {
    const { cwd, task, open } = await place(agents ?? {})
    if (agents === undefined) fs.rmSync(path.join(cwd, 'baton.config.json'))
    const stopped = await task(...handing, '--blocker', blocker)
    expect(stopped.code).toBe(1)
    expect(stopped.err).toContain('baton task approve T1')
    if (agents !== undefined) expect(await open()).toEqual([])
    expect((await task('approve', 'T1', '--by', 'anna')).code).toBe(0)
    expect((await task(...handing, '--tokens', '1200,300')).code).toBe(0)
    expect(await open()).toEqual([])
  }
})
