// Makes the next state out of a state and a handoff: artifacts and decisions are added, blocking issues are replaced.

import { InvalidError } from '../errors.ts'
import { applyDelta, changedFields, type Delta, type ArtifactPositions } from './delta.ts'
import type { DriftedArtifact } from './artifacts.ts'
import type { GateResult } from './gates.ts'
import type { Standing } from './questions.ts'
import type { TaskArtifact, GivenHandoff, TaskIssue, TaskState } from './schema.ts'
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
  'artifact_waivers',
] as const

export interface TaskStep {
  readonly next: TaskState
  readonly delta: Delta
}

export interface TaskStepInput {
  readonly handoff: GivenHandoff
  /** The handoff's artifacts, hashed. */
  readonly artifacts: readonly TaskArtifact[]
  /** The artifacts of the state that are not as they were handed over. */
  readonly drifted: readonly DriftedArtifact[]
  readonly standing: Standing
  readonly now: string
}

export async function advance(state: TaskState, positions: ArtifactPositions, input: TaskStepInput): Promise<TaskStep> {
  const { handoff, artifacts, standing, now } = input
  const {
    task_id: _id,
    artifacts: _artifacts,
    artifacts_removed,
    decisions,
    blocking_issues,
    waivers: _waivers,
    criteria_met: _criteria,
    context_summary,
    ...rest
  } = handoff
  for (const field of ownFields) {
    if (field in rest) throw new InvalidError(`${field} is set by Baton, leave it out`, { path: field })
  }
  const unknown = artifacts_removed.find((path) => !positions.has(path))
  if (unknown !== undefined) {
    throw new InvalidError(`${unknown} is not an artifact of ${state.task_id}`, { path: 'artifacts_removed' })
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
  const fields = defined({
    ...rest,
    previous_phase: state.phase,
    phase_started_at: handoff.phase === state.phase ? state.phase_started_at : now,
    blocking_issues: blocking_issues.map((issue) => stamp(issue, standing)),
    artifact_waivers: waiversAfter(state, input),
    criteria_met: criteriaAfter(state, input),
    handoff_timestamp: now,
    version: state.version + 1,
  })
  const next = applyDelta(state, { ...lists, set: fields }, positions)
  const summary = context_summary === undefined ? await compressContext(next) : await limitContext(context_summary)
  const set = changedFields(state, { ...fields, context_summary: summary })
  return { delta: { ...lists, set }, next: { ...next, context_summary: summary } }
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** The waivers of artifacts that are still there, and the new ones. */
function waiversAfter(state: TaskState, { handoff, artifacts, drifted, now }: TaskStepInput) {
  const { waivers, artifacts_removed, source_agent } = handoff
  if (waivers.length === 0 && state.artifact_waivers === undefined) return undefined
  const replaced = new Set([
    ...artifacts.map(({ path }) => path),
    ...artifacts_removed,
    ...waivers.map(({ path }) => path),
  ])
  const kept = (state.artifact_waivers ?? []).filter(({ path }) => !replaced.has(path))
  const added = waivers.map(({ path, reason }, i) => {
    const found = drifted.find((each) => each.path === path)
    if (found === undefined) {
      throw new InvalidError(`${path} is as it was handed over, so there is nothing to waive`, {
        path: `waivers[${i}].path`,
      })
    }
    const hash = found.content_hash === undefined ? {} : { content_hash: found.content_hash }
    return { path, reason, agent: source_agent, timestamp: now, ...hash }
  })
  return [...kept, ...added]
}

function criteriaAfter(state: TaskState, { handoff, now }: TaskStepInput) {
  const { criteria_met, source_agent, spec = state.spec } = handoff
  if (criteria_met.length === 0) return state.criteria_met
  const criteria = spec?.success_criteria ?? []
  const added = criteria_met.map(({ agent = source_agent, timestamp = now, ...each }, i) => {
    if (criteria.includes(each.criterion)) return { ...each, agent, timestamp }
    throw new InvalidError(`"${each.criterion}" is not a success criterion of ${state.task_id}`, {
      path: `criteria_met[${i}].criterion`,
      hint: criteria.length === 0 ? 'Its specification names none.' : `They are: ${criteria.join('; ')}`,
    })
  })
  const renewed = new Set(added.map(({ criterion }) => criterion))
  return [...(state.criteria_met ?? []).filter(({ criterion }) => !renewed.has(criterion)), ...added]
}

/** An issue that a person approved stays marked for as long as handoffs repeat it. No agent can set the mark. */
function stamp(issue: TaskIssue, { approval }: Standing): TaskIssue {
  const { approved_by: _by, approved_at: _at, ...bare } = issue
  const given = issue.requires_human ? approval(issue) : undefined
  return given === undefined ? bare : { ...bare, approved_by: given.by, approved_at: given.at }
}

/** Adds the results of the gates; the last result of each gate counts. */
export function withResults(
  state: TaskState,
  step: TaskStep,
  results: readonly GateResult[],
  warnings: readonly string[] = [],
): TaskStep {
  const passed = results.filter(({ ok }) => ok).map(({ name }) => name)
  const failed = results.filter(({ ok }) => !ok).map(({ name }) => name)
  const fields = {
    quality_gates_passed: union(without(state.quality_gates_passed, failed), passed),
    quality_gates_failed: union(without(state.quality_gates_failed, passed), failed),
    ...(warnings.length === 0 ? {} : { warnings: [...step.next.warnings, ...warnings] }),
  }
  const set = { ...step.delta.set, ...changedFields(state, fields) }
  return { delta: { ...step.delta, set }, next: { ...step.next, ...fields } }
}

function without(names: readonly string[], gone: readonly string[]): string[] {
  return names.filter((name) => !gone.includes(name))
}

function union(names: readonly string[], more: readonly string[]): string[] {
  return [...new Set([...names, ...more])]
}

/** Makes a handoff from a state file that an agent has edited: it adds what is in the file but not in the task. */
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
