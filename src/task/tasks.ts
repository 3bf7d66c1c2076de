// Tasks as their users hold them: agents hand work over and receive it, people approve, everyone can look back.

import { checked } from '../config/checked.ts'
import { BatonError, ConflictError, InvalidError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { advance, handoffFromFile, type Step, withResults } from './advance.ts'
import { type Approval, approvalKey, Approvals, type Refusal, refusalKey } from './approval.ts'
import { type Drift, findDrift, projectPath, takeArtifacts } from './artifacts.ts'
import { checkBytes, checkLists, checkTexts } from './bounds.ts'
import { deltaBetween } from './delta.ts'
import { checkAcyclic, readiness, type Readiness } from './dependencies.ts'
import { diffStates, type TaskDiff } from './diff.ts'
import { GateError, type GateResult, isStopping, runGates } from './gates.ts'
import { checkTransition } from './phases.ts'
import {
  type GivenHandoff,
  type HandoffCommand,
  handoffSchema,
  type NewTask,
  newTaskSchema,
  type Spec,
  stateSchema,
  type TaskHandoff,
  type TaskState,
} from './schema.ts'
import { defaultSettings, type TaskSettings } from './settings.ts'
import { StateFiles } from './state-file.ts'
import { compressContext, summarise } from './summary.ts'
import { encodeTaskId } from './task-id.ts'
import { type Head, movedOn, type Version, Versions } from './versions.ts'

export interface TasksOptions {
  readonly store: Store
  /** What the paths of artifacts are relative to. */
  readonly project: string
  /** Where the state files lie. */
  readonly stateFolder: string
  readonly settings?: TaskSettings
  readonly clock?: () => Date
  readonly close?: () => Promise<void>
}

export interface HandoffChoices {
  /** The version that the handoff was made from; another one is a conflict. */
  readonly expect?: number
  /** Why to go on although a gate fails; recorded. A person's approval cannot be replaced by it. */
  readonly force?: string
  /** Ends the commands of gates, and the handoff with them. */
  readonly signal?: AbortSignal
}

export interface Prepared {
  /** What the handoff would return. */
  readonly command: HandoffCommand
  readonly gates: readonly GateResult[]
  /** Whether the handoff would go through. */
  readonly ok: boolean
}

export interface Received {
  readonly state: TaskState
  readonly summary: string
  readonly state_file: string
  readonly state_file_problem?: string
  readonly drift: Drift
}

export interface HistoryRow extends Version {
  /** What people and gates said about it before the next one. */
  readonly approvals: readonly (Approval & { readonly date: string })[]
  readonly refusals: readonly (Refusal & { readonly date: string })[]
}

export class Tasks {
  readonly project: string
  readonly settings: TaskSettings
  readonly #store: Store
  readonly #versions: Versions
  readonly #approvals: Approvals
  readonly #files: StateFiles
  readonly #clock: () => Date
  readonly #close: () => Promise<void>

  constructor(options: TasksOptions) {
    this.project = options.project
    this.settings = options.settings ?? defaultSettings
    this.#store = options.store
    this.#versions = new Versions(options.store)
    this.#approvals = new Approvals(this.#versions)
    this.#files = new StateFiles(options.stateFolder, (task) => this.#versions.newest(task))
    this.#clock = options.clock ?? (() => new Date())
    this.#close = options.close ?? (async () => {})
  }

  /** Makes a task at version 1. */
  async create(input: NewTask): Promise<TaskState> {
    const { task_id, task_title, phase, spec, ...more } = checked(newTaskSchema, input, 'The task')
    encodeTaskId(task_id)
    checkTexts(input, this.settings.bounds)
    await this.#checkSpec(task_id, spec)
    const now = this.#clock().toISOString()
    const state = checked(
      stateSchema,
      {
        ...more,
        task_id,
        task_title,
        phase,
        phase_started_at: now,
        handoff_timestamp: now,
        version: 1,
        ...(spec === undefined ? {} : { spec }),
      },
      'The task',
    )
    return this.#createState({ ...state, context_summary: state.context_summary || (await compressContext(state)) })
  }

  /** Hands a task to the next agent: load, apply, version + 1, save, and the command for whoever takes over. */
  async handoff(input: TaskHandoff, choices: HandoffChoices = {}): Promise<HandoffCommand> {
    const { head, handoff, step, gates } = await this.#prepare(input, choices)
    const stopping = gates.filter(isStopping)
    const isForced = stopping.length > 0 && choices.force !== undefined
    if (stopping.length > 0 && !(isForced && stopping.every(({ name }) => name !== 'human-approval'))) {
      await this.#approvals.refuse(head.state, handoff, gates)
      throw new GateError(handoff.task_id, handoff.target_agent, gates)
    }
    const warning = isForced ? forcedWarning(handoff, stopping, choices.force ?? '') : undefined
    const { next, delta } = withResults(head.state, step, gates, warning)
    checkLists(next, this.settings.bounds)
    const note = { ...noteOf(handoff), gates, ...(isForced ? { forced: choices.force ?? '' } : {}) }
    await this.#versions.advance(head, next, delta, note)
    return this.#command(next, handoff, await this.#files.follow(next))
  }

  /** What a handoff would do, its gates included, without doing it. */
  async prepare(input: TaskHandoff, choices: HandoffChoices = {}): Promise<Prepared> {
    const { head, handoff, step, gates } = await this.#prepare(input, choices)
    const { next } = withResults(head.state, step, gates)
    return { command: await this.#command(next, handoff), gates, ok: !gates.some(isStopping) }
  }

  async #prepare(
    input: TaskHandoff,
    choices: HandoffChoices,
  ): Promise<{ head: Head; handoff: GivenHandoff; step: Step; gates: GateResult[] }> {
    const handoff = checked(handoffSchema, input, 'The handoff')
    const { settings, project } = this
    checkTexts(handoff, settings.bounds)
    if (choices.force?.trim() === '') throw new InvalidError('To force a handoff takes a reason', { path: 'force' })
    const head = await this.#head(handoff.task_id)
    const { state } = head
    expectVersion(state, choices.expect)
    await this.#checkSpec(handoff.task_id, handoff.spec)
    checkTransition(settings.phases, state.phase, handoff.phase)
    const removed = handoff.artifacts_removed.map((each, i) => projectPath(project, each, `artifacts_removed[${i}]`))
    const artifacts = await takeArtifacts(project, handoff.artifacts)
    const approval = await this.#approvals.approval(state)
    const now = this.#clock().toISOString()
    const given = { ...handoff, artifacts_removed: removed }
    const step = await advance(state, head.places, { handoff: given, artifacts, approval, now })
    checkLists(step.next, settings.bounds)
    checkBytes(JSON.stringify(step.delta).length, settings.bounds)
    const { signal } = choices
    const all = choices.force !== undefined
    const gates = await runGates({
      state,
      next: step.next,
      approval,
      settings,
      project,
      store: this.#store,
      signal,
      all,
    })
    return { head, handoff, step, gates }
  }

  /** Hands over what a state file that was copied and edited has, and the task has not. */
  async fromFile(
    task: string,
    file: unknown,
  ): Promise<{ handoff: Record<string, unknown>; expect: number | undefined }> {
    const partial = checked(stateSchema.partial().pick({ task_id: true, version: true }), file, 'The state file')
    if (partial.task_id !== undefined && partial.task_id !== task) {
      throw new InvalidError(`The state file is that of ${partial.task_id}, not of ${task}`, { path: 'task_id' })
    }
    const { state } = await this.#head(task)
    return { handoff: handoffFromFile(file as Record<string, unknown>, state), expect: partial.version }
  }

  /** Takes a task over: its state, checked, and what is no longer as it was handed over. */
  async receive(from: string | Pick<HandoffCommand, 'task_id'>): Promise<Received> {
    const task = typeof from === 'string' ? from : from.task_id
    const head = await this.#head(task)
    const state = checked(stateSchema, head.state, `The state of ${task}`)
    const problem = await this.#files.ensure(head.state)
    return {
      state,
      summary: await this.summary(state),
      state_file: this.stateFile(task),
      ...(problem === undefined ? {} : { state_file_problem: problem }),
      drift: await findDrift(this.project, state),
    }
  }

  /** The newest state; makes its file anew where that is not what it should be. */
  async get(task: string): Promise<TaskState> {
    const { state } = await this.#head(task)
    await this.#files.ensure(state)
    return state
  }

  /** Stores a whole state as its `version`, which must be the next one. */
  async save(input: TaskState): Promise<TaskState> {
    const state = checked(stateSchema, input, 'The state')
    const { task_id: task, version } = state
    checkTexts(state, this.settings.bounds)
    checkLists(state, this.settings.bounds)
    const head = await this.#versions.head(task)
    const actual = head?.state.version ?? 0
    if (version > actual + 1) throw fromTheFuture(task, version, actual)
    if (version <= actual) {
      throw new ConflictError(`Task ${task} is at version ${actual}, so version ${version} cannot be saved`, {
        expected: version - 1,
        actual,
        hint: `The next one is version ${actual + 1}; look at what has changed first.`,
      })
    }
    if (head === undefined) return this.#createState(state)
    checkTransition(this.settings.phases, head.state.phase, state.phase)
    const delta = deltaBetween(head.state, state)
    checkBytes(JSON.stringify(delta).length, this.settings.bounds)
    const saved = await this.#versions.advance(head, state, delta, {
      ...noteOf(state),
      artifacts_added: delta.artifacts?.length ?? 0,
      decisions_made: delta.decisions_made?.length ?? 0,
    })
    await this.#files.follow(saved.state)
    return saved.state
  }

  /** A person's word that work may go on in spite of what waits for one. */
  async approve(task: string, { by, note }: { by: string; note?: string }): Promise<Approval> {
    const { state } = await this.#head(task)
    return this.#approvals.approve(state, by, note)
  }

  /** What waits for a person: in the state, and in the last handoff out of it that was stopped. */
  async waitingForPerson(task: string): Promise<string[]> {
    const { state } = await this.#head(task)
    return this.#approvals.waiting(state)
  }

  async at(task: string, version: number): Promise<TaskState> {
    return this.#versions.at(task, version)
  }

  /** Every version, oldest first. */
  async history(task: string): Promise<HistoryRow[]> {
    await this.#head(task)
    const rows: (Version & { approvals: (Approval & { date: string })[]; refusals: (Refusal & { date: string })[] })[] =
      []
    for await (const version of this.#versions.list(task)) rows.push({ ...version, approvals: [], refusals: [] })
    for await (const { data, date } of this.#versions.notes(task, approvalKey)) {
      rows[(data as Approval).version - 1]?.approvals.push({ ...(data as Approval), date })
    }
    for await (const { data, date } of this.#versions.notes(task, refusalKey)) {
      rows[(data as Refusal).version - 1]?.refusals.push({ ...(data as Refusal), date })
    }
    return rows
  }

  /** What differs between two versions; by default, between the last two. */
  async diff(task: string, from?: number, to?: number): Promise<TaskDiff> {
    const last = to ?? (await this.#head(task)).state.version
    const first = from ?? Math.max(1, last - 1)
    return diffStates(await this.at(task, first), await this.at(task, last))
  }

  /** The newest state of every task. */
  async *list(): AsyncGenerator<TaskState> {
    for await (const task of this.#versions.tasks()) {
      const head = await this.#versions.head(task)
      if (head !== undefined) yield head.state
    }
  }

  /** The open tasks whose dependencies are completed, and those that wait. */
  async ready(): Promise<Readiness> {
    const tasks: TaskState[] = []
    for await (const task of this.list()) tasks.push(task)
    return readiness(tasks)
  }

  /** What the next agent is given: at most 500 tokens, whatever the state. */
  async summary(state: TaskState): Promise<string> {
    return summarise(state, this.stateFile(state.task_id))
  }

  stateFile(task: string): string {
    return this.#files.path(task)
  }

  /** Resolves when every state file is written; says what was in the way, if anything was. */
  async settle(): Promise<string | undefined> {
    return this.#files.settle()
  }

  async close(): Promise<void> {
    await this.#files.settle()
    await this.#close()
  }

  async #createState(state: TaskState): Promise<TaskState> {
    checkLists(state, this.settings.bounds)
    const bytes = JSON.stringify(state).length
    checkBytes(bytes, this.settings.bounds)
    await this.#versions.create(state, noteOf(state))
    await this.#files.follow(state)
    return state
  }

  async #checkSpec(task: string, spec: Spec | undefined): Promise<void> {
    if (spec === undefined || spec.dependencies.length === 0) return
    const graph = new Map<string, readonly string[]>()
    for await (const each of this.list()) graph.set(each.task_id, each.spec?.dependencies ?? [])
    checkAcyclic(graph.set(task, spec.dependencies), task)
  }

  async #head(task: string): Promise<Head> {
    const head = await this.#versions.head(task)
    if (head === undefined) throw await this.#versions.unknown(task)
    return head
  }

  async #command(next: TaskState, handoff: GivenHandoff, problem?: string): Promise<HandoffCommand> {
    return {
      task_id: next.task_id,
      target_agent: next.target_agent,
      phase: next.phase,
      state_delta: {
        version: next.version,
        artifacts_added: handoff.artifacts.length,
        decisions_made: handoff.decisions.length,
        blocking_issues: handoff.blocking_issues.length,
      },
      context_summary: await this.summary(next),
      state_file: this.stateFile(next.task_id),
      ...(problem === undefined ? {} : { state_file_problem: problem }),
    }
  }
}

function noteOf(about: GivenHandoff | TaskState) {
  const { source_agent, target_agent, phase, artifacts, blocking_issues } = about
  const decisions = 'decisions_made' in about ? (about as TaskState).decisions_made : about.decisions
  return {
    source_agent,
    target_agent,
    phase,
    artifacts_added: artifacts.length,
    decisions_made: decisions.length,
    blocking_issues: blocking_issues.length,
  }
}

function forcedWarning({ source_agent, phase }: GivenHandoff, stopping: readonly GateResult[], reason: string): string {
  const names = stopping.map(({ name }) => name).join(', ')
  return `${source_agent} went on to ${phase} although ${names} failed: ${reason}`
}

function expectVersion(state: TaskState, expected: number | undefined): void {
  const { task_id: task, version } = state
  if (expected === undefined || expected === version) return
  if (expected > version) throw fromTheFuture(task, expected, version)
  throw movedOn(task, expected, version)
}

function fromTheFuture(task: string, given: number, actual: number): BatonError {
  return new InvalidError(`Task ${task} has no version ${given} yet: it is at version ${actual}`, { path: 'version' })
}
