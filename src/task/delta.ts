// What one version changes: small when little changes, however large the task is.

import type { TaskArtifact, TaskDecision, TaskIssue, TaskState } from './schema.ts'

export interface Delta {
  /** Fields with their new values. */
  readonly set?: Readonly<Record<string, unknown>>
  readonly unset?: readonly string[]
  readonly artifacts_removed?: readonly string[]
  /** Each replaces the artifact with its path, or is added at the end. */
  readonly artifacts?: readonly TaskArtifact[]
  /** Added at the end. */
  readonly decisions_made?: readonly TaskDecision[]
}

/** The index of each artifact by its path. Searching ten thousand of them would take longer than the whole handoff. */
export type ArtifactPositions = Map<string, number>

export function positionsOf(state: TaskState): ArtifactPositions {
  return new Map(state.artifacts.map(({ path }, i) => [path, i]))
}

/** The state after a delta. The given state and positions are not changed. */
export function applyDelta(
  state: TaskState,
  delta: Delta,
  positions: ArtifactPositions = positionsOf(state),
): TaskState {
  const next = { ...state, ...delta.set }
  for (const field of delta.unset ?? []) delete next[field]
  let at = positions
  if (delta.artifacts_removed !== undefined) {
    const gone = new Set(delta.artifacts_removed)
    next.artifacts = next.artifacts.filter(({ path }) => !gone.has(path))
  }
  if (reorders(delta)) at = positionsOf(next)
  if (delta.artifacts !== undefined) {
    next.artifacts = [...next.artifacts]
    put(next.artifacts, delta.artifacts, at)
  }
  if (delta.decisions_made !== undefined) next.decisions_made = [...next.decisions_made, ...delta.decisions_made]
  return next
}

/** Updates the positions of a state to those of the next state, which the delta made of it. */
export function updatePositions(positions: ArtifactPositions, next: TaskState, delta: Delta): void {
  if (reorders(delta)) {
    positions.clear()
    next.artifacts.forEach(({ path }, i) => positions.set(path, i))
    return
  }
  for (const { path } of delta.artifacts ?? []) if (!positions.has(path)) positions.set(path, positions.size)
}

/** Applies deltas one after the other to a copy of a state, without copying its lists each time. */
export class Replay {
  readonly positions: ArtifactPositions
  state: TaskState

  constructor(state: TaskState, positions: ArtifactPositions) {
    this.state = { ...state, artifacts: [...state.artifacts], decisions_made: [...state.decisions_made] }
    this.positions = new Map(positions)
  }

  add(delta: Delta): void {
    const { artifacts, decisions_made, ...rest } = delta
    const next = applyDelta(this.state, rest, this.positions)
    if (delta.set?.artifacts !== undefined) next.artifacts = [...next.artifacts]
    if (delta.set?.decisions_made !== undefined) next.decisions_made = [...next.decisions_made]
    if (reorders(delta)) updatePositions(this.positions, next, rest)
    for (const artifact of artifacts ?? []) {
      put(next.artifacts, [artifact], this.positions)
      if (!this.positions.has(artifact.path)) this.positions.set(artifact.path, next.artifacts.length - 1)
    }
    next.decisions_made.push(...(decisions_made ?? []))
    this.state = next
  }
}

/** Whether artifacts change their positions. */
function reorders(delta: Delta): boolean {
  return delta.artifacts_removed !== undefined || delta.set?.artifacts !== undefined
}

function put(artifacts: TaskArtifact[], added: readonly TaskArtifact[], positions: ArtifactPositions): void {
  const own: ArtifactPositions = new Map()
  for (const artifact of added) {
    const known = own.get(artifact.path) ?? positions.get(artifact.path)
    const place = known !== undefined && artifacts[known]?.path === artifact.path ? known : artifacts.length
    artifacts[place] = artifact
    own.set(artifact.path, place)
  }
}

