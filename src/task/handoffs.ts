// A handoff, step by step: take what the agent gives, make the next state of it, run the gates, and then write the next version or refuse
// and ask a person.

import { checked } from '../config/index.ts'
import { BatonError, InvalidError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import type { TaskHandoffSpan, TaskObserver } from '../telemetry/index.ts'
import { advance, type TaskStep, withResults } from './advance.ts'
import { driftedArtifacts, type FileHashes, projectPath, takeArtifacts, withoutWaived } from './artifacts.ts'
import { type AskedQuestion, GateError, type GateResult, isStopping, runGates } from './gates.ts'
import {
  type PersonDecision,
  type PersonQuestion,
  type QuestionRecord,
  type Questions,
  rejectionsAt,
  standing,
} from './questions.ts'
import {
  type GivenHandoff,
  handoffSchema,
  tokenUsageSchema,
  type TaskHandoff,
  type TaskPhase,
  type TaskSpec,
  type TaskState,
} from './schema.ts'
import { checkBytes, checkLists, checkTexts, checkTransition, type TaskSettings } from './settings.ts'
import { expectVersion, noteOf, type TaskHead, type Versions } from './versions.ts'

/** A question of a task, for the code that brings it before a person. */
export interface TaskQuestion {
  readonly task_id: string
  readonly task_title: string
  readonly question: PersonQuestion
}

/** Where people are asked, such as the escalations of a relay (`askThroughRelay`). */
export interface People {
  /** Asks a person, once for each question; returns the escalation, or undefined if nobody can be asked here. */
  ask(question: TaskQuestion): Promise<string | undefined>
  /** A person has decided elsewhere, so nobody needs to be asked any more. */
  settle(question: TaskQuestion, decision: PersonDecision): Promise<void>
}

export interface HandoffChoices {
  /** The version that the handoff was made from; another one is a conflict. */
  readonly expect?: number
  /** The reason to continue although a gate fails, which is recorded. It cannot replace a person's approval. */
  readonly force?: string
  /** What the model of the agent that hands over has used for its part of the task, for telemetry. */
  readonly tokenUsage?: { readonly input: number; readonly output: number }
  /** Ends the commands of gates and cancels the handoff. */
  readonly signal?: AbortSignal
}

/** A handoff with all that decides on it. */
export interface PreparedHandoff {
  readonly head: TaskHead
  readonly handoff: GivenHandoff
  readonly step: TaskStep
  readonly gates: readonly GateResult[]
  readonly record: QuestionRecord
  readonly span: TaskHandoffSpan
}

interface HandoffParts {
  readonly store: Store
  readonly versions: Versions
  readonly questions: Questions
  readonly people: People | undefined
  readonly hashes: FileHashes
  readonly project: string
  readonly settings: TaskSettings
  readonly clock: () => Date
  /** Refuses a specification whose dependencies form a circle. */
  readonly checkSpec: (task: string, spec: TaskSpec | undefined) => Promise<void>
}

export class Handoffs {
  readonly #parts: HandoffParts

  constructor(parts: HandoffParts) {
    this.#parts = parts
  }

  /** Makes the next version, or throws the `GateError` that says why not. */
  async make(
    input: TaskHandoff,
    choices: HandoffChoices,
    telemetry: TaskObserver,
  ): Promise<{ next: TaskState; handoff: GivenHandoff }> {
    const prepared = await this.prepare(input, choices, telemetry)
    const { head, handoff, span, gates } = prepared
    try {
      const stopping = gates.filter(isStopping)
      const isForced = stopping.length > 0 && choices.force !== undefined
      if (stopping.length > 0 && !(isForced && stopping.every(({ name }) => name !== 'human-approval'))) {
        const refusal = await this.#refuse(head.state, handoff, gates)
        span.refused(stopping.map(({ name }) => name))
        throw refusal
      }
      const next = await this.#advance(prepared, isForced ? choices.force : undefined)
      span.handedOver(next.version)
      return { next, handoff }
    } catch (error) {
      span.failed(error)
      throw error
    }
  }

  async #advance({ head, handoff, step, gates, record, span }: PreparedHandoff, forced?: string): Promise<TaskState> {
    const { next, delta } = withResults(head.state, step, gates, [
      ...(forced === undefined ? [] : [forcedWarning(handoff, gates.filter(isStopping), forced)]),
      ...handoff.waivers.map(({ path, reason }) => `${handoff.source_agent} waived ${path}: ${reason}`),
      ...leftOut(handoff.source_agent, head.state.spec, handoff.spec),
      ...rejectionsAt(head.state, record),
    ])
    checkLists(next, this.#parts.settings.bounds)
    const { traceparent } = span
    const note = { ...noteOf(handoff), gates, ...given({ forced, traceparent }) }
    await this.#parts.versions.advance(head, next, delta, note)
    return next
  }

  async prepare(input: TaskHandoff, choices: HandoffChoices, telemetry: TaskObserver): Promise<PreparedHandoff> {
    const handoff = checked(handoffSchema, input, 'The handoff')
    checkTexts(handoff, this.#parts.settings.bounds)
    if (choices.force?.trim() === '') throw new InvalidError('To force a handoff takes a reason', { path: 'force' })
    if (choices.tokenUsage !== undefined) checked(tokenUsageSchema, choices.tokenUsage, 'tokenUsage')
    const head = await this.#parts.versions.existing(handoff.task_id)
    const span = telemetry.handoff({ ...factsOf(head, handoff), tokenUsage: choices.tokenUsage })
    try {
      return await this.#runGates(head, handoff, choices, span)
    } catch (error) {
      span.failed(error)
      throw error
    }
  }

  async #runGates(
    head: TaskHead,
    handoff: GivenHandoff,
    choices: HandoffChoices,
    span: TaskHandoffSpan,
  ): Promise<PreparedHandoff> {
    const { settings, project, questions, hashes, clock, store } = this.#parts
    const { state } = head
    expectVersion(state, choices.expect)
    await this.#parts.checkSpec(handoff.task_id, handoff.spec)
    checkTransition(settings.phases, state.phase, handoff.phase)
    const removed = handoff.artifacts_removed.map((each, i) => projectPath(project, each, `artifacts_removed[${i}]`))
    const artifacts = await takeArtifacts(project, handoff.artifacts, hashes)
    const record = await questions.of(state)
    const stands = standing(state, handoff.blocking_issues, record)
    const now = clock().toISOString()
    const waivers = handoff.waivers.map(({ path, reason }, i) => {
      return { path: projectPath(project, path, `waivers[${i}].path`), reason }
    })
    const applied = { ...handoff, artifacts_removed: removed, waivers }
    const handled = new Set([...removed, ...artifacts.map(({ path }) => path)])
    const others = state.artifacts.filter(({ path }) => !handled.has(path))
    const drifted = await driftedArtifacts(project, others, hashes)
    const step = await advance(state, head.positions, { handoff: applied, artifacts, drifted, standing: stands, now })
    const { next } = step
    checkLists(next, settings.bounds)
    checkBytes(JSON.stringify(step.delta).length, settings.bounds)
    const gates = await runGates({
      state,
      next,
      standing: stands,
      drifted: withoutWaived(drifted, next.artifact_waivers ?? []),
      dependencies: await this.#dependencies(next),
      settings,
      project,
      store,
      span,
      signal: choices.signal,
      all: choices.force !== undefined,
    })
    return { head, handoff: applied, step, gates, record, span }
  }

  /** Records that gates stopped a handoff, and brings its questions before people. */
  async #refuse(state: TaskState, handoff: GivenHandoff, gates: readonly GateResult[]): Promise<GateError> {
    const open = await this.#parts.questions.refuse(state, handoff, gates)
    return new GateError(state.task_id, handoff.target_agent, gates, await this.bringToPeople(state, open))
  }

  /** Asks people. Where that fails, the questions are still recorded, and asked again with the next attempt. */
  async bringToPeople(
    { task_id, task_title }: TaskState,
    open: readonly PersonQuestion[],
  ): Promise<{ questions: AskedQuestion[]; problem: string | undefined }> {
    const questions: AskedQuestion[] = []
    let problem: string | undefined
    for (const question of open) {
      try {
        const escalation = await this.#parts.people?.ask({ task_id, task_title, question })
        questions.push({ ...question, escalation })
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error)
        questions.push(question)
      }
    }
    return { questions, problem }
  }

  /** The phases of the tasks that this one depends on. */
  async #dependencies({ spec }: TaskState): Promise<Map<string, TaskPhase | undefined>> {
    const found = new Map<string, TaskPhase | undefined>()
    for (const task of spec?.dependencies ?? []) {
      const head = await this.#parts.versions.head(task).catch((error: unknown) => {
        if (BatonError.is(error)) return undefined // no task can have that name, or its tape is damaged
        throw error
      })
      found.set(task, head?.state.phase)
    }
    return found
  }
}

