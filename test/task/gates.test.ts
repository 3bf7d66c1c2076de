import fs from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { openFileStore } from '../../src/store/index.ts'
import { GateError } from '../../src/task/index.ts'
import { isAlive } from '../support/processes.ts'
import { handoff, login, project } from './project.ts'

async function refusal(work: Promise<unknown>): Promise<GateError> {
  const error: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(GateError)
  return error as GateError
}

test('a phase needs its artifacts; the refusal says which, and changes nothing [S7]', async () => {
  const { tasks, write, folder } = await project()
  await tasks.create({ ...login, phase: 'implementing' })
  const error = await refusal(tasks.handoff(handoff({ phase: 'testing' })))
  expect(error).toMatchObject({
    code: 'refused',
    gates: [{ name: 'completeness', ok: true }, { name: 'phase-artifacts' }],
  })
  expect(error.message).toContain('testing needs an artifact of type source')
  expect(await tasks.get('TASK-001')).toMatchObject({ version: 1, phase: 'implementing' })
  write('a.ts', '1')
  await tasks.handoff(handoff({ phase: 'testing', artifacts: [{ path: 'a.ts' }] }))
  expect(await tasks.get('TASK-001')).toMatchObject({
    phase: 'testing',
    quality_gates_passed: ['completeness', 'phase-artifacts'],
    quality_gates_failed: [],
  })
  write('a.test.ts', '1')
  await tasks.handoff(handoff({ phase: 'testing', artifacts: [{ path: 'a.test.ts' }] }))
  fs.rmSync(path.join(folder, 'a.test.ts'))
  await refusal(tasks.handoff(handoff({ phase: 'reviewing' })))
  expect((await tasks.history('TASK-001')).map(({ refusals }) => refusals.length)).toEqual([1, 0, 1])
})

test('a completed task has no open blocker and every file that was promised [S7]', async () => {
  const { tasks, write } = await project({ requires: { completed: [] } })
  await tasks.create({ ...login, phase: 'reviewing', spec: { outputs: ['src/login.ts', 'a working login'] } })
  const blocking_issues = [{ issue: 'It crashes', severity: 'blocker' as const }]
  const error = await refusal(tasks.handoff(handoff({ phase: 'completed', blocking_issues })))
  expect(error.message).toContain('a blocker is open: It crashes')
  expect(error.message).toContain('promises src/login.ts')
  expect(error.message).not.toContain('a working login')
  write('src/login.ts', '1')
  await tasks.handoff(handoff({ phase: 'completed', artifacts: [{ path: 'src/login.ts' }] }))
  expect((await tasks.get('TASK-001')).phase).toBe('completed')
})

test('an issue that requires a person stops the handoff until one approves, and no force helps [S7]', async () => {
  const { tasks } = await project()
  await tasks.create(login)
  const issue = { issue: 'May we store e-mail addresses?', severity: 'blocker' as const, requires_human: true }
  const asking = handoff({ blocking_issues: [issue] })
  await expect(tasks.approve('TASK-001', { by: 'somebody' })).rejects.toMatchObject({ code: 'invalid' })
  const error = await refusal(tasks.handoff(asking, { force: 'no time' }))
  expect(error.message).toContain('a person must decide: May we store e-mail addresses?')
  expect(await tasks.waitingForPerson('TASK-001')).toEqual([issue.issue])
  expect(await tasks.approve('TASK-001', { by: 'somebody', note: 'Yes' })).toEqual({
    version: 1,
    by: 'somebody',
    note: 'Yes',
    issues: [issue.issue],
  })
  expect(await tasks.waitingForPerson('TASK-001')).toEqual([])
  await tasks.handoff(asking)
  const state = await tasks.get('TASK-001')
  expect(state).toMatchObject({ blocking_issues: [{ ...issue, approved_by: 'somebody' }] })
  expect(state.quality_gates_passed).toContain('human-approval')

  // It stays approved as long as it is carried on, and is a new question when it comes back.
  await tasks.handoff(asking)
  await tasks.handoff(handoff())
  await refusal(tasks.handoff(asking))
  await expect(tasks.approve('TASK-001', { by: 'qa' })).rejects.toMatchObject({ code: 'invalid', path: 'by' })
  expect((await tasks.history('TASK-001'))[0]).toMatchObject({ approvals: [{ by: 'somebody', note: 'Yes' }] })
})

test('an issue that waits for a person is not got rid of by leaving it out [S7]', async () => {
  const { tasks } = await project()
  const first = await tasks.create(login)
  const issue = { issue: 'Really?', severity: 'high' as const, suggested_action: '', requires_human: true }
  await tasks.save({ ...first, version: 2, blocking_issues: [issue] })
  await refusal(tasks.handoff(handoff()))
  await tasks.approve('TASK-001', { by: 'somebody' })
  await tasks.handoff(handoff())
  expect((await tasks.get('TASK-001')).blocking_issues).toEqual([])
})

