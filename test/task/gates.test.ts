import fs from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { isAlive } from '../support/processes.ts'
import { handoff, login, project, refusal } from './project.ts'
import { temporaryStore } from '../support/workspace.ts'

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

test('a completed task has no open blocker and every file that was promised, of whatever name [S7]', async () => {
  const { tasks, write, folder } = await project({ requires: { completed: [] } })
  const outputs = ['src/login.ts', 'Makefile', 'docs/', 'src/my file.ts', { name: 'a working login' }]
  await tasks.create({ ...login, phase: 'reviewing', spec: { outputs: [...outputs, '../elsewhere'] } })
  const blocking_issues = [{ issue: 'It crashes', severity: 'blocker' as const }]
  write('Makefile', 'all:')
  const error = await refusal(tasks.handoff(handoff({ phase: 'completed', blocking_issues })))
  expect(error.gates[0]!.missing).toEqual([
    'a blocker is open: It crashes',
    'the specification promises src/login.ts, and there is no such file',
    'the specification promises Makefile, which nobody has handed over (--artifact)',
    'the specification promises docs/, and there is no such file',
    expect.stringContaining('the specification promises src/my file.ts, and there is no such file'),
    'the specification promises ../elsewhere, which lies outside the project',
  ])
  const files = ['src/login.ts', 'Makefile', 'docs/use.md', 'src/my file.ts']
  for (const file of files) write(file, '1')
  const artifacts = files.map((file) => ({ path: file }))
  await tasks.handoff(handoff({ phase: 'reviewing', artifacts, spec: { outputs } }))
  // A file that was handed over, and deleted since, is not there.
  fs.rmSync(path.join(folder, 'Makefile'))
  const gone = handoff({ phase: 'completed', waivers: [{ path: 'Makefile', reason: 'nobody needs it' }] })
  expect((await refusal(tasks.handoff(gone))).message).toContain('promises Makefile, and there is no such file')
  write('Makefile', '1')
  await tasks.handoff(handoff({ phase: 'completed' }))
  expect((await tasks.get('TASK-001')).phase).toBe('completed')
})

test('work is handed on with the files that it starts from, and reviewed with those that were promised [S7]', async () => {
  const { tasks, write } = await project({ requires: { testing: [], reviewing: [] } })
  const spec = { inputs: ['the idea', { name: 'plan', path: 'plan.md' }], outputs: ['a.ts'] }
  await tasks.create({ ...login, spec })
  const error = await refusal(tasks.handoff(handoff({ phase: 'implementing' })))
  expect(error.message).toContain('the specification starts from plan.md, and there is no such file')
  write('plan.md', '')
  await tasks.handoff(handoff({ phase: 'implementing' }))
  await tasks.handoff(handoff({ phase: 'testing' }))
  expect((await refusal(tasks.handoff(handoff({ phase: 'reviewing' })))).message).toContain('promises a.ts')
  write('a.ts', '')
  await tasks.handoff(handoff({ phase: 'reviewing', artifacts: [{ path: 'a.ts' }] }))
})

test('an artifact that has changed stops a handoff until it is handed over, removed or waived [S6, S7]', async () => {
  const { tasks, write, folder, again } = await project()
  await tasks.create(login)
  for (const file of ['a.ts', 'b.ts', 'c.ts']) write(file, '1')
  const artifacts = ['a.ts', 'b.ts', 'c.ts'].map((file) => ({ path: file }))
  await tasks.handoff(handoff({ artifacts }))
  write('a.ts', '2')
  fs.rmSync(path.join(folder, 'b.ts'))
  write('c.ts', '3')
  const error = await refusal(tasks.handoff(handoff({ artifacts: [{ path: 'c.ts' }] })))
  expect(error.gates).toMatchObject([
    { name: 'completeness', ok: true },
    {
      name: 'artifact-drift',
      ok: false,
      missing: [
        'a.ts has changed since it was handed over (--artifact a.ts, or --waive "a.ts=REASON")',
        'b.ts is gone since it was handed over (--remove b.ts, or --waive "b.ts=REASON")',
      ],
    },
  ])
  const waivers = [{ path: 'c.ts', reason: 'why not' }]
  await expect(tasks.handoff(handoff({ artifacts: [{ path: 'c.ts' }], waivers }))).rejects.toMatchObject({
    code: 'invalid',
    path: 'waivers[0].path',
  })
  const waived = { waivers: [{ path: 'a.ts', reason: 'only a comment' }], artifacts_removed: ['b.ts'] }
  await tasks.handoff(handoff({ ...waived, artifacts: [{ path: 'c.ts' }] }))
  const state = await tasks.get('TASK-001')
  expect(state).toMatchObject({
    warnings: ['engineer waived a.ts: only a comment'],
    artifact_waivers: [{ path: 'a.ts', reason: 'only a comment', agent: 'engineer', content_hash: expect.any(String) }],
    quality_gates_passed: ['completeness', 'artifact-drift'],
  })
  // It is waived as it is now: another change is another matter, also for another process.
  await tasks.handoff(handoff())
  write('a.ts', '4')
  await refusal((await again()).handoff(handoff()))
  await tasks.handoff(handoff({ artifacts: [{ path: 'a.ts' }] }))
  expect((await tasks.get('TASK-001')).artifact_waivers).toEqual([])
})

