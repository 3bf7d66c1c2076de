// Tasks: typed, versioned state that passes from agent to agent. Agents hand work over and receive it, people approve, everyone can
// look back. versions.ts keeps the versions on a tape, handoffs.ts makes the next one if gates.ts lets it, and state-file.ts writes the
// newest one as a file.

import { checked } from '../config/index.ts'
import { BatonError, ConflictError, InvalidError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { type Person, personAtTerminal } from '../system/index.ts'
import { silentTasks, type TaskObserver, taskTelemetry } from '../telemetry/index.ts'
import { handoffFromFile, withResults } from './advance.ts'
import { type Drift, FileHashes, findDrift } from './artifacts.ts'
import { deltaBetween, diffStates, type TaskDiff } from './delta.ts'
import { Handoffs, type HandoffChoices, type People } from './handoffs.ts'
import { checkAcyclic, readiness, type Readiness } from './dependencies.ts'
import { type GateResult, isStopping } from './gates.ts'
import {
  checkApprovals,
  type PersonDecision,
  type DecisionInput,
  gateWasPassedBy,
  type GateRefusal,
  type PersonQuestion,
  proposalOf,
  Questions,
  standing,
  type Verdict,
} from './questions.ts'
import {
  type GivenHandoff,
  type HandoffCommand,
  type NewTask,
  newTaskSchema,
  type TaskSpec,
  stateSchema,
  type TaskHandoff,
  type TaskState,
} from './schema.ts'
import { checkBytes, checkLists, checkTexts, checkTransition, defaultSettings, type TaskSettings } from './settings.ts'
import { StateFiles } from './state-file.ts'
import { compressContext, summarise } from './summary.ts'
import {
  encodeTaskId,
  fromTheFuture,
  type LostVersions,
  noteOf,
  type TaskHead,
  type TaskVersion,
  Versions,
} from './versions.ts'

export interface TasksOptions {
  readonly store: Store
  /** The folder that the paths of artifacts are relative to. */
  readonly project: string
  /** The folder of the state files. */
  readonly stateFolder: string
  readonly settings?: TaskSettings
  /** Where people are asked; without it, questions wait in the task itself. */
  readonly people?: People
  /** OpenTelemetry by default, which does nothing and costs nothing until an SDK is set up. */
  readonly telemetry?: TaskObserver
  readonly clock?: () => Date
  readonly close?: () => Promise<void>
}

export interface DecideOptions extends DecisionInput {
  /** How a door has recognised the person; by default, it must be somebody at the terminal of this process. */
  readonly person?: Person | undefined
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
  /** What is missing in the state because entries of its tape were damaged. */
  readonly lost: LostVersions
}

/** What people decided and gates refused before the next version. */
interface Between {
  readonly approvals: (PersonDecision & { readonly date: string })[]
  readonly rejections: (PersonDecision & { readonly date: string })[]
  readonly withdrawals: (PersonDecision & { readonly date: string })[]
  readonly refusals: (GateRefusal & { readonly date: string })[]
}

/** A version; of one that was lost with a damaged entry, only its number is known. */
export type TaskHistoryRow = Between &
  ((TaskVersion & { readonly lost?: undefined }) | { readonly version: number; readonly lost: true })

/** A task that cannot be read, mostly because its tape is damaged; the error says what to do. */
export interface TaskProblem {
  readonly task_id: string
  readonly error: BatonError
}

/** The tasks of a workspace: typed, versioned state that passes from agent to agent through gates. */
export class Tasks {
  readonly project: string
  readonly settings: TaskSettings
  readonly #versions: Versions
  readonly #questions: Questions
  readonly #people: People | undefined
  readonly #telemetry: TaskObserver
  readonly #hashes = new FileHashes()
  readonly #files: StateFiles
  readonly #handoffs: Handoffs
  readonly #clock: () => Date
  readonly #close: () => Promise<void>

  constructor(options: TasksOptions) {
    this.project = options.project
    this.settings = options.settings ?? defaultSettings
    this.#versions = new Versions(options.store)
    this.#people = options.people
    this.#telemetry = options.telemetry ?? taskTelemetry()
    this.#files = new StateFiles(options.stateFolder, (task) => this.#versions.newest(task))
    this.#clock = options.clock ?? (() => new Date())
    this.#questions = new Questions(this.#versions, this.#clock)
    this.#handoffs = new Handoffs({
      store: options.store,
      versions: this.#versions,
      questions: this.#questions,
      people: options.people,
      hashes: this.#hashes,
      project: this.project,
      settings: this.settings,
      clock: this.#clock,
      checkSpec: (task, spec) => this.#checkSpec(task, spec),
    })
    this.#close = options.close ?? (async () => {})
  }

  /** Creates a task at version 1. */
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
    const context_summary = state.context_summary || (await compressContext(state))
    return this.#createState({ ...state, context_summary })
  }

  /** Hands a task to the next agent: load, apply, version + 1, save, and return the command for the agent that takes over. */
  async handoff(input: TaskHandoff, choices: HandoffChoices = {}): Promise<HandoffCommand> {
    const { next, handoff } = await this.#handoffs.make(input, choices, this.#telemetry)
    return this.#command(next, handoff, await this.#files.follow(next))
  }

  /** What a handoff would do, gates included, without doing it. */
  async prepare(input: TaskHandoff, choices: HandoffChoices = {}): Promise<Prepared> {
    const { head, handoff, step, gates } = await this.#handoffs.prepare(input, choices, silentTasks)
    const { next } = withResults(head.state, step, gates)
    return { command: await this.#command(next, handoff), gates, ok: !gates.some(isStopping) }
  }

  /** Makes a handoff from a state file that was copied and edited: what is in the file but not in the task. */
  async fromFile(
    task: string,
    file: unknown,
  ): Promise<{ handoff: Record<string, unknown>; expect: number | undefined }> {
    const partial = checked(stateSchema.partial().pick({ task_id: true, version: true }), file, 'The state file')
    if (partial.task_id !== undefined && partial.task_id !== task) {
      throw new InvalidError(`The state file is that of ${partial.task_id}, not of ${task}`, { path: 'task_id' })
    }
    const { state } = await this.#versions.existing(task)
    return { handoff: handoffFromFile(file as Record<string, unknown>, state), expect: partial.version }
  }

  /** Receives a task: its state, validated, and the files that are not as they were handed over. */
  async receive(from: string | Pick<HandoffCommand, 'task_id'>): Promise<Received> {
    const task = typeof from === 'string' ? from : from.task_id
    const head = await this.#versions.existing(task)
    const state = checked(stateSchema, head.state, `The state of ${task}`)
    const problem = await this.#files.ensure(head.state)
    return {
      state,
      summary: await this.summary(state),
      state_file: this.stateFile(task),
      ...(problem === undefined ? {} : { state_file_problem: problem }),
      drift: await this.drift(state),
      lost: head.lost,
    }
  }

  /** The artifacts that are not as they were handed over. */
  drift(state: TaskState): Promise<Drift> {
    return findDrift(this.project, state, this.#hashes)
  }

  /** The newest state; writes its file again if that differs. */
  async get(task: string): Promise<TaskState> {
    const { state } = await this.#versions.existing(task)
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
    await this.#checkPerson(head.state, state)
    const delta = deltaBetween(head.state, state)
    checkBytes(JSON.stringify(delta).length, this.settings.bounds)
    const saved = await this.#versions.advance(head, state, delta, {
      ...noteOf(state),
      artifacts_added: delta.artifacts?.length ?? 0,
      decisions_made: delta.decisions_made?.length ?? 0,
    })
    await this.#recordQuestions(saved.state)
    await this.#files.follow(saved.state)
    return saved.state
  }

  /** A whole state must neither drop a question, nor answer it, nor continue as long as it is open. */
  async #checkPerson(before: TaskState, state: TaskState): Promise<void> {
    const stands = standing(before, state.blocking_issues, await this.#questions.of(before))
    checkApprovals(state.blocking_issues, stands)
    const { task_id: task, phase, source_agent, target_agent } = state
    const [rejected] = stands.rejected
    if (rejected !== undefined)
      throw gateWasPassedBy(task, `what ${rejected.by} rejected cannot be saved: ${rejected.issue}`)
    if (stands.open.length === 0) return
    const kept = new Set(state.blocking_issues.filter((each) => each.requires_human).map(proposalOf))
    const dropped = stands.open.find((each) => !kept.has(proposalOf(each)))
    if (dropped !== undefined)
      throw gateWasPassedBy(task, `a state without its question cannot be saved: ${dropped.issue}`)
    if (phase !== before.phase || source_agent !== before.source_agent || target_agent !== before.target_agent) {
      throw gateWasPassedBy(task, 'it cannot change its phase or its agents')
    }
  }

  async #recordQuestions(state: TaskState): Promise<void> {
    if (!state.blocking_issues.some((each) => each.requires_human)) return
    await this.#handoffs.bringToPeople(state, await this.#questions.ask(state, state, []))
  }

  /** Records that a person lets work continue in spite of an issue. */
  async approve(task: string, options: DecideOptions): Promise<PersonDecision> {
    return this.#decide(task, 'approved', options)
  }

  /** Records a person's no. The agent may continue without it, or ask again with a changed proposal. */
  async reject(task: string, options: DecideOptions): Promise<PersonDecision> {
    return this.#decide(task, 'rejected', options)
  }

  /** Records that a question does not matter any more. */
  async withdraw(task: string, options: DecideOptions): Promise<PersonDecision> {
    return this.#decide(task, 'withdrawn', options)
  }

  async #decide(task: string, verdict: Verdict, { person, ...input }: DecideOptions): Promise<PersonDecision> {
    const { state } = await this.#versions.existing(task)
    const [decision, questions] = await this.#questions.decide(state, verdict, input, person ?? personAtTerminal())
    const { task_title } = state
    for (const question of questions) await this.#people?.settle({ task_id: task, task_title, question }, decision)
    return decision
  }

  /** The questions that wait for a person. */
  async waitingForPerson(task: string): Promise<PersonQuestion[]> {
    const { state } = await this.#versions.existing(task)
    return this.#questions.open(state)
  }

  /** The state of a task as it was at that version. */
  async at(task: string, version: number): Promise<TaskState> {
    return (await this.#versions.at(task, version)).state
  }

  /** What is missing in the newest state, or that of a version, because entries of its tape were damaged. */
  async lost(task: string, version?: number): Promise<LostVersions> {
    return version === undefined
      ? (await this.#versions.existing(task)).lost
      : (await this.#versions.at(task, version)).lost
  }

  /** Every version, oldest first. */
  async history(task: string): Promise<TaskHistoryRow[]> {
    const { state } = await this.#versions.existing(task)
    const rows: TaskHistoryRow[] = []
    const addLost = (before: number) => {
      while (rows.length + 1 < before) rows.push({ version: rows.length + 1, lost: true, ...nothing() })
    }
    for await (const version of this.#versions.list(task)) {
      addLost(version.version)
      rows.push({ ...version, ...nothing() })
    }
    addLost(state.version + 1)
    for await (const decision of this.#questions.decisions(task)) {
      const list = { approved: 'approvals', rejected: 'rejections', withdrawn: 'withdrawals' } as const
      rows[decision.version - 1]?.[list[decision.verdict]].push(decision)
    }
    for await (const refusal of this.#questions.refusals(task)) rows[refusal.version - 1]?.refusals.push(refusal)
    return rows
  }

  /** What differs between two versions; by default, between the last two. */
  async diff(task: string, from?: number, to?: number): Promise<TaskDiff> {
    const last = to ?? (await this.#versions.existing(task)).state.version
    const first = from ?? Math.max(1, last - 1)
    return diffStates(await this.at(task, first), await this.at(task, last))
  }

  /**
   * The newest state of every task. A task that cannot be read is reported to `onProblem` and left out; without that, the error is
   * thrown when all others were returned.
   */
  async *list(onProblem?: (problem: TaskProblem) => void): AsyncGenerator<TaskState> {
    let first: BatonError | undefined
    for await (const task of this.#versions.tasks()) {
      let head: TaskHead | undefined
      try {
        head = await this.#versions.head(task)
      } catch (error) {
        if (!BatonError.is(error)) throw error
        first ??= error
        onProblem?.({ task_id: task, error })
      }
      if (head !== undefined) yield head.state
    }
    if (first !== undefined && onProblem === undefined) throw first
  }

  /** The open tasks whose dependencies are completed, those that wait, and those that cannot be read. */
  async ready(): Promise<Readiness & { readonly problems: readonly TaskProblem[] }> {
    const tasks: TaskState[] = []
    const problems: TaskProblem[] = []
    for await (const task of this.list((problem) => problems.push(problem))) tasks.push(task)
    return { ...readiness(tasks), problems }
  }

  /** The summary for the next agent: at most 500 tokens for every state. */
  async summary(state: TaskState): Promise<string> {
    return summarise(state, this.stateFile(state.task_id))
  }

  /** Where the state is written for people and agents to read. */
  stateFile(task: string): string {
    return this.#files.path(task)
  }

  /** Resolves when every state file is written; returns the problem, if there was one. */
  async settle(): Promise<string | undefined> {
    return this.#files.settle()
  }

  /** Closes the store too, unless it was given. */
  async close(): Promise<void> {
    await this.#files.settle()
    await this.#close()
  }

  async #createState(state: TaskState): Promise<TaskState> {
    checkApprovals(state.blocking_issues, { approval: () => undefined })
    checkLists(state, this.settings.bounds)
    const bytes = JSON.stringify(state).length
    checkBytes(bytes, this.settings.bounds)
    await this.#versions.create(state, noteOf(state))
    await this.#recordQuestions(state)
    await this.#files.follow(state)
    return state
  }

  async #checkSpec(task: string, spec: TaskSpec | undefined): Promise<void> {
    if (spec === undefined || spec.dependencies.length === 0) return
    const graph = new Map<string, readonly string[]>()
    // A circle through a task that cannot be read is not seen; what depends on that task waits for it anyway.
    for await (const each of this.list(() => {})) graph.set(each.task_id, each.spec?.dependencies ?? [])
    checkAcyclic(graph.set(task, spec.dependencies), task)
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

function nothing(): Between {
  return { approvals: [], rejections: [], withdrawals: [], refusals: [] }
}
