import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../support/workspace.ts'
import { baton, records, type Run } from '../cli.ts'

interface Place {
  readonly cwd: string
  readonly task: (...args: string[]) => Promise<Run>
  readonly write: (file: string, text: string) => void
}

async function place(): Promise<Place> {
  const cwd = fs.realpathSync(temporaryFolder())
  expect((await baton(cwd, ['init'])).code).toBe(0)
  const write = (file: string, text: string) => {
    fs.mkdirSync(path.dirname(path.join(cwd, file)), { recursive: true })
    fs.writeFileSync(path.join(cwd, file), text)
  }
  return { cwd, write, task: (...args) => baton(cwd, ['task', ...args]) }
}

const from = (source: string, target: string, phase: string) => ['--from', source, '--to', target, '--phase', phase]

test('a task as a person sees it, from hand to hand [S5, S6, S7, S10]', async () => {
  const { cwd, task, write } = await place()
  expect((await task('ls')).out).toContain('No tasks yet')
  expect((await task('new', 'T1', '--title', 'Implement user login')).out).toContain('Created T1 (version 1, planning)')
  write('src/login.ts', 'one')
  write('test/login.test.ts', 'two')
  const decided = [
    '--decision',
    'JWT',
    '--rationale',
    'Stateless',
    '--alternative',
    'Sessions',
    '--alternative',
    'OAuth',
  ]
  const planned = await task(
    'handoff',
    'T1',
    ...from('planner', 'engineer', 'implementing'),
    ...decided,
    '--decision',
    'TDD',
    '--rationale',
    'Safer',
  )
  expect(planned).toMatchObject({ code: 0, out: expect.stringContaining('Handed to engineer as version 2.') as string })
  const made = [
    '--artifact',
    'src/login.ts',
    '--artifact',
    'test/login.test.ts:test',
    '--blocker',
    'No limit on attempts: why?:high',
  ]
  expect((await task('handoff', 'T1', ...from('engineer', 'qa', 'testing'), ...made)).code).toBe(0)

  const file = path.join(cwd, '.baton', 'state', 'T1.json')
  const summary = `## Agent Handoff State
Task: T1 - Implement user login
Phase: testing (from: implementing)
Artifacts: 2 files (source, test)
Decisions: JWT; TDD
Blocking: 1 high: No limit on attempts: why?
Gates: 2 passed, 0 failed
State file: ${file}
`
  expect(await task('show', 'T1')).toEqual({ code: 0, out: summary, err: '' })
  expect((await task('show', 'T1', '--full')).out).toBe(fs.readFileSync(file, 'utf8'))
  expect(records(await task('show', 'T1', '--full', '--json'))).toEqual([JSON.parse(fs.readFileSync(file, 'utf8'))])
  expect(records(await task('show', 'T1', '--full', '--json', '--version', '2'))).toMatchObject([
    {
      version: 2,
      decisions_made: [
        { decision: 'JWT', rationale: 'Stateless', agent: 'planner', alternatives: ['Sessions', 'OAuth'] },
        { decision: 'TDD', rationale: 'Safer', alternatives: [] },
      ],
    },
  ])
  expect((await task('receive', 'T1')).out).toBe(`${summary}\nEvery artifact is as it was handed over.\n`)
  write('src/login.ts', 'changed')
  fs.rmSync(path.join(cwd, 'test/login.test.ts'))
  expect((await task('receive', 'T1')).out).toContain('  changed  src/login.ts\n  missing  test/login.test.ts\n')
  expect(records(await task('receive', 'T1', '--json'))).toMatchObject([
    { state: { version: 3 }, drift: { changed: ['src/login.ts'], missing: ['test/login.test.ts'], new: [] } },
  ])
  expect((await task('history', 'T1')).out).toMatch(/3 +(now|\d+s ago) +engineer → qa +testing +2 +0 +1/)
  expect(records(await task('history', 'T1', '--json')).map(({ version }) => version)).toEqual([1, 2, 3])
  expect((await task('diff', 'T1')).out).toContain('phase: implementing → testing')
  expect((await task('diff', 'T1', '1', '2')).out).toContain('+ decision: JWT')
  expect(records(await task('diff', 'T1', '--json'))).toMatchObject([{ from: 2, to: 3, fields: { phase: {} } }])
  expect((await task('ls')).out).toMatch(/T1 +Implement user login +testing +3 +qa/)
  expect(records(await task('ls', '--json'))).toMatchObject([{ task_id: 'T1', phase: 'testing', version: 3 }])
})

