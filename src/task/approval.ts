// A person's word that work may go on in spite of an issue that requires one. It counts for the version that the
// person saw: a task that has moved on needs a new one.

import { InvalidError } from '../errors.ts'
import type { GateResult } from './gates.ts'
import type { GivenHandoff, Issue, TaskState } from './schema.ts'
import type { Versions } from './versions.ts'

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

/** What people let pass, and what gates stopped, version by version. */
export class Approvals {
  readonly #versions: Versions

  constructor(versions: Versions) {
    this.#versions = versions
  }

  async approval(state: TaskState): Promise<Approval | undefined> {
    const found = (await this.#versions.latestNote(state.task_id, approvalKey))?.data as Approval | undefined
    return found?.version === state.version ? found : undefined
  }

  /** What waits for a person: in the state, and in the last handoff out of it that was stopped. */
  async waiting(state: TaskState): Promise<string[]> {
    const approval = await this.approval(state)
    const refused = (await this.#refusal(state))?.issues ?? []
    const issues = [...unapproved(state, [], undefined).map(({ issue }) => issue), ...refused]
    return [...new Set(issues)].filter((issue) => approval?.issues.includes(issue) !== true)
  }

  async approve(state: TaskState, by: string, note?: string): Promise<Approval> {
    const { task_id: task, version } = state
    if (by.trim() === '') throw new InvalidError('An approval needs the name of a person', { path: 'by' })
    if (by === state.source_agent || by === state.target_agent) {
      throw new InvalidError(`${by} is an agent of this task and cannot approve it`, {
        path: 'by',
        hint: 'A person decides; give the name with --by.',
      })
    }
    const open = await this.waiting(state)
    if (open.length === 0) {
      throw new InvalidError(`Nothing of ${task} waits for a person at version ${version}`, {
        hint: `See "baton task show ${task}".`,
      })
    }
    const earlier = (await this.approval(state))?.issues ?? []
    const approval = { version, by, ...(note === undefined ? {} : { note }), issues: [...earlier, ...open] }
    await this.#versions.note(task, approvalKey, approval)
    return approval
  }

  /** Records that gates stopped a handoff, and what of it waits for a person. */
  async refuse(state: TaskState, handoff: GivenHandoff, gates: readonly GateResult[]): Promise<void> {
    const waiting = unapproved(state, handoff.blocking_issues, await this.approval(state))
    const { source_agent, target_agent, phase } = handoff
    await this.#versions.note(state.task_id, refusalKey, {
      version: state.version,
      source_agent,
      target_agent,
      phase,
      gates: gates.filter(({ ok }) => !ok),
      issues: waiting.map(({ issue }) => issue),
    } satisfies Refusal)
  }

  async #refusal(state: TaskState): Promise<Refusal | undefined> {
    const found = (await this.#versions.latestNote(state.task_id, refusalKey))?.data as Refusal | undefined
    return found?.version === state.version ? found : undefined
  }
}
