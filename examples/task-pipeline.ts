// A task goes from the planner to the engineer, to quality assurance and to the reviewer. Each of them is given a
// summary of a few lines, looks into the full state where it needs to, and hands over what it made and why.
//
// In a project of your own: import { openTasks } from '@baton/baton/task'

import fs from 'node:fs'
import path from 'node:path'
import { type HandoffCommand, openTasks, type Tasks } from '../src/task/index.ts'

type Agent = (tasks: Tasks, command: HandoffCommand) => Promise<HandoffCommand>

async function planner(tasks: Tasks): Promise<HandoffCommand> {
  await tasks.create({
    task_id: 'TASK-001',
    task_title: 'Implement user login',
    spec: { outputs: ['src/login.py', 'tests/test_login.py'], success_criteria: ['a wrong password is refused'] },
  })
  return tasks.handoff({
    task_id: 'TASK-001',
    source_agent: 'planner',
    target_agent: 'dev-engineer',
    phase: 'implementing',
    decisions: [{ decision: 'Write the tests first', rationale: 'The criteria are clear' }],
  })
}

const engineer: Agent = async (tasks, command) => {
  const { state } = await tasks.receive(command)
  write(tasks, 'src/login.py', 'def login(user, password): ...\n')
  write(tasks, 'tests/test_login.py', 'def test_wrong_password(): ...\n')
  return tasks.handoff({
    task_id: state.task_id,
    source_agent: 'dev-engineer',
    target_agent: 'dev-qa',
    phase: 'testing',
    artifacts: [
      { path: 'src/login.py', artifact_type: 'source' },
      { path: 'tests/test_login.py', artifact_type: 'test' },
    ],
    decisions: [
      {
        decision: 'Implemented JWT-based authentication',
        rationale: 'Stateless, scalable, industry standard',
        alternatives: ['Session-based auth', 'OAuth only'],
      },
    ],
  })
}

const qa: Agent = async (tasks, command) => {
  // What the engineer handed over is still what lies in the project.
  const { drift } = await tasks.receive(command)
  if (drift.changed.length + drift.missing.length > 0) throw new Error('The work changed under our hands')
  return tasks.handoff({
    task_id: command.task_id,
    source_agent: 'dev-qa',
    target_agent: 'dev-reviewer',
    phase: 'reviewing',
    blocking_issues: [
      { issue: 'No limit on attempts', severity: 'medium', suggested_action: 'Open a task of its own' },
    ],
  })
}

const reviewer: Agent = async (tasks, command) =>
  tasks.handoff({
    task_id: command.task_id,
    source_agent: 'dev-reviewer',
    target_agent: 'planner',
    phase: 'completed',
    decisions: [{ decision: 'Ship it', rationale: 'Every criterion has a test' }],
  })

/** Runs the pipeline in a project folder; returns what each agent was given. */
export async function pipeline(project: string): Promise<HandoffCommand[]> {
  const tasks = await openTasks({ cwd: project })
  try {
    const commands = [await planner(tasks)]
    for (const agent of [engineer, qa, reviewer]) commands.push(await agent(tasks, commands.at(-1)!))
    return commands
  } finally {
    await tasks.close()
  }
}

function write(tasks: Tasks, file: string, text: string): void {
  const target = path.join(tasks.project, file)
  fs.mkdirSync(path.dirname(target), { recursive: true })
  fs.writeFileSync(target, text)
}
