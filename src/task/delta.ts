// What one version changes: small when little changes, however much the task holds.

import type { Artifact, Decision, TaskState } from './schema.ts'

export interface Delta {
  /** Fields with their new values. */
  readonly set?: Readonly<Record<string, unknown>>
  readonly unset?: readonly string[]
  readonly artifacts_removed?: readonly string[]
  /** Each takes the place of the artifact with its path, or comes last. */
  readonly artifacts?: readonly Artifact[]
  /** These come last. */
  readonly decisions_made?: readonly Decision[]
}

/** Where each artifact stands, by its path. Looking through ten thousand for every handoff would take longer than it. */
export type Places = Map<string, number>

export function placesOf(state: TaskState): Places {
  return new Map(state.artifacts.map(({ path }, i) => [path, i]))
}

/** The state after a delta. The given state and its places stay as they are. */
export function apply(state: TaskState, delta: Delta, places: Places = placesOf(state)): TaskState {
  const next = { ...state, ...delta.set }
  for (const field of delta.unset ?? []) delete next[field]
  let at = places
  if (delta.artifacts_removed !== undefined) {
    const gone = new Set(delta.artifacts_removed)
    next.artifacts = next.artifacts.filter(({ path }) => !gone.has(path))
  }
  if (reorders(delta)) at = placesOf(next)
  if (delta.artifacts !== undefined) {
    next.artifacts = [...next.artifacts]
    put(next.artifacts, delta.artifacts, at)
  }
  if (delta.decisions_made !== undefined) next.decisions_made = [...next.decisions_made, ...delta.decisions_made]
  return next
}

/** Brings the places of a state up to date with the state that a delta made of it. */
export function movePlaces(places: Places, next: TaskState, delta: Delta): void {
  if (reorders(delta)) {
    places.clear()
    next.artifacts.forEach(({ path }, i) => places.set(path, i))
    return
  }
  for (const { path } of delta.artifacts ?? []) if (!places.has(path)) places.set(path, places.size)
}

/** Applies deltas one after the other to a state of its own, without copying its lists for each. */
export class Replay {
  readonly places: Places
  state: TaskState

  constructor(state: TaskState, places: Places) {
    this.state = { ...state, artifacts: [...state.artifacts], decisions_made: [...state.decisions_made] }
    this.places = new Map(places)
  }

  add(delta: Delta): void {
    const { artifacts, decisions_made, ...rest } = delta
    const next = apply(this.state, rest, this.places)
    if (delta.set?.artifacts !== undefined) next.artifacts = [...next.artifacts]
    if (delta.set?.decisions_made !== undefined) next.decisions_made = [...next.decisions_made]
    if (reorders(delta)) movePlaces(this.places, next, rest)
    for (const artifact of artifacts ?? []) {
      put(next.artifacts, [artifact], this.places)
      if (!this.places.has(artifact.path)) this.places.set(artifact.path, next.artifacts.length - 1)
    }
    next.decisions_made.push(...(decisions_made ?? []))
    this.state = next
  }
}

/** Whether artifacts change their places. */
function reorders(delta: Delta): boolean {
  return delta.artifacts_removed !== undefined || delta.set?.artifacts !== undefined
}

function put(artifacts: Artifact[], added: readonly Artifact[], places: Places): void {
  const own: Places = new Map()
  for (const artifact of added) {
    const known = own.get(artifact.path) ?? places.get(artifact.path)
    const place = known !== undefined && artifacts[known]?.path === artifact.path ? known : artifacts.length
    artifacts[place] = artifact
    own.set(artifact.path, place)
  }
}

/** The delta that leads from one state to another, whatever lies between them. */
export function deltaBetween(from: TaskState, to: TaskState): Delta {
  const { artifacts, decisions_made, ...rest } = to
  const set = changed(from, rest)
  const unset = Object.keys(from).filter((field) => !(field in to))
  const delta: Record<string, unknown> = unset.length > 0 ? { unset } : {}

  const before = new Map(from.artifacts.map((each) => [each.path, JSON.stringify(each)]))
  const after = new Set(artifacts.map(({ path }) => path))
  const removed = from.artifacts.map(({ path }) => path).filter((path) => !after.has(path))
  const added = artifacts.filter((each) => before.get(each.path) !== JSON.stringify(each))
  if (removed.length > 0) delta.artifacts_removed = removed
  if (added.length > 0) delta.artifacts = added
  const sameOrder = apply(from, delta).artifacts
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

/** Those of the fields that differ from the state's. */
export function changed(state: TaskState, fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => value !== undefined && !same(state[field], value)),
  )
}

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}
