import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { taskSchema } from '../../src/task/index.ts'
import { collect, temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { isFull } from '../support/full.ts'
import { handoff, login, project } from './project.ts'

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

test('a new task has every field of the state, at version 1 [S1]', async () => {
  const { tasks } = await project()
  const state = await tasks.create(login)
  expect(Object.keys(state)).toEqual([
    'task_id',
    'task_title',
    'phase',
    'previous_phase',
    'phase_started_at',
    'artifacts',
    'context_summary',
    'decisions_made',
    'blocking_issues',
    'warnings',
    'quality_gates_passed',
    'quality_gates_failed',
    'source_agent',
    'target_agent',
    'handoff_timestamp',
    'version',
  ])
  expect(state).toMatchObject({ ...login, phase: 'planning', previous_phase: null, version: 1 })
  expect(await tasks.get('TASK-001')).toEqual(state)
  await expect(tasks.create(login)).rejects.toMatchObject({ code: 'conflict', actual: 1 })
})

test('the schemas are there as JSON Schema, with the enums and every field [S1]', () => {
  const state = taskSchema('state') as { required: string[]; properties: Record<string, Record<string, unknown>> }
  expect(state.required).toContain('quality_gates_failed')
  expect(state.properties['phase']).toMatchObject({
    enum: ['planning', 'implementing', 'testing', 'reviewing', 'completed'],
  })
  expect(JSON.stringify(state.properties['artifacts'])).toContain('["source","test","config","doc"]')
  expect(JSON.stringify(state.properties['blocking_issues'])).toContain('["blocker","high","medium","low"]')
  expect(Object.keys((taskSchema('command') as typeof state).properties)).toEqual([
    'task_id',
    'target_agent',
    'phase',
    'state_delta',
    'context_summary',
    'state_file',
    'state_file_problem',
  ])
  expect((taskSchema('handoff') as typeof state).required).toEqual(['task_id', 'source_agent', 'target_agent', 'phase'])
})

test('a handoff adds artifacts and decisions, replaces blocking issues and returns the command [S5]', async () => {
  const { tasks, write } = await project()
  await tasks.create(login)
  write('src/login.ts', 'one')
  const issue = { issue: 'No limit on attempts', severity: 'high' as const, suggested_action: 'Add one' }
  const first = await tasks.handoff(
    handoff({
      phase: 'implementing',
      artifacts: [{ path: 'src/login.ts' }],
      decisions: [{ decision: 'JWT', rationale: 'Stateless', alternatives: ['Sessions'] }],
      blocking_issues: [issue],
    }),
  )
  expect(first).toMatchObject({
    task_id: 'TASK-001',
    target_agent: 'qa',
    phase: 'implementing',
    state_delta: { version: 2, artifacts_added: 1, decisions_made: 1, blocking_issues: 1 },
  })
  expect(first.context_summary.endsWith(`State file: ${first.state_file}`)).toBe(true)
  expect(JSON.parse(fs.readFileSync(first.state_file, 'utf8'))).toEqual(await tasks.get('TASK-001'))

  write('test/login.test.ts', 'two')
  await tasks.handoff(handoff({ phase: 'testing', artifacts: [{ path: 'test/login.test.ts' }] }))
  const state = await tasks.get('TASK-001')
  expect(state).toMatchObject({
    version: 3,
    phase: 'testing',
    previous_phase: 'implementing',
    source_agent: 'engineer',
    target_agent: 'qa',
    blocking_issues: [],
    artifacts: [
      { path: 'src/login.ts', artifact_type: 'source', content_hash: hashOf('one'), size_bytes: 3 },
      { path: 'test/login.test.ts', artifact_type: 'test', content_hash: hashOf('two'), size_bytes: 3 },
    ],
    decisions_made: [{ decision: 'JWT', rationale: 'Stateless', agent: 'engineer', alternatives: ['Sessions'] }],
  })
  expect(Object.keys(state.decisions_made[0]!)).toEqual(['decision', 'rationale', 'timestamp', 'agent', 'alternatives'])
})

test('a file handed over again takes the place of its earlier self; one that is gone can be removed [S5]', async () => {
  const { tasks, write } = await project()
  await tasks.create(login)
  write('a.ts', '1')
  write('b.ts', '1')
  await tasks.handoff(handoff({ artifacts: [{ path: 'a.ts' }, { path: './b.ts' }] }))
  write('a.ts', '2')
  await tasks.handoff(handoff({ artifacts: [{ path: 'a.ts' }] }))
  const { artifacts } = await tasks.get('TASK-001')
  expect(artifacts.map((each) => [each.path, each.content_hash])).toEqual([
    ['a.ts', hashOf('2')],
    ['b.ts', hashOf('1')],
  ])
  await tasks.handoff(handoff({ artifacts_removed: ['a.ts'] }))
  expect((await tasks.get('TASK-001')).artifacts).toMatchObject([{ path: 'b.ts' }])
  await expect(tasks.handoff(handoff({ artifacts_removed: ['a.ts'] }))).rejects.toMatchObject({ code: 'invalid' })
})

test('fields that nobody knows are kept, in the state and in its parts [S1]', async () => {
  const { tasks, write, again } = await project()
  await tasks.create({ ...login, tracker: { id: 7 } })
  write('a.ts', '1')
  await tasks.handoff(
    handoff({
      mood: 'good',
      artifacts: [{ path: 'a.ts', lines: 1 }],
      decisions: [{ decision: 'A', rationale: 'B', cost: 3 }],
      blocking_issues: [{ issue: 'C', severity: 'low', link: 'x' }],
    }),
  )
  expect(await (await again()).get('TASK-001')).toMatchObject({
    tracker: { id: 7 },
    mood: 'good',
    artifacts: [{ lines: 1 }],
    decisions_made: [{ cost: 3 }],
    blocking_issues: [{ link: 'x' }],
  })
  await expect(tasks.handoff(handoff({ version: 9 }))).rejects.toMatchObject({ code: 'invalid', path: 'version' })
})

test('what is received is checked against the files: changed, missing and new ones are listed [S6]', async () => {
  const { tasks, write, folder } = await project()
  await tasks.create(login)
  for (const name of ['same', 'longer', 'other', 'gone']) write(`src/${name}.ts`, 'text')
  write('src/old.ts', 'was there before')
  fs.utimesSync(path.join(folder, 'src/old.ts'), 1, 1)
  const artifacts = ['same', 'longer', 'other', 'gone'].map((name) => ({ path: `src/${name}.ts` }))
  const command = await tasks.handoff(handoff({ artifacts }))
  expect((await tasks.receive(command)).drift).toEqual({ changed: [], missing: [], new: [] })
  write('src/longer.ts', 'longer text')
  write('src/other.ts', 'TEXT')
  fs.rmSync(path.join(folder, 'src/gone.ts'))
  write('src/new.ts', 'new')
  const later = new Date(Date.now() + 1_000)
  fs.utimesSync(path.join(folder, 'src/new.ts'), later, later)
  const received = await tasks.receive('TASK-001')
  expect(received.drift).toEqual({
    changed: ['src/longer.ts', 'src/other.ts'],
    missing: ['src/gone.ts'],
    new: ['src/new.ts'],
  })
  expect(received).toMatchObject({ state: { version: 2 }, state_file: command.state_file })
  await expect(tasks.receive('TASK-002')).rejects.toMatchObject({ code: 'not_found', nearest: ['TASK-001'] })
})

test('history, the state at any version and the difference between two [S10]', async () => {
  const { tasks, write, again } = await project()
  const states = [await tasks.create(login)]
  for (let i = 1; i <= 60; i++) {
    write(`src/part-${i % 20}.ts`, `text ${i}`)
    await tasks.handoff(
      handoff({
        source_agent: `agent-${i}`,
        artifacts: [{ path: `src/part-${i % 20}.ts` }],
        decisions: [{ decision: `Decision ${i}`, rationale: 'because '.repeat(40) }],
        blocking_issues: i % 3 === 0 ? [{ issue: `Issue ${i}`, severity: 'low' }] : [],
      }),
    )
    states.push(await tasks.get('TASK-001'))
  }
  const other = await again()
  for (const state of states) expect(await other.at('TASK-001', state.version)).toEqual(state)
  const history = await other.history('TASK-001')
  expect(history.map(({ version }) => version)).toEqual(states.map(({ version }) => version))
  expect(history[30]).toMatchObject({ source_agent: 'agent-30', target_agent: 'qa', artifacts_added: 1 })
  expect(await other.diff('TASK-001', 30, 31)).toMatchObject({
    from: 30,
    to: 31,
    fields: { source_agent: { from: 'agent-29', to: 'agent-30' } },
    artifacts: { added: [], changed: [{ to: { path: 'src/part-10.ts' } }], removed: [] },
    decisions_made: { added: [{ decision: 'Decision 30' }], removed: [] },
    blocking_issues: { added: [{ issue: 'Issue 30' }], removed: [] },
  })
  for (const version of [0, 62, 1.5]) {
    await expect(other.at('TASK-001', version)).rejects.toMatchObject({ code: 'not_found' })
  }
})

test('a stale, an equal and a future version are refused, each naming both versions [S4]', async () => {
  const { tasks } = await project()
  const first = await tasks.create(login)
  const second = await tasks.save({ ...first, version: 2, warnings: ['careful'] })
  expect(await tasks.get('TASK-001')).toEqual(second)
  for (const version of [1, 2]) {
    await expect(tasks.save({ ...second, version })).rejects.toMatchObject({
      code: 'conflict',
      actual: 2,
      message: `Task TASK-001 is at version 2, so version ${version} cannot be saved`,
    })
  }
  await expect(tasks.save({ ...second, version: 4 })).rejects.toMatchObject({ code: 'invalid', path: 'version' })
  await expect(tasks.handoff(handoff(), { expect: 1 })).rejects.toMatchObject({
    code: 'conflict',
    expected: 1,
    actual: 2,
    message: 'Task TASK-001 is at version 2, this was made from version 1',
  })
  await expect(tasks.handoff(handoff(), { expect: 9 })).rejects.toMatchObject({ code: 'invalid' })
  expect((await tasks.handoff(handoff(), { expect: 2 })).state_delta.version).toBe(3)
})

test('bad input is named by its path, and nothing is written', async () => {
  const { tasks, write, folder } = await project()
  await tasks.create(login)
  fs.symlinkSync('/etc/hosts', path.join(folder, 'link.ts'))
  write('dir/file.ts', 'x')
  const cases: [object, string][] = [
    [{ source_agent: undefined }, 'source_agent is missing'],
    [
      { phase: 'dreaming' },
      'phase must be one of planning, implementing, testing, reviewing, completed, not "dreaming"',
    ],
    [{ phase: 'reviewing' }, 'cannot go from planning to reviewing: planning leads to implementing'],
    [{ artifacts: [{ path: 'nope.ts' }] }, 'There is no file nope.ts'],
    [{ artifacts: [{ path: 'dir/file.ts' }, { path: '../x.ts' }] }, '../x.ts lies outside the project folder'],
    [{ artifacts: [{ path: '/etc/hosts' }] }, 'lies outside the project folder'],
    [{ artifacts: [{ path: 'link.ts' }] }, 'lies outside the project folder'],
    [{ artifacts: [{ path: 'dir' }] }, 'dir is not a file'],
    [{ artifacts: [{}] }, 'artifacts[0].path is missing'],
    [{ artifacts: [{ path: 'dir/file.ts', artifact_type: 'poem' }] }, 'artifacts[0].artifact_type must be one of'],
    [{ artifacts: [{ path: 'dir/file.ts', content_hash: 'a'.repeat(64) }] }, 'has changed: its hash is'],
    [{ decisions: [{ decision: 'A' }] }, 'decisions[0].rationale is missing'],
    [{ decisions: [{ decision: 'A', rationale: 'B', timestamp: 'noon' }] }, 'decisions[0].timestamp'],
    [{ blocking_issues: [{ issue: 'A', severity: 'bad' }] }, 'blocking_issues[0].severity must be one of'],
    [{ spec: { dependencies: [7] } }, 'spec.dependencies[0] must be a string, not 7'],
  ]
  for (const [more, message] of cases) {
    const given = tasks.handoff({ ...handoff(), ...more })
    await expect(given, JSON.stringify(more)).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining(message) as string,
    })
  }
  expect((await tasks.history('TASK-001')).length).toBe(1)
})

