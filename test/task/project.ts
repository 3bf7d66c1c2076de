// A project with a workspace of its own, and its tasks.

import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { GateError, type People, type TaskHandoff, Tasks } from '../../src/task/index.ts'
import type { TaskState } from '../../src/task/schema.ts'
import { taskSection } from '../../src/task/settings.ts'
import { temporaryFolder, temporaryStore } from '../support/workspace.ts'

export interface Project {
  readonly folder: string
  readonly tasks: Tasks
  /** Writes a file of the project. */
  readonly write: (file: string, text: string) => void
  /** The tasks as another process finds them. */
  readonly again: () => Promise<Tasks>
}

export async function project(settings: object = {}, folder = temporaryFolder(), people?: People): Promise<Project> {
  const open = async () => {
    const store = await temporaryStore(path.join(folder, '.baton'))
    const stateFolder = path.join(folder, '.baton', 'state')
    const parsed = taskSection.parse(settings)
    const close = () => store.close()
    const asking = people === undefined ? {} : { people }
    const tasks = new Tasks({ store, project: folder, stateFolder, settings: parsed, close, ...asking })
    onTestFinished(() => tasks.close())
    return tasks
  }
  const write = (file: string, text: string) => {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    fs.writeFileSync(path.join(folder, file), text)
  }
  return { folder, tasks: await open(), write, again: open }
}

export const login = { task_id: 'TASK-001', task_title: 'Implement user login' }

/** A handoff of that task, from engineer to qa, within planning unless it says otherwise. */
export function handoff(more: Partial<TaskHandoff> = {}): TaskHandoff {
  return { task_id: 'TASK-001', source_agent: 'engineer', target_agent: 'qa', phase: 'planning', ...more }
}

/** The first version of that task, with nothing in it yet. */
export function emptyState(now: string): TaskState {
  return {
    ...login,
    phase: 'planning',
    previous_phase: null,
    phase_started_at: now,
    artifacts: [],
    context_summary: '',
    decisions_made: [],
    blocking_issues: [],
    warnings: [],
    quality_gates_passed: [],
    quality_gates_failed: [],
    source_agent: '',
    target_agent: '',
    handoff_timestamp: now,
    version: 1,
  }
}

/** The gate that refuses the work. */
export async function refusal(work: Promise<unknown>): Promise<GateError> {
  const error: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(GateError)
  return error as GateError
}

/** A person at a terminal. */
export const anna = { by: 'anna', person: { via: 'terminal', where: 'pts/7' } } as const