test('an approval counts for the version that the person saw [S7]', async () => {
  const { tasks } = await project()
  await tasks.create(login)
  const asking = handoff({ blocking_issues: [{ issue: 'Really?', severity: 'high', requires_human: true }] })
  await refusal(tasks.handoff(asking))
  await tasks.approve('TASK-001', { by: 'somebody' })
  await tasks.handoff(handoff())
  expect((await refusal(tasks.handoff(asking))).message).toContain('a person must decide: Really?')
})

test('a command gate keeps its output, and its result lands in the state [S7]', async () => {
  const run = 'echo "$BATON_TASK goes to $BATON_PHASE"; echo oops >&2; test -e ok'
  const { tasks, write, folder } = await project({
    gates: [
      { name: 'tests', run },
      { name: 'style', run: 'exit 3', required: false },
      { name: 'later', run: 'exit 1', phases: ['completed'] },
    ],
  })
  await tasks.create(login)
  const error = await refusal(tasks.handoff(handoff()))
  const [, tests, style] = error.gates
  expect(tests).toMatchObject({ name: 'tests', ok: false })
  expect(tests!.missing[0]).toContain(`ended with exit code 1; its output: baton show blob:${tests!.output!.sha256}`)
  expect(style).toMatchObject({ name: 'style', ok: false, required: false })
  const store = await openFileStore(path.join(folder, '.baton'))
  expect(await text(await store.getBlob(tests!.output!.sha256))).toBe('TASK-001 goes to planning\noops\n')
  await store.close()

  expect(await tasks.prepare(handoff())).toMatchObject({ ok: false })
  write('ok', '')
  expect(await tasks.prepare(handoff())).toMatchObject({ ok: true, command: { state_delta: { version: 2 } } })
  expect((await tasks.get('TASK-001')).version).toBe(1)
  await tasks.handoff(handoff())
  expect(await tasks.get('TASK-001')).toMatchObject({
    quality_gates_passed: ['completeness', 'tests'],
    quality_gates_failed: ['style'],
  })
  expect((await tasks.history('TASK-001'))[1]!.gates).toMatchObject([
    { name: 'completeness' },
    { name: 'tests' },
    { name: 'style' },
  ])
})

test('a forced handoff goes through, with its reason on record [S7]', async () => {
  const { tasks } = await project({ gates: [{ name: 'tests', run: 'false' }] })
  await tasks.create(login)
  await expect(tasks.handoff(handoff(), { force: ' ' })).rejects.toMatchObject({ code: 'invalid' })
  await tasks.handoff(handoff(), { force: 'flaky on CI' })
  expect(await tasks.get('TASK-001')).toMatchObject({
    version: 2,
    quality_gates_failed: ['tests'],
    warnings: ['engineer went on to planning although tests failed: flaky on CI'],
  })
  expect((await tasks.history('TASK-001'))[1]).toMatchObject({ forced: 'flaky on CI' })
})

test('a command that hangs is stopped in time, with everything that it started [S7]', async () => {
  const { tasks, folder } = await project({
    gates: [
      {
        name: 'slow',
        run: 'sleep 1000 & echo $! > pids; setsid sleep 1000 & echo $! >> pids; wait',
        timeout_seconds: 0.5,
      },
    ],
  })
  await tasks.create(login)
  const error = await refusal(tasks.handoff(handoff()))
  expect(error.message).toContain('was stopped after 0.5 s')
  const pids = fs.readFileSync(path.join(folder, 'pids'), 'utf8').trim().split('\n').map(Number)
  expect(pids).toHaveLength(2)
  await expect.poll(() => pids.filter(isAlive)).toEqual([])
})

test('what a command leaves behind is stopped too, and a cancelled handoff stops its command [S7]', async () => {
  const { tasks, folder } = await project({
    gates: [{ name: 'left', run: 'sleep 1000 & echo $! > pid; test "$BATON_WAIT" != 1 || wait' }],
  })
  const pid = () => Number(fs.readFileSync(path.join(folder, 'pid'), 'utf8'))
  await tasks.create(login)
  await tasks.handoff(handoff())
  await expect.poll(() => isAlive(pid())).toBe(false)
  fs.rmSync(path.join(folder, 'pid'))
  process.env['BATON_WAIT'] = '1'
  const stop = new AbortController()
  const cancelled = tasks.handoff(handoff(), { signal: stop.signal })
  await expect.poll(() => fs.existsSync(path.join(folder, 'pid')) && pid() > 0).toBe(true)
  stop.abort()
  await expect(cancelled).rejects.toMatchObject({ code: 'cancelled' })
  delete process.env['BATON_WAIT']
  await expect.poll(() => isAlive(pid())).toBe(false)
  expect((await tasks.get('TASK-001')).version).toBe(2)
})