/** The delta from one state to another, whatever the difference is. */
export function deltaBetween(from: TaskState, to: TaskState): Delta {
  const { artifacts, decisions_made, ...rest } = to
  const set = changedFields(from, rest)
  const unset = Object.keys(from).filter((field) => !(field in to))
  const delta: Record<string, unknown> = unset.length > 0 ? { unset } : {}

  const before = new Map(from.artifacts.map((each) => [each.path, JSON.stringify(each)]))
  const after = new Set(artifacts.map(({ path }) => path))
  const removed = from.artifacts.map(({ path }) => path).filter((path) => !after.has(path))
  const added = artifacts.filter((each) => before.get(each.path) !== JSON.stringify(each))
  if (removed.length > 0) delta.artifacts_removed = removed
  if (added.length > 0) delta.artifacts = added
  const sameOrder = applyDelta(from, delta).artifacts
  if (sameOrder.length !== artifacts.length || sameOrder.some(({ path }, i) => path !== artifacts[i]!.path)) {
    delete delta.artifacts_removed
    delete delta.artifacts
    set.artifacts = artifacts
  }

  const known = from.decisions_made.length
  if (same(decisions_made.slice(0, known), from.decisions_made)) {
    if (decisions_made.length > known) delta.decisions_made = decisions_made.slice(known)
  } else set.decisions_made = decisions_made

  return { ...(Object.keys(set).length > 0 ? { set } : {}), ...delta }
}

/** The fields that differ from the state's. */
export function changedFields(state: TaskState, fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => value !== undefined && !same(state[field], value)),
  )
}

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

/** The difference between any two versions of a task, for people. */
export interface TaskDiff {
  readonly task_id: string
  readonly from: number
  readonly to: number
  readonly fields: Readonly<Record<string, { readonly from?: unknown; readonly to?: unknown }>>
  readonly artifacts: {
    readonly added: readonly TaskArtifact[]
    readonly changed: readonly { readonly from: TaskArtifact; readonly to: TaskArtifact }[]
    readonly removed: readonly TaskArtifact[]
  }
  readonly decisions_made: { readonly added: readonly TaskDecision[]; readonly removed: readonly TaskDecision[] }
  readonly blocking_issues: { readonly added: readonly TaskIssue[]; readonly removed: readonly TaskIssue[] }
}

const parts = new Set(['version', 'artifacts', 'decisions_made', 'blocking_issues'])

export function diffStates(from: TaskState, to: TaskState): TaskDiff {
  const fields: Record<string, { from?: unknown; to?: unknown }> = {}
  for (const field of new Set([...Object.keys(from), ...Object.keys(to)])) {
    if (parts.has(field) || text(from[field]) === text(to[field])) continue
    fields[field] = {
      ...(from[field] === undefined ? {} : { from: from[field] }),
      ...(to[field] === undefined ? {} : { to: to[field] }),
    }
  }
  const before = new Map(from.artifacts.map((each) => [each.path, each]))
  const after = new Set(to.artifacts.map(({ path }) => path))
  return {
    task_id: to.task_id,
    from: from.version,
    to: to.version,
    fields,
    artifacts: {
      added: to.artifacts.filter(({ path }) => !before.has(path)),
      changed: to.artifacts
        .map((each) => ({ from: before.get(each.path), to: each }))
        .filter((pair): pair is { from: TaskArtifact; to: TaskArtifact } => {
          return pair.from !== undefined && text(pair.from) !== text(pair.to)
        }),
      removed: from.artifacts.filter(({ path }) => !after.has(path)),
    },
    decisions_made: compare(from.decisions_made, to.decisions_made),
    blocking_issues: compare(from.blocking_issues, to.blocking_issues),
  }
}

function compare<T>(from: readonly T[], to: readonly T[]): { added: T[]; removed: T[] } {
  const before = new Set(from.map(text))
  const after = new Set(to.map(text))
  return { added: to.filter((each) => !before.has(text(each))), removed: from.filter((each) => !after.has(text(each))) }
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? ''
}