test('the returned command is small and self-sufficient [S2, S5]', async () => {
  const { cwd, task } = await place()
  await task('new', 'T1', '--title', 'Login')
  const run = await task('handoff', 'T1', ...from('a', 'b', 'planning'), '--json')
  expect(records(run)).toMatchObject([
    {
      task_id: 'T1',
      target_agent: 'b',
      phase: 'planning',
      state_delta: { version: 2, artifacts_added: 0, decisions_made: 0, blocking_issues: 0 },
      context_summary: expect.stringMatching(/^## Agent Handoff State\n/) as string,
      state_file: path.join(cwd, '.baton', 'state', 'T1.json'),
    },
  ])
})

test('exit codes: 3 conflict, 4 not found, 2 bad input, 1 a gate that failed [S4, S7, S8, S11]', async () => {
  const { task, write } = await place()
  await task('new', 'T1', '--title', 'Login')
  await task('handoff', 'T1', ...from('a', 'b', 'implementing'))
  const cases: [number, string, string[]][] = [
    [3, 'There is a task T1 already, at version 2', ['new', 'T1', '--title', 'x']],
    [
      3,
      'is at version 2, this was made from version 1',
      ['handoff', 'T1', ...from('a', 'b', 'planning'), '--expect', '1'],
    ],
    [2, 'has no version 9 yet: it is at version 2', ['handoff', 'T1', ...from('a', 'b', 'planning'), '--expect', '9']],
    [4, 'There is no task "T2"', ['show', 'T2']],
    [4, 'has no version 9', ['show', 'T1', '--version', '9']],
    [4, 'There is no file nope.json', ['new', 'T3', '--title', 'x', '--spec', 'nope.json']],
    [2, 'A task needs a title', ['new', 'T3']],
    [2, 'A handoff needs --to', ['handoff', 'T1', '--from', 'a', '--phase', 'planning']],
    [2, 'phase must be one of', ['handoff', 'T1', ...from('a', 'b', 'dreaming')]],
    [2, 'implementing leads to testing or planning', ['handoff', 'T1', ...from('a', 'b', 'completed')]],
    [2, 'lies outside the project', ['handoff', 'T1', ...from('a', 'b', 'planning'), '--artifact', '../x']],
    [2, 'There is no file x.ts', ['handoff', 'T1', ...from('a', 'b', 'planning'), '--artifact', 'x.ts']],
    [2, 'decisions[0].rationale is missing', ['handoff', 'T1', ...from('a', 'b', 'planning'), '--decision', 'x']],
    [2, 'belongs to a --decision', ['handoff', 'T1', ...from('a', 'b', 'planning'), '--rationale', 'x']],
    [2, 'blocking_issues[0].issue is missing', ['handoff', 'T1', ...from('a', 'b', 'planning'), '--blocker', '{}']],
    [2, '--blocker is not JSON', ['handoff', 'T1', ...from('a', 'b', 'planning'), '--blocker', '{x']],
    [2, '--force needs a reason', ['handoff', 'T1', ...from('a', 'b', 'testing'), '--force']],
    [2, 'would leave its folder', ['new', '../x', '--title', 'x']],
    [2, 'would leave its folder', ['show', '../../etc/passwd']],
    [1, 'testing needs an artifact of type source', ['handoff', 'T1', ...from('a', 'b', 'testing')]],
    [1, '', ['gate', 'T1', '--phase', 'testing']],
  ]
  for (const [code, message, args] of cases) {
    const run = await task(...args)
    expect(run, args.join(' ')).toMatchObject({ code, err: expect.stringContaining(message) as string })
  }
  write('x.ts', '1')
  const wrong = await task('handoff', 'T1', ...from('a', 'b', 'planning'), '--artifact', 'x.ts:poem')
  expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('"poem" is not a type of artifact') as string })
  const refused = await task('handoff', 'T1', ...from('a', 'b', 'testing'), '--json')
  expect(JSON.parse(refused.err)).toMatchObject({
    error: {
      code: 'refused',
      gates: [
        { name: 'completeness', ok: true },
        { name: 'phase-artifacts', ok: false },
      ],
    },
  })
  const conflict = await task('handoff', 'T1', ...from('a', 'b', 'planning'), '--expect', '1', '--json')
  expect(JSON.parse(conflict.err)).toMatchObject({ error: { code: 'conflict', expected: 1, actual: 2 } })
})

