import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { findProject } from '../../src/config/project.ts'
import { checked } from '../../src/config/validate.ts'
import { taskSection } from '../../src/task/settings.ts'
import { temporaryFolder } from '../support/workspace.ts'

function configured(content: unknown): string {
  const folder = temporaryFolder()
  fs.writeFileSync(
    path.join(folder, 'baton.config.json'),
    typeof content === 'string' ? content : JSON.stringify(content),
  )
  fs.mkdirSync(path.join(folder, 'a', 'b'), { recursive: true })
  return path.join(folder, 'a', 'b')
}

test('the configuration is found upwards; without one, every section has its defaults [S8]', () => {
  const cwd = configured({
    $schema: 'x',
    task: { phases: { completed: ['planning'] }, gates: [{ name: 'tests', run: 'npm test' }] },
  })
  const config = loadConfig(cwd)
  expect(config.file).toBe(path.resolve(cwd, '../../baton.config.json'))
  expect(config.section('task', taskSection)).toMatchObject({
    phases: { planning: ['implementing'], completed: ['planning'] },
    requires: { testing: ['source'] },
    gates: [{ name: 'tests', run: 'npm test', timeout_seconds: 600, required: true }],
    bounds: { text: 10_000 },
  })
  const none = loadConfig(temporaryFolder())
  expect(none.file).toBeUndefined()
  expect(none.section('task', taskSection)).toMatchObject({ gates: [], phases: { completed: [] } })
})

test('a mistake is named by file and path, and stops only its own section', () => {
  const cases: [unknown, string][] = [
    ['{', 'baton.config.json cannot be read'],
    [[], 'it must be an object, not a list'],
    [{ tasks: {} }, 'there is no section "tasks"'],
    [{ task: { phases: { planning: ['dreaming'] } } }, 'baton.config.json: task.phases.planning[0] must be one of'],
    [{ task: { phases: { dreaming: [] } } }, 'task.phases'],
    [{ task: { gates: [{ name: 'x' }] } }, 'task.gates[0].run is missing'],
    [{ task: { gates: [{ name: 'completeness', run: 'x' }] } }, 'task.gates[0].name is not valid: Baton has a gate'],
    [{ task: { gates: [1, 2].map(() => ({ name: 'x', run: 'x' })) } }, 'two gates have the same name'],
    [{ task: { bounds: { text: -1 } } }, 'task.bounds.text must be at least'],
    [{ task: { colour: 'red' } }, 'task has no field "colour"'],
  ]
  for (const [content, message] of cases) {
    const cwd = configured(content)
    expect(() => loadConfig(cwd).section('task', taskSection), message).toThrow(message)
  }
  expect(loadConfig(configured({ task: 7 })).section('relay', z.object({}))).toEqual({})
})

test('a section that nothing reads is refused, with the names of those that something reads', () => {
  for (const name of ['handoff', 'server', 'models']) {
    expect(() => loadConfig(configured({ [name]: {} })), name).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(`baton.config.json: there is no section "${name}"`) as string,
        hint: 'The sections are store, task, relay, agent, supervisor, transcripts, notify, telemetry.',
      }),
    )
  }
})

test('a mistake is put in words that name the field, what is expected and what was given', () => {
  const schema = z.strictObject({
    name: z.string(),
    size: z.number().min(1).max(9),
    colour: z.enum(['red', 'blue']),
    parts: z.array(z.object({ path: z.string().min(1) })),
  })
  const problem = (value: unknown) => {
    try {
      return checked(schema, value, 'The box')
    } catch (error) {
      return (error as Error).message
    }
  }
  const right = { name: 'a', size: 2, colour: 'red', parts: [] }
  expect(problem(right)).toEqual(right)
  expect(problem({ ...right, name: undefined })).toBe('The box: name is missing')
  expect(problem({ ...right, name: null })).toBe('The box: name must be a string, not null')
  expect(problem({ ...right, size: 0 })).toBe('The box: size must be at least 1, not 0')
  expect(problem({ ...right, colour: 'green' })).toBe('The box: colour must be one of red, blue, not "green"')
  expect(problem({ ...right, parts: [{ path: 'x' }, { path: '' }] })).toBe('The box: parts[1].path is empty')
  expect(problem({ ...right, weight: 1 })).toBe('The box: it has no field "weight"')
  expect(() => checked(schema, { ...right, size: 10 }, 'The box')).toThrow(
    expect.objectContaining({ code: 'limit', message: 'The box: size is larger than 9' }),
  )
  const many = { name: 1, size: 'x', colour: 1, parts: [{}, {}, {}] }
  expect(problem(many)).toMatch(/^The box: (?:[^;]+; ){5}and 1 more$/)
})

test('the project is the top of the working tree, else where the configuration or the workspace is', () => {
  const folder = temporaryFolder()
  const deep = path.join(folder, 'a', 'b')
  fs.mkdirSync(deep, { recursive: true })
  expect(findProject(deep)).toBe(deep)
  fs.mkdirSync(path.join(folder, 'a', '.baton'))
  expect(findProject(deep)).toBe(path.join(folder, 'a'))
  fs.mkdirSync(path.join(folder, '.git'))
  expect(findProject(deep)).toBe(folder)
})
