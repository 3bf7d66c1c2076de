// Questions for people: issues that require one. A question stays open until a person approves, rejects or withdraws it, whatever
// later handoffs say. All questions of a task that still matter are in the newest entry under one key of its tape, so that a handoff
// finds them at once; each entry before it holds what was asked or decided then.

import { createHash } from 'node:crypto'
import { BatonError, InvalidError, NotFoundError } from '../errors.ts'
import type { Person } from '../system/index.ts'
import type { GateResult } from './gates.ts'
import type { GivenHandoff, TaskIssue, TaskState } from './schema.ts'
import type { Versions } from './versions.ts'

const questionsKey = 'questions'
const refusalKey = 'refusal'
/** Tapes from before there were questions have approvals under this key. */
const approvalKey = 'approval'

export type Verdict = 'approved' | 'rejected' | 'withdrawn'

/** What a person is asked: the proposal of an agent. Another issue or another suggested action is another question. */
export interface PersonQuestion {
  readonly id: string
  readonly issue: string
  readonly suggested_action: string
  readonly severity: TaskIssue['severity']
  readonly asked_by: string
  readonly target_agent: string
  readonly asked_at: string
  /** The task's version when it was asked, or when it was decided. */
  readonly version: number
  /** Without one, the question is open. */
  readonly verdict?: Verdict
  readonly by?: string
  readonly note?: string
  readonly decided_at?: string
}

/** What a person decided. */
export interface PersonDecision {
  readonly verdict: Verdict
  readonly version: number
  readonly by: string
  /** How the person was recognised. */
  readonly via?: string
  readonly note?: string
  readonly issues: readonly string[]
  readonly questions?: readonly string[]
}

export interface DecisionInput {
  /** The name of the person. */
  readonly by: string
  readonly note?: string | undefined
  /** The ids of questions; needed when more than one is open. */
  readonly questions?: readonly string[] | undefined
}

/** A handoff that a gate stopped. It changes no state. */
export interface GateRefusal {
  readonly version: number
  readonly source_agent: string
  readonly target_agent: string
  readonly phase: string
  readonly gates: readonly unknown[]
  readonly issues: readonly string[]
  /** The questions that are open because of it. */
  readonly questions?: readonly PersonQuestion[]
}

interface QuestionsEntry {
  readonly questions: readonly PersonQuestion[]
  readonly decision?: PersonDecision
}

/** The questions of a task, and the entry that holds them. */
export interface QuestionRecord {
  readonly entry: number
  readonly questions: readonly PersonQuestion[]
}

type Proposal = Pick<TaskIssue, 'issue' | 'suggested_action' | 'severity'>

/** How the questions of a task stand before a handoff. */
export interface Standing {
  /** Nobody has decided on these. */
  readonly open: readonly Proposal[]
  /** The handoff repeats these unchanged, although a person has rejected them. */
  readonly rejected: readonly PersonQuestion[]
  /** Who approved an issue, and when; undefined if nobody did. */
  readonly approval: (issue: TaskIssue) => { by: string; at: string } | undefined
  /** Whether a person is needed at all. */
  readonly isAsked: boolean
}

export function standing(
  state: TaskState,
  incoming: readonly TaskIssue[],
  { questions }: Pick<QuestionRecord, 'questions'>,
): Standing {
  const known = new Map(questions.map((each) => [proposalOf(each), each]))
  const carried = new Map(state.blocking_issues.map((each) => [proposalOf(each), each]))
  const approval = (issue: TaskIssue) => {
    const { approved_by, approved_at } = carried.get(proposalOf(issue)) ?? {}
    if (approved_by !== undefined) return { by: approved_by, at: approved_at ?? state.handoff_timestamp }
    const question = known.get(proposalOf(issue))
    const isNow = question?.verdict === 'approved' && question.version === state.version
    return isNow ? { by: question.by ?? '', at: question.decided_at ?? state.handoff_timestamp } : undefined
  }
  const open = new Map<string, Proposal>()
  const rejected = new Map<string, PersonQuestion>()
  for (const each of questions) if (each.verdict === undefined) open.set(proposalOf(each), each)
  const needed = (issues: readonly TaskIssue[]) => issues.filter((each) => each.requires_human)
  for (const each of needed(state.blocking_issues)) {
    const question = known.get(proposalOf(each))
    const isSettled = question?.verdict === 'rejected' || isOf(state, question)
    if (!isSettled && approval(each) === undefined) open.set(proposalOf(each), each)
  }
  for (const each of needed(incoming)) {
    const question = known.get(proposalOf(each))
    if (approval(each) !== undefined) continue
    if (question?.verdict === 'rejected') rejected.set(question.id, question)
    else open.set(proposalOf(each), each)
  }
  const isAsked = open.size > 0 || needed([...state.blocking_issues, ...incoming]).length > 0
  return { open: [...open.values()], rejected: [...rejected.values()], approval, isAsked }
}