test('a gate from the configuration, a person who approves, and a handoff that is forced [S7]', async () => {
  const { cwd, task, write } = await place()
  write('baton.config.json', JSON.stringify({ task: { gates: [{ name: 'tests', run: 'echo failing; test -e ok' }] } }))
  await task('new', 'T1', '--title', 'Login')
  const gate = await task('gate', 'T1')
  expect(gate).toMatchObject({ code: 1, out: expect.stringContaining('FAILED  tests') as string })
  const blob = /blob:[0-9a-f]{64}/.exec(gate.out)![0]
  expect((await baton(cwd, ['show', blob])).out).toBe('failing\n')
  expect(records(await task('gate', 'T1', '--json'))).toMatchObject([
    { name: 'completeness' },
    { name: 'tests', ok: false },
  ])
  expect((await task('handoff', 'T1', ...from('a', 'b', 'planning'), '--force', '--reason', 'no time')).code).toBe(0)
  expect((await task('handoff', 'T1', ...from('a', 'b', 'planning'), '--force', 'still none')).code).toBe(0)
  expect((await task('history', 'T1')).out).toContain('tests failed; forced: no time')
  write('ok', '')
  const asking = ['--blocker', '{"issue":"Really?","severity":"high","requires_human":true}']
  const stopped = await task('handoff', 'T1', ...from('a', 'b', 'planning'), ...asking)
  expect(stopped).toMatchObject({ code: 1, err: expect.stringContaining('baton task approve T1') as string })
  expect(records(await task('show', 'T1', '--json'))).toMatchObject([
    { waiting_for_person: [{ issue: 'Really?', asked_by: 'a', version: 3 }] },
  ])
  expect(await task('approve', 'T1', '--by', 'b')).toMatchObject({ code: 2 })
  expect(records(await task('approve', 'T1', '--by', 'somebody', '--note', 'Yes', '--json'))).toMatchObject([
    { task_id: 'T1', version: 3, by: 'somebody', issues: ['Really?'] },
  ])
  expect((await task('handoff', 'T1', ...from('a', 'b', 'planning'), ...asking)).code).toBe(0)
})

test('specifications make an order, and say which tasks are ready [S9]', async () => {
  const { task, write } = await place()
  write('a.json', JSON.stringify({ title: 'First', inputs: ['the plan'], dependencies: [], owner: 'me' }))
  write('b.json', JSON.stringify({ dependencies: ['A'], success_criteria: ['it works'] }))
  write('c.json', JSON.stringify({ dependencies: ['B', 'C'] }))
  expect((await task('new', 'A', '--spec', 'a.json')).code).toBe(0)
  expect((await task('new', 'B', '--title', 'Second', '--spec', 'b.json')).code).toBe(0)
  expect(await task('new', 'C', '--title', 'Third', '--spec', 'c.json')).toMatchObject({
    code: 2,
    err: expect.stringContaining('form a circle: C → C') as string,
  })
  const ready = await task('ready')
  expect(ready.out).toMatch(/^A +First +planning/m)
  expect(ready.out).toContain('B waits for A')
  expect(records(await task('ready', '--json')).map(({ task_id }) => task_id)).toEqual(['A'])
  expect(records(await task('show', 'A', '--full', '--json'))).toMatchObject([
    { task_title: 'First', spec: { inputs: ['the plan'], owner: 'me' } },
  ])
})

test('an edited copy of the state is handed over with --file, from anywhere in the project [S4, S5]', async () => {
  const { cwd, task, write } = await place()
  await task('new', 'T1', '--title', 'Login')
  write('sub/here.ts', '1')
  const [state] = records(await task('show', 'T1', '--full', '--json'))
  write('sub/copy.json', JSON.stringify({ ...state, source_agent: 'a', target_agent: 'b', warnings: ['careful'] }))
  const inside = path.join(cwd, 'sub')
  const args = ['task', 'handoff', 'T1', '--file', 'copy.json', '--artifact', 'here.ts', '--json']
  expect(records(await baton(inside, args))).toMatchObject([{ target_agent: 'b', state_delta: { version: 2 } }])
  expect(records(await task('show', 'T1', '--full', '--json'))).toMatchObject([
    { warnings: ['careful'], artifacts: [{ path: 'sub/here.ts' }] },
  ])
  expect(await baton(inside, args)).toMatchObject({ code: 3 })
})

test('the schemas can be printed [S1]', async () => {
  const { task } = await place()
  expect(JSON.parse((await task('schema')).out)).toMatchObject({ title: 'Baton task state', type: 'object' })
  for (const name of ['state', 'handoff', 'command', 'spec']) {
    expect(records(await task('schema', name, '--json'))).toMatchObject([{ title: `Baton task ${name}` }])
  }
  expect(await task('schema', 'poem')).toMatchObject({ code: 4 })
})