test('a task is completed after all it depends on, and where criteria gate, with evidence for each [S7, S9]', async () => {
  const { tasks } = await project({ phases: { planning: ['completed'] }, success_criteria: ['completed'] })
  const spec = { dependencies: ['A', 'never made'], success_criteria: ['a wrong password is refused'] }
  await tasks.create({ ...login, spec })
  await tasks.create({ task_id: 'A', task_title: 'First' })
  const error = await refusal(tasks.handoff(handoff({ phase: 'completed' })))
  expect(error.message).toContain('dependencies: it depends on A, which is in planning')
  expect(error.message).toContain('it depends on never made, and there is no such task')
  expect(error.message).toContain('nobody has shown that this is met: a wrong password is refused')
  await tasks.handoff(handoff({ task_id: 'A', phase: 'completed' }))
  const wrong = [{ criterion: 'it flies', evidence: 'look' }]
  await expect(tasks.handoff(handoff({ criteria_met: wrong }))).rejects.toMatchObject({
    path: 'criteria_met[0].criterion',
  })
  const met = [{ criterion: 'a wrong password is refused', evidence: 'login.test.ts' }]
  await tasks.handoff(handoff({ criteria_met: met, spec: { ...spec, dependencies: ['A'] } }))
  await tasks.handoff(handoff({ phase: 'completed' }))
  expect(await tasks.get('TASK-001')).toMatchObject({
    criteria_met: [{ ...met[0], agent: 'engineer' }],
    quality_gates_passed: ['completeness', 'phase-artifacts', 'dependencies', 'success-criteria'],
  })
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
  const store = await temporaryStore(path.join(folder, '.baton'))
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
  expect((await tasks.history('TASK-001'))[1]).toMatchObject({
    gates: [{ name: 'completeness' }, { name: 'tests' }, { name: 'style' }],
  })
})

test('what a handoff takes out of the specification, so that no gate asks for it, is in the warnings [S7] [S9]', async () => {
  const { tasks } = await project()
  const spec = {
    inputs: ['brief'],
    outputs: [{ name: 'a login' }],
    dependencies: ['OTHER'],
    success_criteria: ['fast'],
  }
  await tasks.create({ ...login, phase: 'reviewing', spec })
  await expect(tasks.handoff(handoff({ phase: 'completed' }))).rejects.toThrow('depends on OTHER')
  await tasks.handoff(handoff({ phase: 'completed', spec: { inputs: ['brief'], outputs: ['x'], dependencies: [] } }), {
    force: 'moved',
  })
  expect((await tasks.get('TASK-001')).warnings.at(-1)).toBe(
    'engineer took out of the specification: output a login, dependency OTHER, success criterion fast',
  )
})

test('a forced handoff goes through, with its reason on record [S7]', async () => {
  const { tasks } = await project({ gates: [{ name: 'tests', run: 'false' }] })
  await tasks.create(login)
  await expect(tasks.handoff(handoff(), { force: ' ' })).rejects.toMatchObject({ code: 'invalid' })
  await tasks.handoff(handoff(), { force: 'flaky on CI' })
  expect(await tasks.get('TASK-001')).toMatchObject({
    version: 2,
    quality_gates_failed: ['tests'],
    warnings: ['engineer moved on to planning although tests failed: flaky on CI'],
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
