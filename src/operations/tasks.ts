// Tasks: typed state that goes from agent to agent through gates and phases.

import path from 'node:path'
import * as z from 'zod'
import { InvalidError } from '../errors.ts'
import { stateSchema as state, type TaskHandoff, type TaskProblem } from '../task/index.ts'
import { demandPerson, operation } from './operation.ts'

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

const problem = z.object({ task_id: z.string(), message: z.string(), hint: z.string().optional() })

function problemOf({ task_id, error }: TaskProblem): z.output<typeof problem> {
  return { task_id, message: error.message, hint: error.hint }
}

export const taskList = operation('task.list', 'read', 'GET /tasks', {
  summary: 'The tasks of the workspace, with phase, version and who has each.',
  input: z.object({}),
  output: z.object({
    tasks: z.array(state),
    problems: z.array(problem).describe('Tasks that cannot be read.'),
  }),
  async run(workspace) {
    const tasks: z.output<typeof state>[] = []
    const problems: z.output<typeof problem>[] = []
    const note = (each: TaskProblem) => void problems.push(problemOf(each))
    for await (const each of (await workspace.tasks()).list(note)) tasks.push({ ...each })
    return { tasks, problems }
  },
})

export const taskShow = operation('task.show', 'read', 'GET /tasks/{task}', {
  summary: 'The state of a task: now, or at a version.',
  input: z.object({ task: taskId, version: z.int().min(1).optional() }),
  output: z.object({
    state,
    summary: z.string().describe('What the next agent gets to read.'),
    questions: z
      .array(z.looseObject({ id: z.string(), issue: z.string().optional(), escalation: z.string().optional() }))
      .describe('What waits for a person.'),
    drift: z
      .object({ changed: z.array(z.string()), missing: z.array(z.string()) })
      .optional()
      .describe('Artifacts of the newest version that are not as they were handed over.'),
    lost: json.describe('Versions that were lost with damaged entries.'),
    file: z.string().optional().describe('The state file, on this machine.'),
  }),
  async run(workspace, { task, version }, { caller }) {
    const tasks = await workspace.tasks()
    const newest = await tasks.get(task)
    const found = version === undefined ? newest : await tasks.at(task, version)
    const questions = await tasks.waitingForPerson(task)
    return {
      state: { ...found },
      drift: version === undefined ? await tasks.drift(found) : undefined,
      summary: await tasks.summary(found),
      questions: questions.map((question) => ({ ...question })),
      lost: { ...(await tasks.lost(task, version)) },
      file: caller.local === true ? tasks.stateFile(task) : undefined,
    }
  },
})

export const taskCreate = operation('task.create', 'write', 'POST /tasks', {
  summary: 'Make a task.',
  input: z.object({ task: taskId, title: z.string().min(1).max(500), spec: json.optional() }),
  output: z.object({ state, file: z.string().optional().describe('The state file, on this machine.') }),
  async run(workspace, { task, title, spec }, { caller }) {
    const tasks = await workspace.tasks()
    const made = await tasks.create({ task_id: task, task_title: title, ...(spec === undefined ? {} : { spec }) })
    return { state: { ...made }, file: caller.local === true ? tasks.stateFile(task) : undefined }
  },
})

export const taskHandoff = operation('task.handoff', 'write', 'POST /tasks/{task}/handoff', {
  summary: 'Hand a task to the next agent, through the gates of its phase.',
  input: z.object({
    task: taskId,
    handoff: json.describe(
      'See `baton task schema handoff`: source_agent, target_agent, phase, artifacts, decisions …',
    ),
    file: json
      .optional()
      .describe('The state file as the agent has changed it: what is in it need not be in the handoff.'),
    tokens: z
      .object({ input: z.int().min(0), output: z.int().min(0) })
      .optional()
      .describe('What the work took.'),
    expect: z.int().min(1).optional().describe('The version that you have seen.'),
    force: z.string().min(1).max(4000).optional().describe('Why to continue although a gate fails.'),
  }),
  output: json,
  async run(workspace, { task, handoff, file: content, tokens: tokenUsage, expect: seen, force }, { signal }) {
    if (handoff.task_id !== undefined && handoff.task_id !== task) {
      throw new InvalidError('The handoff names another task', { path: 'handoff.task_id' })
    }
    workspace.trusted('The task was not handed over')
    const tasks = await workspace.tasks()
    const file = content === undefined ? undefined : await tasks.fromFile(task, content)
    const input = withArtifactsIn(tasks.project, merged(file?.handoff ?? {}, { ...handoff, task_id: task }))
    for (const [field, option] of Object.entries({ source_agent: 'from', target_agent: 'to', phase: 'phase' })) {
      if (input[field] === undefined) throw new InvalidError(`A handoff needs --${option}`, { path: field })
    }
    const expect = seen ?? file?.expect
    return { ...(await tasks.handoff(input as unknown as TaskHandoff, { signal, expect, force, tokenUsage })) }
  },
})

