import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { pipeline } from '../../examples/task-pipeline.ts'
import { temporaryFolder } from '../support/workspace.ts'

test('the example passes a task from the planner to the reviewer [S5, S6]', async () => {
  const folder = temporaryFolder()
  fs.mkdirSync(path.join(folder, '.baton'))
  const commands = await pipeline(folder)
  expect(commands.map(({ target_agent, phase }) => `${target_agent}: ${phase}`)).toEqual([
    'dev-engineer: implementing',
    'dev-qa: testing',
    'dev-reviewer: reviewing',
    'planner: completed',
  ])
  expect(commands[1]!.context_summary).toBe(`## Agent Handoff State
Task: TASK-001 - Implement user login
Phase: testing (from: implementing)
Artifacts: 2 files (source, test)
Decisions: Write the tests first; Implemented JWT-based authentication
Blocking: None
Gates: 2 passed, 0 failed
State file: ${path.join(folder, '.baton', 'state', 'TASK-001.json')}`)
  expect(JSON.parse(fs.readFileSync(commands[3]!.state_file, 'utf8'))).toMatchObject({ phase: 'completed', version: 5 })
})
