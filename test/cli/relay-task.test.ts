import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/workspace.ts'
import { baton, records, type Run } from './cli.ts'

const blocker = JSON.stringify({ issue: 'Drop the users table?', severity: 'high', requires_human: true })
const handing = ['handoff', 'T1', '--from', 'planner', '--to', 'engineer', '--phase', 'implementing']

async function place(agents: object) {
  const cwd = fs.realpathSync(temporaryFolder())
  fs.mkdirSync(path.join(cwd, '.baton'))
  fs.writeFileSync(path.join(cwd, 'baton.config.json'), JSON.stringify({ relay: { agents } }))
  const task = (...args: string[]): Promise<Run> => baton(cwd, ['task', ...args])
  const escalations = (...args: string[]): Promise<Run> => baton(cwd, ['escalations', ...args])
  await task('new', 'T1', '--title', 'Migrate')
  return { task, escalations, open: async () => records(await escalations('ls', '--json')) }
}

test('a task that waits for a person is an escalation, and its answer is the approval [P6, S7]', async () => {
  const { task, escalations, open } = await place({ planner: {}, engineer: {} })
  const stopped = await task(...handing, '--blocker', blocker)
  expect(stopped.code).toBe(1)
  const id = /A person is asked: baton escalations show (e\d+)/.exec(stopped.err)![1]!
  expect(stopped.err).toContain('T1 was not handed to engineer')
  // Tried again, it is the same question.
  expect(JSON.parse((await task(...handing, '--blocker', blocker, '--json')).err)).toMatchObject({
    error: { code: 'refused', escalation: id },
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

test('a no approves nothing, and neither does a yes to a version that has passed [P6, S7]', async () => {
  const { task, escalations, open } = await place({ planner: {}, engineer: {} })
  await task(...handing, '--blocker', blocker)
  const [first] = await open()
  expect((await escalations('answer', String(first!.id), '--input', 'approved=false')).code).toBe(0)
  expect((await task(...handing, '--blocker', blocker)).code).toBe(1)

  const other = JSON.stringify({ issue: 'Sell it?', severity: 'high', requires_human: true })
  await task(...handing, '--blocker', other)
  const [second] = await open()
  expect((await task(...handing)).code).toBe(0)
  const late = await escalations('answer', String(second!.id), '--input', 'approved=true')
  expect(late.code).toBe(3)
  expect(late.err).toContain('T1 was at version 1 when this was asked, and is at 2 now')
})

test('task approve settles the question, and a project without a relay is asked as before [P6, S7]', async () => {
  const { task, open } = await place({ planner: {}, engineer: {} })
  await task(...handing, '--blocker', blocker)
  expect(await open()).toHaveLength(1)
  expect((await task('approve', 'T1', '--by', 'anna')).code).toBe(0)
  expect(await open()).toEqual([])

  const alone = await place({})
  const stopped = await alone.task(...handing, '--blocker', blocker)
  expect(stopped.code).toBe(1)
  expect(stopped.err).not.toContain('A person is asked')
  expect(stopped.err).toContain('baton task approve T1')
})