function isRecorded({ questions }: QuestionRecord, id: string): boolean {
  return questions.some((each) => each.id === id)
}

/** Whether a question was decided for that very version of the task. */
function isOf(state: TaskState, question: PersonQuestion | undefined): boolean {
  return question?.verdict !== undefined && question.version === state.version
}

/** What makes two proposals the same. */
export function proposalOf({ issue, suggested_action }: { issue: string; suggested_action: string }): string {
  return JSON.stringify([issue, suggested_action])
}

/** The same for everybody who looks before it is recorded, and another one when the question is asked again later. */
function questionId({ task_id, version }: TaskState, after: number, each: { issue: string; suggested_action: string }) {
  const text = JSON.stringify([task_id, version, after, proposalOf(each)])
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

/** What a person has rejected since the last version, for the agent that takes over. */
export function rejectionsAt(state: TaskState, { questions }: QuestionRecord): string[] {
  return questions
    .filter((each) => each.verdict === 'rejected' && each.version === state.version)
    .map(({ by, issue, note }) => `${by} rejected: ${issue}${note === undefined ? '' : ` (${note})`}`)
}

/** Refuses an approval that no person gave. */
export function checkApprovals(issues: readonly TaskIssue[], { approval }: Pick<Standing, 'approval'>): void {
  issues.forEach((issue, i) => {
    if (issue.approved_by === undefined && issue.approved_at === undefined) return
    if (issue.approved_by !== undefined && approval(issue)?.by === issue.approved_by) return
    throw new InvalidError(`Nobody named ${issue.approved_by ?? 'there'} has approved: ${issue.issue.slice(0, 200)}`, {
      path: `blocking_issues[${i}].approved_by`,
      hint: 'Leave it out; Baton sets it when a person has approved.',
    })
  })
}

export interface AskedBy {
  readonly source_agent: string
  readonly target_agent: string
}

/** The questions of tasks on their tapes, with what people decided and what gates refused. */
export class Questions {
  readonly #versions: Versions
  readonly #clock: () => Date

  constructor(versions: Versions, clock: () => Date) {
    this.#versions = versions
    this.#clock = clock
  }

  async of(state: TaskState): Promise<QuestionRecord> {
    const found = await this.#versions.latestNote(state.task_id, questionsKey)
    const refused = await this.#versions.latestNote(state.task_id, refusalKey)
    const questions = (found?.data as QuestionsEntry | undefined)?.questions ?? (await this.#approvedEarlier(state))
    // A refusal is written together with its questions. A newer one than those means that they were lost with a damaged entry.
    const isLost = refused !== undefined && refused.entry > (found?.entry ?? 0)
    const more = isLost ? openQuestions(state, refused.data as GateRefusal, questions) : []
    return { entry: found?.entry ?? 0, questions: [...questions, ...more] }
  }

  /** The questions that wait for a person, also those that nobody has recorded yet. */
  async open(state: TaskState): Promise<PersonQuestion[]> {
    const record = await this.of(state)
    const by = { source_agent: state.source_agent, target_agent: state.target_agent }
    return this.#open(state, record, standing(state, [], record).open, by)
  }

  /** Records what is not recorded yet of these proposals, together with the refusal; returns the open questions. */
  async ask(
    state: TaskState,
    by: AskedBy,
    issues: readonly TaskIssue[],
    refusal?: GateRefusal,
  ): Promise<PersonQuestion[]> {
    const { task_id: task } = state
    for (;;) {
      const record = await this.of(state)
      const { open } = standing(state, issues, record)
      const asked = this.#open(state, record, open, by)
      // Also with an old question: what is newer than the questions would look as if they were lost.
      const isNew = asked.length > 0 && (refusal !== undefined || !asked.every(({ id }) => isRecorded(record, id)))
      const notes = [
        ...(refusal === undefined ? [] : [{ key: refusalKey, data: { ...refusal, questions: asked } }]),
        ...(isNew ? [{ key: questionsKey, data: this.#entry(state, record, asked) }] : []),
      ]
      if (notes.length === 0) return asked
      const expect = isNew ? { key: questionsKey, id: record.entry } : undefined
      if ((await this.#versions.note(task, notes, expect)) !== undefined) return asked
    }
  }

  /** Records what a person decided. */
  async decide(
    state: TaskState,
    verdict: Verdict,
    input: DecisionInput,
    person: Person,
  ): Promise<[PersonDecision, PersonQuestion[]]> {
    const { task_id: task, version } = state
    const { by, note } = input
    if (by.trim() === '') throw new InvalidError('A decision needs the name of a person', { path: 'by' })
    if ((await this.#agents(state)).has(by)) {
      throw new InvalidError(`${by} is an agent of this task and cannot decide on it`, {
        path: 'by',
        hint: 'A person decides; give the name with --by.',
      })
    }
    for (;;) {
      const record = await this.of(state)
      const chosen = chooseQuestions(task, await this.open(state), record, input.questions)
      const decided = chosen.map((each): PersonQuestion => {
        return { ...each, version, verdict, by, ...(note === undefined ? {} : { note }), decided_at: this.#now() }
      })
      const decision: PersonDecision = {
        verdict,
        version,
        by,
        via: `${person.via} ${person.where}`,
        ...(note === undefined ? {} : { note }),
        issues: decided.map(({ issue }) => issue),
        questions: decided.map(({ id }) => id),
      }
      const data = { ...this.#entry(state, record, decided), decision } satisfies QuestionsEntry
      const expect = { key: questionsKey, id: record.entry }
      if ((await this.#versions.note(task, [{ key: questionsKey, data }], expect)) !== undefined)
        return [decision, decided]
    }
  }

  /** Records that gates stopped a handoff and asks what has to be asked; returns the open questions. */
  async refuse(state: TaskState, handoff: GivenHandoff, gates: readonly GateResult[]): Promise<PersonQuestion[]> {
    const { source_agent, target_agent, phase, blocking_issues } = handoff
    const { open, rejected } = standing(state, blocking_issues, await this.of(state))
    const refusal: GateRefusal = {
      version: state.version,
      source_agent,
      target_agent,
      phase,
      gates: gates.filter(({ ok }) => !ok),
      issues: [...open, ...rejected].map(({ issue }) => issue),
    }
    return this.ask(state, { source_agent, target_agent }, blocking_issues, refusal)
  }

  /** Everything that people decided, oldest first. */
  async *decisions(task: string): AsyncGenerator<PersonDecision & { readonly date: string }> {
    for await (const { key, data, date } of this.#versions.notes(task, [questionsKey, approvalKey])) {
      if (key === approvalKey) yield { verdict: 'approved', ...(data as Omit<PersonDecision, 'verdict'>), date }
      const { decision } = data as Partial<QuestionsEntry>
      if (decision !== undefined) yield { ...decision, date }
    }
  }

  async *refusals(task: string): AsyncGenerator<GateRefusal & { readonly date: string }> {
    for await (const { data, date } of this.#versions.notes(task, [refusalKey]))
      yield { ...(data as GateRefusal), date }
  }

  #now(): string {
    return this.#clock().toISOString()
  }

  /** Open proposals as questions: those that are recorded, and new ones for the others. */
  #open(state: TaskState, record: QuestionRecord, open: readonly Proposal[], by: AskedBy): PersonQuestion[] {
    return open.map((each) => {
      const recorded = record.questions.find((one) => proposalOf(one) === proposalOf(each) && one.verdict === undefined)
      const { issue, suggested_action, severity } = each
      return (
        recorded ?? {
          id: questionId(state, record.entry, each),
          issue,
          suggested_action,
          severity,
          asked_by: by.source_agent,
          target_agent: by.target_agent,
          asked_at: this.#now(),
          version: state.version,
        }
      )
    })
  }

  /** What is recorded, with some of it changed; what can no longer matter is left out. */
  #entry(state: TaskState, record: QuestionRecord, changed: readonly PersonQuestion[]): QuestionsEntry {
    const replaced = new Set(changed.map(proposalOf))
    const kept = record.questions.filter((each) => {
      if (replaced.has(proposalOf(each))) return false
      return each.verdict === undefined || each.verdict === 'rejected' || isOf(state, each)
    })
    return { questions: [...kept, ...changed] }
  }

  async #agents(state: TaskState): Promise<Set<string>> {
    const names = new Set([state.source_agent, state.target_agent])
    for (const { asked_by, target_agent } of (await this.of(state)).questions) names.add(asked_by).add(target_agent)
    for await (const each of this.#versions.list(state.task_id)) names.add(each.source_agent).add(each.target_agent)
    for await (const each of this.refusals(state.task_id)) names.add(each.source_agent).add(each.target_agent)
    return names
  }

  async #approvedEarlier(state: TaskState): Promise<PersonQuestion[]> {
    const approval = (await this.#versions.latestNote(state.task_id, approvalKey))?.data as PersonDecision | undefined
    if (approval?.version !== state.version) return []
    return approval.issues.map((issue) => ({ ...bareQuestion(state, issue), verdict: 'approved', by: approval.by }))
  }
}

/** The open questions of a refusal that are not among the given ones. */
function openQuestions(state: TaskState, refusal: GateRefusal, known: readonly PersonQuestion[]): PersonQuestion[] {
  if (refusal.version !== state.version) return []
  const asked = refusal.questions ?? refusal.issues.map((issue) => bareQuestion(state, issue, refusal))
  return asked.filter((each) => !known.some((one) => proposalOf(one) === proposalOf(each)))
}

function bareQuestion(state: TaskState, issue: string, by?: GateRefusal): PersonQuestion {
  return {
    id: questionId(state, 0, { issue, suggested_action: '' }),
    issue,
    suggested_action: '',
    severity: 'blocker',
    asked_by: by?.source_agent ?? '',
    target_agent: by?.target_agent ?? '',
    asked_at: state.handoff_timestamp,
    version: state.version,
  }
}

/** The questions that a decision is about. A person who changes a "no" names the question. */
function chooseQuestions(
  task: string,
  open: readonly PersonQuestion[],
  { questions }: QuestionRecord,
  ids: readonly string[] | undefined,
): PersonQuestion[] {
  if (ids !== undefined && ids.length > 0) {
    const known = [...open, ...questions.filter(({ verdict }) => verdict === 'rejected')]
    return ids.map((id) => {
      const found = known.find((each) => each.id === id)
      if (found !== undefined) return found
      throw new NotFoundError(`${task} has no question "${id}" to decide on`, {
        hint: `See "baton task show ${task}".`,
      })
    })
  }
  if (open.length === 1) return [...open]
  if (open.length === 0) {
    throw new InvalidError(`Nothing of ${task} waits for a person`, { hint: `See "baton task show ${task}".` })
  }
  const list = open.map(({ id, issue }) => `\n  ${id}  ${issue.slice(0, 200)}`).join('')
  throw new InvalidError(`${open.length} questions of ${task} wait for a person:${list}`, {
    path: 'questions',
    hint: 'Name what you decide on with --question ID, once for each.',
  })
}

/** The gate cannot be passed by force, so its error is of a kind of its own. */
export function gateWasPassedBy(task: string, what: string): BatonError {
  return new BatonError('refused', `${task} waits for a person, so ${what}`, {
    hint: `A person decides with "baton task approve ${task}" or "baton task reject ${task}".`,
  })
}