function factsOf({ state, traceparent }: TaskHead, { source_agent, target_agent, phase }: GivenHandoff) {
  return {
    task: state.task_id,
    source: source_agent,
    target: target_agent,
    phase,
    version: state.version,
    holder: state.target_agent,
    heldSince: state.handoff_timestamp,
    traceparent,
  }
}

/** The fields that have a value. */
function given<T extends Record<string, string | undefined>>(fields: T): { [K in keyof T]?: string } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: string
  }
}

/** What a new specification asks for no more, and so no gate does. */
function leftOut(agent: string, before: TaskSpec | undefined, after: TaskSpec | undefined): string[] {
  if (before === undefined || after === undefined) return []
  const kept = new Set(demandsOf(after))
  const gone = demandsOf(before).filter((each) => !kept.has(each))
  return gone.length === 0 ? [] : [`${agent} took out of the specification: ${gone.join(', ')}`]
}

function demandsOf({ inputs, outputs, dependencies, success_criteria }: TaskSpec): string[] {
  const nameOf = (each: TaskSpec['inputs'][number]) => (typeof each === 'string' ? each : (each.path ?? each.name))
  return [
    ...inputs.map((each) => `input ${nameOf(each)}`),
    ...outputs.map((each) => `output ${nameOf(each)}`),
    ...dependencies.map((each) => `dependency ${each}`),
    ...success_criteria.map((each) => `success criterion ${each}`),
  ]
}

function forcedWarning({ source_agent, phase }: GivenHandoff, stopping: readonly GateResult[], reason: string): string {
  const names = stopping.map(({ name }) => name).join(', ')
  return `${source_agent} moved on to ${phase} although ${names} failed: ${reason}`
}
