// Tasks: typed state that goes from agent to agent through gates and phases.

import * as z from 'zod'
import { InvalidError } from '../errors.ts'
import { stateSchema as state, type TaskHandoff, type TaskProblem } from '../task/index.ts'
import { operation } from './operation.ts'
import { demandPerson } from './relay/requests.ts'

const taskId = z.string().min(1).max(200).describe('The id of the task.')
const json = z.looseObject({})
const decision = z.object({
  verdict: z.string(),
  by: z.string(),
  date: z.string(),
  via: z.string().optional().describe('How the person was recognised.'),
  note: z.string().optional(),
})
const [artifacts, decisions, issues] = [
  state.shape.artifacts.unwrap(),
  state.shape.decisions_made.unwrap(),
  state.shape.blocking_issues.unwrap(),
]
const version = z.looseObject({
  version: z.int(),
  lost: z.literal(true).optional().describe('It could not be kept when the tape was repaired.'),
  date: z.string().optional(),
  phase: z.string().optional(),
  source_agent: z.string().optional(),
  target_agent: z.string().optional(),
  artifacts_added: z.int().optional(),
  decisions_made: z.int().optional(),
  forced: z.string().optional(),
  approvals: z.array(decision),
  rejections: z.array(decision),
  withdrawals: z.array(decision),
})

export const taskList = operation({
  name: 'task.list',
  summary: 'The tasks of the workspace, with phase, version and who has each.',
  scope: 'read',
  route: 'GET /tasks',
  input: z.object({}),
  output: z.object({
    tasks: z.array(state),
    problems: z.array(z.object({ task_id: z.string(), message: z.string() })).describe('Tasks that cannot be read.'),
  }),
  async run(workspace) {
    const tasks: z.output<typeof state>[] = []
    const problems: { task_id: string; message: string }[] = []
    const note = ({ task_id, error }: TaskProblem) => void problems.push({ task_id, message: error.message })
    for await (const each of (await workspace.tasks()).list(note)) tasks.push({ ...each })
    return { tasks, problems }
  },
})

export const taskShow = operation({
  name: 'task.show',
  summary: 'The state of a task: now, or at a version.',
  scope: 'read',
  route: 'GET /tasks/{task}',
  input: z.object({ task: taskId, version: z.int().min(1).optional() }),
  output: z.object({
    state,
    questions: z
      .array(z.looseObject({ id: z.string(), issue: z.string().optional(), escalation: z.string().optional() }))
      .describe('What waits for a person.'),
    drift: z
      .object({ changed: z.array(z.string()), missing: z.array(z.string()) })
      .optional()
      .describe('Artifacts of the newest version that are not as they were handed over.'),
  }),
  async run(workspace, { task, version }) {
    const tasks = await workspace.tasks()
    const found = version === undefined ? await tasks.get(task) : await tasks.at(task, version)
    const questions = await tasks.waitingForPerson(task)
    const drift = version === undefined ? await tasks.drift(found) : undefined
    return { state: { ...found }, questions: questions.map((question) => ({ ...question })), drift }
  },
})

export const taskCreate = operation({
  name: 'task.create',
  summary: 'Make a task.',
  scope: 'write',
  route: 'POST /tasks',
  input: z.object({ task: taskId, title: z.string().min(1).max(500), spec: json.optional() }),
  output: z.object({ state }),
  async run(workspace, { task, title, spec }) {
    const made = await (
      await workspace.tasks()
    ).create({ task_id: task, task_title: title, ...(spec === undefined ? {} : { spec }) })
    return { state: { ...made } }
  },
})

export const taskHandoff = operation({
  name: 'task.handoff',
  summary: 'Hand a task to the next agent, through the gates of its phase.',
  scope: 'write',
  route: 'POST /tasks/{task}/handoff',
  input: z.object({
    task: taskId,
    handoff: json.describe(
      'See `baton task schema handoff`: source_agent, target_agent, phase, artifacts, decisions …',
    ),
    expect: z.int().min(1).optional().describe('The version that you have seen.'),
    force: z.string().min(1).max(4000).optional().describe('Why to go on although a gate fails.'),
  }),
  output: json,
  async run(workspace, { task, handoff, expect, force }, { signal }) {
    if (handoff.task_id !== undefined && handoff.task_id !== task) {
      throw new InvalidError('The handoff names another task', { path: 'handoff.task_id' })
    }
    workspace.trusted('The task was not handed over')
    const tasks = await workspace.tasks()
    return { ...(await tasks.handoff({ ...handoff, task_id: task } as TaskHandoff, { signal, expect, force })) }
  },
})

export const taskReceive = operation({
  name: 'task.receive',
  summary: 'Take over a task: its state, what was handed over, and what has drifted since.',
  scope: 'write',
  route: 'POST /tasks/{task}/receive',
  input: z.object({ task: taskId }),
  output: json,
  async run(workspace, { task }) {
    return { ...(await (await workspace.tasks()).receive(task)) }
  },
})

export const taskHistory = operation({
  name: 'task.history',
  summary: 'The versions of a task.',
  scope: 'read',
  route: 'GET /tasks/{task}/history',
  input: z.object({ task: taskId }),
  output: z.object({
    versions: z.array(version),
  }),
  async run(workspace, { task }) {
    const versions = await (await workspace.tasks()).history(task)
    return { versions: versions.map((version) => ({ ...version })) }
  },
})

export const taskDiff = operation({
  name: 'task.diff',
  summary: 'What has changed between two versions of a task.',
  scope: 'read',
  route: 'GET /tasks/{task}/diff',
  input: z.object({ task: taskId, from: z.int().min(1).optional(), to: z.int().min(1).optional() }),
  output: z.looseObject({
    from: z.int(),
    to: z.int(),
    fields: z.record(z.string(), z.object({ from: z.unknown().optional(), to: z.unknown().optional() })),
    artifacts: z.object({
      added: artifacts,
      changed: z.array(z.object({ from: artifacts.element, to: artifacts.element })),
      removed: artifacts,
    }),
    decisions_made: z.object({ added: decisions, removed: decisions }),
    blocking_issues: z.object({ added: issues, removed: issues }),
  }),
  async run(workspace, { task, from, to }) {
    return { ...(await (await workspace.tasks()).diff(task, from, to)) }
  },
})

export const taskDecide = operation({
  name: 'task.decide',
  summary: 'A person approves or rejects what a task waits for, or withdraws the decision.',
  scope: 'operate',
  route: 'POST /tasks/{task}/decide',
  input: z.object({
    task: taskId,
    verdict: z.enum(['approve', 'reject', 'withdraw']),
    by: z.string().min(1).max(200).optional(),
    note: z.string().max(20_000).optional(),
    version: z.int().min(1).describe('The version that the person has seen.'),
  }),
  output: json,
  async run(workspace, { task, verdict, by, note, version }, call) {
    const person = demandPerson(call)
    const tasks = await workspace.tasks()
    const { version: now } = await tasks.get(task)
    if (now !== version)
      throw new InvalidError(`${task} is at version ${now}, not ${version}`, {
        path: 'version',
        hint: 'Look at it again.',
      })
    const options = { by: by ?? call.caller.name, note, person }
    return { ...(await tasks[verdict](task, options)) }
  },
})
