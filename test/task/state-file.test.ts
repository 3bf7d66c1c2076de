import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { stateFolderOf } from '../../src/task/open.ts'
import { StateFiles } from '../../src/task/state-file.ts'
import { handoff, login, project } from './project.ts'

test('a state file that is missing, damaged, stale or edited is made anew by whoever looks [S10]', async () => {
  const { tasks } = await project()
  await tasks.create(login)
  const file = tasks.stateFile('TASK-001')
  const stale = fs.readFileSync(file, 'utf8')
  await tasks.handoff(handoff({ decisions: [{ decision: 'A', rationale: 'B' }] }))
  const right = fs.readFileSync(file, 'utf8')
  const wrong = [
    stale,
    '',
    right.slice(0, 100),
    right.replace('"A"', '"C"'),
    right.replace('"version": 2', '"version": 77'),
  ]
  for (const text of wrong) {
    fs.writeFileSync(file, text)
    await tasks.get('TASK-001')
    expect(fs.readFileSync(file, 'utf8')).toBe(right)
    fs.writeFileSync(file, text)
    await tasks.receive('TASK-001')
    expect(fs.readFileSync(file, 'utf8')).toBe(right)
  }
  fs.rmSync(path.dirname(file), { recursive: true })
  await tasks.get('TASK-001')
  expect(fs.readFileSync(file, 'utf8')).toBe(right)
  fs.writeFileSync(file, '{')
  await tasks.handoff(handoff())
  expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toMatchObject({ version: 3, decisions_made: [{ decision: 'A' }] })
})

test('a state file is for people to read, and closed to others [S10]', async () => {
  const { tasks } = await project()
  const state = await tasks.create({ ...login, spec: { inputs: ['a', 'b'] } })
  const file = tasks.stateFile('TASK-001')
  expect(fs.readFileSync(file, 'utf8')).toBe(`${JSON.stringify(state, null, 2)}\n`)
  expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  expect(fs.statSync(path.dirname(file)).mode & 0o777).toBe(0o700)
})

test('a file never goes back to an older version [S10]', async () => {
  const { tasks, folder } = await project()
  const first = await tasks.create(login)
  const second = await tasks.save({ ...first, version: 2 })
  const file = path.join(folder, 'elsewhere', 'TASK-001.json')
  const files = new StateFiles(path.dirname(file), async () => 2)
  expect(await files.follow(second)).toBeUndefined()
  expect(await files.follow(first)).toBeUndefined()
  expect(await files.ensure(first)).toBeUndefined()
  expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toMatchObject({ version: 2 })
})

test('a large file follows the handoff, and is there once settled [S10]', async () => {
  const { tasks, write } = await project()
  await tasks.create(login)
  for (let i = 0; i < 600; i++) write(`src/${i}.ts`, '')
  await tasks.handoff(handoff({ artifacts: Array.from({ length: 600 }, (_, i) => ({ path: `src/${i}.ts` })) }))
  for (let i = 0; i < 20; i++) await tasks.handoff(handoff())
  expect(await tasks.settle()).toBeUndefined()
  const file = JSON.parse(fs.readFileSync(tasks.stateFile('TASK-001'), 'utf8')) as { artifacts: unknown[] }
  expect(file).toMatchObject({ version: 22 })
  expect(file.artifacts).toHaveLength(600)
})

test('a handoff whose state file cannot be written is stored all the same, and says so [S4, S10]', async () => {
  const { tasks, folder } = await project()
  await tasks.create(login)
  const states = path.join(folder, '.baton', 'state')
  fs.rmSync(states, { recursive: true })
  fs.writeFileSync(states, 'in the way')
  const command = await tasks.handoff(handoff())
  expect(command).toMatchObject({ state_delta: { version: 2 }, state_file_problem: expect.any(String) as string })
  expect((await tasks.receive('TASK-001')).state_file_problem).toEqual(expect.any(String))
})

test('state files lie beside the tapes, or with the user where tapes are no files [S10]', () => {
  const env = { HOME: '/home/me' }
  expect(stateFolderOf('/w/.baton', 'w1', env)).toBe('/w/.baton/state')
  expect(stateFolderOf('file:/w', 'w1', env)).toBe('/w/state')
  expect(stateFolderOf('file:///w%20x', 'w1', env)).toBe('/w x/state')
  expect(stateFolderOf('postgres://host/db', 'w1', env)).toBe('/home/me/.local/share/baton/w1/state')
  expect(stateFolderOf('nats://host', 'w1', { XDG_DATA_HOME: '/data' })).toBe('/data/baton/w1/state')
})