test('ids that would leave the folder are refused; others are encoded [S10]', async () => {
  const { tasks, folder } = await project()
  for (const task_id of ['../x', '..', '.', 'a/b', '\\x', '/etc/passwd', '.hidden', '-x', 'a\nb', ' a', 'a\0b']) {
    await expect(tasks.create({ ...login, task_id }), task_id).rejects.toMatchObject({
      code: 'invalid',
      path: 'task_id',
    })
    await expect(tasks.get(task_id), task_id).rejects.toMatchObject({ code: 'invalid' })
  }
  await expect(tasks.create({ ...login, task_id: 'ü'.repeat(40) })).rejects.toMatchObject({ code: 'limit' })
  await tasks.create({ ...login, task_id: 'Größe: 二 %2F' })
  expect((await tasks.get('Größe: 二 %2F')).version).toBe(1)
  expect(fs.readdirSync(path.join(folder, '.baton', 'state'))).toContain('Gr%C3%B6%C3%9Fe%3A%20%E4%BA%8C%20%252F.json')
})

test('texts and lists have bounds, and the error names the field [S12]', async () => {
  const { tasks } = await project({ bounds: { warnings: 2, bytes: 50_000 } })
  await tasks.create(login)
  const long = 'x'.repeat(10_001)
  const cases: [object, string][] = [
    [
      { decisions: [{ decision: 'A', rationale: long }] },
      'decisions[0].rationale has 10,001 characters, at most 10,000',
    ],
    [{ notes: { deep: [long] } }, 'notes.deep[0] has 10,001 characters'],
    [{ warnings: ['1', '2', '3'] }, 'warnings has 3 items, at most 2'],
    [{ notes: Array.from({ length: 6 }, () => 'x'.repeat(9_999)) }, 'bytes of changes, at most 50,000'],
  ]
  for (const [more, message] of cases) {
    await expect(tasks.handoff(handoff(more))).rejects.toMatchObject({
      code: 'limit',
      message: expect.stringContaining(message) as string,
    })
  }
  expect((await tasks.get('TASK-001')).version).toBe(1)
})

