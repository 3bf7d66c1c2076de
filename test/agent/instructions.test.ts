import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { codingTools, projectInstructions } from '../../src/agent/index.ts'
import { writeHandoff } from '../../src/handoff/index.ts'
import { call, say } from '../support/model-server/index.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { scene } from './harness.ts'

test('AGENTS.md and CLAUDE.md from the root of the repository down are told to the model [T22]', async () => {
  const root = temporaryFolder()
  const cwd = path.join(root, 'packages/a')
  fs.mkdirSync(path.join(root, '.git'))
  fs.mkdirSync(cwd, { recursive: true })
  fs.writeFileSync(path.join(root, 'AGENTS.md'), 'Use tabs.\n')
  fs.writeFileSync(path.join(root, 'CLAUDE.md'), '@AGENTS.md\n')
  fs.writeFileSync(path.join(cwd, 'CLAUDE.md'), 'Here, use spaces.')
  const instructions = projectInstructions(cwd)
  expect(instructions.map(({ text }) => text)).toEqual(['Use tabs.', 'Here, use spaces.'])
  const { agent, server } = await scene([say('Noted.')], { cwd, instructions })
  await agent.submit('go')
  const system = server.requests[0]!.system ?? ''
  expect(system).toContain('Use tabs.')
  expect(system.indexOf('Use tabs.')).toBeLessThan(system.indexOf('Here, use spaces.'))
})

test('a project that says nothing, or has files that cannot be read, changes nothing', () => {
  const root = temporaryFolder()
  fs.mkdirSync(path.join(root, 'AGENTS.md'))
  expect(projectInstructions(root)).toEqual([])
})

test('the list of what is to be done is kept on the tape and goes along with a handoff [H9]', async () => {
  const todos = [
    { text: 'Write the parser', status: 'completed' },
    { text: 'Test the parser', status: 'in_progress' },
    { text: 'Publish it' },
  ]
  const { agent, of } = await scene(
    [call('todo', { todos }), say('Planned.'), call('todo', {}), say('Three things.')],
    { tools: codingTools() },
  )
  await agent.submit('Plan the parser.')
  expect(of('tool-end')[0]!.output).toBe('[x] Write the parser\n[>] Test the parser\n[ ] Publish it')
  const { markdown } = await writeHandoff(agent.tape, { name: 'parser' })
  expect(markdown).toContain('Test the parser')
  await agent.submit('What is left?')
  expect(of('tool-end')[1]!.output).toBe('[x] Write the parser\n[>] Test the parser\n[ ] Publish it')
})