/** What is given goes over what is in the file; lists are joined. */
function merged(file: Record<string, unknown>, given: Record<string, unknown>): Record<string, unknown> {
  const whole = { ...file, ...given }
  for (const list of ['artifacts', 'artifacts_removed', 'decisions', 'blocking_issues', 'waivers', 'criteria_met']) {
    const before = file[list]
    if (Array.isArray(before)) whole[list] = [...listIn(file[list]), ...listIn(given[list])]
    else if (before !== undefined) whole[list] = before
  }
  return whole
}

function listIn(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}

/** A command line knows files by their whole paths, a task by those in its project. */
function withArtifactsIn(project: string, handoff: Record<string, unknown>): Record<string, unknown> {
  if (!Array.isArray(handoff.artifacts)) return handoff
  const artifacts = handoff.artifacts.map((each: unknown) => {
    const file = typeof each === 'object' && each !== null && 'path' in each ? each.path : undefined
    const isWhole = typeof file === 'string' && path.isAbsolute(file)
    return isWhole ? { ...(each as object), path: path.relative(project, file) } : each
  })
  return { ...handoff, artifacts }
}

export const taskGate = operation('task.gate', 'operate', 'POST /tasks/{task}/gate', {
  summary: 'Run the gates that a task would have to pass now, and change nothing.',
  input: z.object({
    task: taskId,
    phase: z.string().min(1).max(100).optional().describe('As if it were handed on there.'),
  }),
  output: z.object({ ok: z.boolean(), gates: z.array(json) }),
  async run(workspace, { task, phase }, { signal }) {
    workspace.trusted('The gates were not run')
    const tasks = await workspace.tasks()
    const state = await tasks.get(task)
    const agent = state.target_agent || 'somebody'
    const { blocking_issues } = state
    const wanted = (phase ?? state.phase) as TaskHandoff['phase']
    const input = { task_id: task, source_agent: agent, target_agent: agent, phase: wanted, blocking_issues }
    const { gates, ok } = await tasks.prepare(input, { signal })
    return { ok, gates: gates.map((gate) => ({ ...gate })) }
  },
})

export const taskReady = operation('task.ready', 'read', 'GET /ready-tasks', {
  summary: 'The tasks that can be worked on, and what the others wait for.',
  input: z.object({}),
  output: z.object({
    ready: z.array(state),
    waiting: z.array(z.object({ task: state, on: z.array(z.string()) })),
    problems: z.array(problem),
  }),
  async run(workspace) {
    const { ready, waiting, problems } = await (await workspace.tasks()).ready()
    return {
      ready: ready.map((each) => ({ ...each })),
      waiting: waiting.map(({ task, on }) => ({ task: { ...task }, on })),
      problems: problems.map(problemOf),
    }
  },
})

export const taskReceive = operation('task.receive', 'write', 'POST /tasks/{task}/receive', {
  summary: 'Take over a task: its state, what was handed over, and what has drifted since.',
  input: z.object({ task: taskId }),
  output: json,
  async run(workspace, { task }) {
    return { ...(await (await workspace.tasks()).receive(task)) }
  },
})

export const taskHistory = operation('task.history', 'read', 'GET /tasks/{task}/history', {
  summary: 'The versions of a task.',
  input: z.object({ task: taskId }),
  output: z.object({
    versions: z.array(version),
    lost: json.describe('Versions that were lost with damaged entries.'),
  }),
  async run(workspace, { task }) {
    const tasks = await workspace.tasks()
    const versions = await tasks.history(task)
    return { versions: versions.map((version) => ({ ...version })), lost: { ...(await tasks.lost(task)) } }
  },
})

export const taskDiff = operation('task.diff', 'read', 'GET /tasks/{task}/diff', {
  summary: 'What has changed between two versions of a task.',
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

export const taskDecide = operation('task.decide', 'operate', 'POST /tasks/{task}/decide', {
  summary: 'A person approves or rejects what a task waits for, or withdraws the decision.',
  input: z.object({
    task: taskId,
    verdict: z.enum(['approve', 'reject', 'withdraw']),
    by: z.string().min(1).max(200).optional(),
    note: z.string().max(20_000).optional(),
    questions: z.array(z.string().min(1).max(200)).max(50).optional().describe('Which ones, if several wait.'),
    version: z.int().min(1).optional().describe('The version that the person has seen.'),
  }),
  output: json,
  async run(workspace, { task, verdict, by, note, questions, version }, call) {
    const person = demandPerson(call)
    const tasks = await workspace.tasks()
    const { version: now } = await tasks.get(task)
    if (version !== undefined && now !== version)
      throw new InvalidError(`${task} is at version ${now}, not ${version}`, {
        path: 'version',
        hint: 'Look at it again.',
      })
    const options = { by: by ?? call.caller.name, note, questions, person }
    return { ...(await tasks[verdict](task, options)) }
  },
})