test('the tape grows with what changes, not with what the task holds [S12]', async () => {
  const { tasks, write, folder, again } = await project()
  await tasks.create(login)
  const paths = Array.from({ length: isFull ? 2_000 : 1_000 }, (_, i) => `src/part-${i}.ts`)
  for (const file of paths) write(file, file)
  await tasks.handoff(handoff({ artifacts: paths.map((file) => ({ path: file })) }))
  const bytes = () => {
    const files = fs.readdirSync(path.join(folder, '.baton'), { recursive: true, withFileTypes: true })
    const kept = files.filter((each) => each.isFile() && /\/(tape|blobs)$/.test(each.parentPath))
    return kept.reduce((sum, each) => sum + fs.statSync(path.join(each.parentPath, each.name)).size, 0)
  }
  const before = bytes()
  for (let i = 0; i < 100; i++) await tasks.handoff(handoff({ artifacts: [{ path: paths[i]! }] }))
  expect((bytes() - before) / 100).toBeLessThan(2_000)
  await tasks.settle()
  const other = await again()
  expect(await other.get('TASK-001')).toEqual(await tasks.get('TASK-001'))
  expect((await other.at('TASK-001', 50)).version).toBe(50)
})

test('a copied and edited state file adds what it has, from the version it was made of [S4, S5]', async () => {
  const { tasks, write } = await project()
  await tasks.create(login)
  write('a.ts', '1')
  await tasks.handoff(handoff({ artifacts: [{ path: 'a.ts' }], decisions: [{ decision: 'A', rationale: 'B' }] }))
  const copy = JSON.parse(JSON.stringify(await tasks.get('TASK-001'))) as Record<string, unknown[]>
  write('b.ts', '2')
  copy['artifacts']!.push({ path: 'b.ts' })
  copy['decisions_made']!.push({ decision: 'C', rationale: 'D' })
  Object.assign(copy, { warnings: ['careful'], note: 'mine', context_summary: 'In my own words' })
  const { handoff: given, expect: version } = await tasks.fromFile('TASK-001', copy)
  expect(version).toBe(2)
  await tasks.handoff({ ...handoff(), ...given }, { expect: version! })
  expect(await tasks.get('TASK-001')).toMatchObject({
    version: 3,
    artifacts: [{ path: 'a.ts' }, { path: 'b.ts' }],
    decisions_made: [{ decision: 'A' }, { decision: 'C' }],
    warnings: ['careful'],
    note: 'mine',
    context_summary: 'In my own words',
  })
  await expect(tasks.handoff({ ...handoff(), ...given }, { expect: version! })).rejects.toMatchObject({
    code: 'conflict',
  })
  await expect(tasks.fromFile('TASK-001', { task_id: 'B' })).rejects.toMatchObject({ code: 'invalid' })
})

test('users cannot write on the tape of a task by themselves [S11]', async () => {
  const { Tape } = await import('../../src/tape/index.ts')
  const folder = temporaryFolder()
  const { tasks } = await project({}, folder)
  await tasks.create(login)
  const store = await temporaryStore(path.join(folder, '.baton'))
  const tape = new Tape(store, 'task/TASK-001')
  await expect(tape.append([{ kind: 'event', payload: { name: 'version', data: {} } }])).rejects.toMatchObject({
    code: 'invalid',
  })
  expect((await collect(tape.entries())).length).toBe(2)
  await store.close()
})
