// A person's word that work may go on in spite of an issue that requires one. It counts for the version that the
// person saw: a task that has moved on needs a new one.

import type { Issue, TaskState } from './schema.ts'

export const approvalKey = 'approval'
export const refusalKey = 'refusal'

export interface Approval {
  readonly version: number
  readonly by: string
  readonly note?: string
  /** The issues that the person let pass. */
  readonly issues: readonly string[]
}

/** A handoff that a gate stopped. It changes no state; what it asks of a person is found here. */
export interface Refusal {
  readonly version: number
  readonly source_agent: string
  readonly target_agent: string
  readonly phase: string
  readonly gates: readonly unknown[]
  readonly issues: readonly string[]
}

/** The issues of a handoff out of a state, those that it drops included, that still wait for a person. */
export function unapproved(state: TaskState, incoming: readonly Issue[], approval: Approval | undefined): Issue[] {
  const approved = new Set(approval?.version === state.version ? approval.issues : [])
  for (const each of state.blocking_issues) if (each.approved_by !== undefined) approved.add(each.issue)
  const waiting = new Map<string, Issue>()
  for (const each of [...state.blocking_issues, ...incoming]) {
    if (each.requires_human && !approved.has(each.issue)) waiting.set(each.issue, each)
  }
  return [...waiting.values()]
}
