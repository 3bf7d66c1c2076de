// The next state out of a state and a handoff: artifacts and decisions are added, blocking issues replaced.

import { InvalidError } from '../errors.ts'
import type { Approval } from './approval.ts'
import { apply, changed, type Delta, type Places } from './delta.ts'
import type { GateResult } from './gates.ts'
import type { Artifact, GivenHandoff, Issue, TaskState } from './schema.ts'
import { compressContext, limitContext } from './summary.ts'

/** Fields of the state that only Baton sets. */
const ownFields = [
  'version',
  'previous_phase',
  'phase_started_at',
  'handoff_timestamp',
  'decisions_made',
  'quality_gates_passed',
  'quality_gates_failed',
  'task_title',
] as const

export interface Step {
  readonly next: TaskState
  readonly delta: Delta
}

export interface StepInput {
  readonly handoff: GivenHandoff
  /** The handoff's artifacts, hashed. */
  readonly artifacts: readonly Artifact[]
  readonly approval: Approval | undefined
  readonly now: string
}

export async function advance(state: TaskState, places: Places, input: StepInput): Promise<Step> {
  const { handoff, artifacts, approval, now } = input
  const {
    task_id: _id,
    artifacts: _artifacts,
    artifacts_removed,
    decisions,
    blocking_issues,
    context_summary,
    ...rest
  } = handoff
  for (const field of ownFields) {
    if (field in rest) throw new InvalidError(`${field} is set by Baton, leave it out`, { path: field })
  }
  const unknown = artifacts_removed.find((path) => !places.has(path))
  if (unknown !== undefined) {
    throw new InvalidError(`${unknown} is no artifact of ${state.task_id}`, { path: 'artifacts_removed' })
  }
  const made = decisions.map(({ decision, rationale, timestamp = now, agent = handoff.source_agent, ...more }) => ({
    decision,
    rationale,
    timestamp,
    agent,
    ...more,
  }))
  const added = artifacts.length > 0 ? { artifacts } : {}
  const gone = artifacts_removed.length > 0 ? { artifacts_removed } : {}
  const lists: Delta = { ...gone, ...added, ...(made.length > 0 ? { decisions_made: made } : {}) }
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  const fields = {
    ...given,
    previous_phase: state.phase,
    phase_started_at: handoff.phase === state.phase ? state.phase_started_at : now,
    blocking_issues: blocking_issues.map((issue) => stamp(issue, approval, state, now)),
    handoff_timestamp: now,
    version: state.version + 1,
  }
  const next = apply(state, { ...lists, set: fields }, places)
  const summary = context_summary === undefined ? await compressContext(next) : await limitContext(context_summary)
  const set = changed(state, { ...fields, context_summary: summary })
  return { delta: { ...lists, set }, next: { ...next, context_summary: summary } }
}

/** An issue that a person let pass stays marked as long as it is carried on. */
function stamp(issue: Issue, approval: Approval | undefined, state: TaskState, now: string): Issue {
  const { approved_by: _by, approved_at: _at, ...bare } = issue
  if (!issue.requires_human) return bare
  const earlier = state.blocking_issues.find((each) => each.issue === issue.issue && each.approved_by !== undefined)
  if (earlier !== undefined) return { ...bare, approved_by: earlier.approved_by, approved_at: earlier.approved_at }
  if (approval?.issues.includes(issue.issue) === true) return { ...bare, approved_by: approval.by, approved_at: now }
  return bare
}

/** Adds what the gates said: of each gate, the last result counts. */
export function withResults(state: TaskState, step: Step, results: readonly GateResult[], warning?: string): Step {
  const passed = results.filter(({ ok }) => ok).map(({ name }) => name)
  const failed = results.filter(({ ok }) => !ok).map(({ name }) => name)
  const fields = {
    quality_gates_passed: union(without(state.quality_gates_passed, failed), passed),
    quality_gates_failed: union(without(state.quality_gates_failed, passed), failed),
    ...(warning === undefined ? {} : { warnings: [...step.next.warnings, warning] }),
  }
  const set = { ...step.delta.set, ...changed(state, fields) }
  return { delta: { ...step.delta, set }, next: { ...step.next, ...fields } }
}

function without(names: readonly string[], gone: readonly string[]): string[] {
  return names.filter((name) => !gone.includes(name))
}

function union(names: readonly string[], more: readonly string[]): string[] {
  return [...new Set([...names, ...more])]
}

/** A handoff out of a state file that an agent has edited: it adds what the file has and the task has not. */
export function handoffFromFile(file: Readonly<Record<string, unknown>>, state: TaskState): Record<string, unknown> {
  const { decisions_made, artifacts, context_summary, ...rest } = file
  const given: Record<string, unknown> = { ...rest }
  for (const field of ownFields) delete given[field]
  const known = new Set([...state.artifacts, ...state.decisions_made].map((each) => JSON.stringify(each)))
  const isNew = (each: unknown) => !known.has(JSON.stringify(each))
  if (Array.isArray(artifacts)) given.artifacts = artifacts.filter(isNew)
  else if (artifacts !== undefined) given.artifacts = artifacts
  if (Array.isArray(decisions_made)) given.decisions = decisions_made.filter(isNew)
  else if (decisions_made !== undefined) given.decisions = decisions_made
  if (context_summary !== undefined && context_summary !== state.context_summary)
    given.context_summary = context_summary
  return given
}
