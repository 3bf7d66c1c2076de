// `baton task …`: creates tasks, hands them over, and shows them.

import fs from 'node:fs'
import path from 'node:path'
import { BatonError, InvalidError } from '../../errors.ts'
import {
  artifactTypes,
  GateError,
  type LostVersions,
  renderState,
  severities,
  taskSchema,
  taskSchemaNames,
  type TaskState,
} from '../../task/index.ts'
import * as operations from '../../operations/index.ts'
import { startSdk } from '../../telemetry/index.ts'
import { demandTrustedProject } from '../base/chosen-workspace.ts'
import { cancellable, personAt, userName } from '../base/io.ts'
import { parseObject, readObject } from '../base/json-file.ts'
import { age, brief, count, type Globals, Output, size, printSchema } from '../base/output.ts'
import { type Door, withWorkspace } from '../base/workspace.ts'

export interface DecisionOption {
  decision: string
  rationale?: string
  alternatives?: string[]
}

export async function create(options: Globals & { title?: string; spec?: string }, id: string): Promise<void> {
  const { title: given, ...spec } = options.spec === undefined ? {} : await readObject(options.spec, options.io)
  const title = options.title ?? given
  const hasSpec = options.spec !== undefined
  await withTasks(options, async ({ run }, out) => {
    if (title === undefined) throw new InvalidError('A task needs a title', { hint: 'Give it with --title.' })
    const made = await run(operations.taskCreate, { task: id, title: title as string, ...(hasSpec ? { spec } : {}) })
    if (out.json) return out.data(made.state)
    out.line(`Created ${id} (version 1, ${made.state.phase}). State file: ${made.file}`)
  })
}

interface HandoffOptions extends Globals {
  from?: string
  to?: string
  phase?: string
  artifact: string[]
  remove: string[]
  decision?: DecisionOption[]
  blocker: string[]
  waive: string[]
  met: string[]
  expect?: number
  tokens?: { input: number; output: number }
  file?: string
  force?: string | true
  reason?: string
}

export async function handoff(options: HandoffOptions, id: string): Promise<void> {
  const given = fromOptions(options)
  const force = forceOf(options)
  const content = options.file === undefined ? undefined : await readObject(options.file, options.io)
  await withTasks(options, async ({ run }, out) => {
    warnOfLost(out, id, await lostOf(run, id))
    const { expect, tokens } = options
    const wanted = { task: id, handoff: given, file: content, expect, force, tokens }
    const command = await cancellable(options.io, (signal) => run(operations.taskHandoff, wanted, { signal })).catch(
      (error: unknown) => {
        if (error instanceof GateError) warnOfQuestions(out, error)
        throw error
      },
    )
    if (command.state_file_problem !== undefined) warnOfFile(out, command.state_file_problem)
    if (out.json) return out.data(command)
    out.note(`Handed to ${command.target_agent} as version ${command.state_delta.version}.\n`)
    out.line(command.context_summary)
  })
}

/** A task that is not there has lost nothing; handing it over says so. */
async function lostOf(run: Door['run'], task: string): Promise<LostVersions> {
  try {
    return (await run(operations.taskShow, { task })).lost
  } catch (error) {
    if (BatonError.is(error) && error.code === 'not_found') return { versions: [], behind: 0 }
    throw error
  }
}

function warnOfQuestions(out: Output, { questions, problem }: GateError): void {
  if (out.json) return
  for (const { escalation } of questions) {
    if (escalation !== undefined) out.warn(`A person is asked: baton escalations show ${escalation}`)
  }
  if (problem === undefined) return
  out.warn(`baton: the question is recorded, but could not be sent to people: ${problem}`)
}

/** The part of a handoff that the options give. */
function fromOptions(options: HandoffOptions) {
  const root = options.io.cwd()
  return {
    ...(options.from === undefined ? {} : { source_agent: options.from }),
    ...(options.to === undefined ? {} : { target_agent: options.to }),
    ...(options.phase === undefined ? {} : { phase: options.phase }),
    artifacts: options.artifact.map((each) => parseArtifact(each, root)),
    artifacts_removed: options.remove.map((each) => path.resolve(root, each)),
    waivers: options.waive.map((each) => {
      const [file, reason] = splitPair(each, '--waive', 'PATH=REASON')
      return { path: path.resolve(root, file), reason }
    }),
    criteria_met: options.met.map((each) => {
      const [criterion, evidence] = splitPair(each, '--met', 'CRITERION=EVIDENCE')
      return { criterion, evidence }
    }),
    decisions: options.decision ?? [],
    blocking_issues: options.blocker.map(parseBlocker),
  }
}

function splitPair(text: string, option: string, form: string): [string, string] {
  const at = text.indexOf('=')
  const pair: [string, string] = [text.slice(0, at).trim(), text.slice(at + 1).trim()]
  if (at > 0 && pair[1] !== '') return pair
  throw new InvalidError(`${option} takes ${form}, not "${text}"`)
}

/** `PATH[:TYPE]`: a colon is part of the path unless a type follows it. */
function parseArtifact(text: string, cwd: string): { path: string; artifact_type?: string } {
  const colon = text.lastIndexOf(':')
  const type = text.slice(colon + 1)
  if (colon > 0 && artifactTypes.some((each) => each === type)) {
    return { path: path.resolve(cwd, text.slice(0, colon)), artifact_type: type }
  }
  if (colon > 0 && !fs.existsSync(path.resolve(cwd, text)) && fs.existsSync(path.resolve(cwd, text.slice(0, colon)))) {
    throw new InvalidError(`"${type}" is not a type of artifact; there are ${artifactTypes.join(', ')}`)
  }
  return { path: path.resolve(cwd, text) }
}

/** JSON, or `TEXT[:SEVERITY]`. */
function parseBlocker(text: string): Record<string, unknown> {
  if (text.trimStart().startsWith('{')) return parseObject(text, '--blocker')
  const colon = text.lastIndexOf(':')
  const word = text.slice(colon + 1).trim()
  if (colon > 0 && severities.some((each) => each === word))
    return { issue: text.slice(0, colon).trim(), severity: word }
  return { issue: text, severity: 'blocker' }
}

function forceOf({ force, reason }: HandoffOptions): string | undefined {
  if (force === undefined) {
    if (reason !== undefined) throw new InvalidError('--reason goes with --force')
    return undefined
  }
  const why = typeof force === 'string' ? force : reason
  if (why === undefined || why.trim() === '') {
    throw new InvalidError('--force needs a reason, which is recorded', { hint: 'For example: --force "flaky on CI"' })
  }
  return why
}

export async function receive(options: Globals, id: string): Promise<void> {
  await withTasks(options, async ({ run }, out) => {
    const received = await run(operations.taskReceive, { task: id })
    if (received.state_file_problem !== undefined) warnOfFile(out, received.state_file_problem)
    if (out.json) return out.data(received)
    warnOfLost(out, id, received.lost)
    out.line(received.summary)
    const { changed, missing, new: added } = received.drift
    const lines = [
      ...changed.map((file) => `changed  ${file}`),
      ...missing.map((file) => `missing  ${file}`),
      ...added.map((file) => `new      ${file}`),
    ]
    if (lines.length === 0) out.note('\nEvery artifact is as it was handed over.')
    else out.line(`\nNot as it was handed over:\n${lines.map((line) => `  ${line}`).join('\n')}`)
  })
}

export async function show(options: Globals & { full?: boolean; version?: number }, id: string): Promise<void> {
  const { version } = options
  await withTasks(options, async ({ run }, out) => {
    const { state, summary, questions, lost, file } = await run(operations.taskShow, { task: id, version })
    warnOfLost(out, id, lost)
    if (options.full === true) {
      if (out.json) out.data(state)
      else out.line(renderState(state).trimEnd())
      return
    }
    const waiting = version === undefined ? questions : []
    if (out.json) {
      out.data({ ...row(state), summary, state_file: file, waiting_for_person: waiting, lost })
      return
    }
    out.line(summary)
    for (const { id: question, issue, suggested_action } of waiting) {
      const proposal = suggested_action === '' ? '' : `; proposed: ${suggested_action}`
      const which = waiting.length === 1 ? '' : ` --question ${question}`
      out.warn(`baton: a person must decide: ${brief(issue + proposal, 300)} (baton task approve ${id}${which})`)
    }
  })
}

interface DecisionOptions extends Globals {
  by?: string
  note?: string
  question?: string[]
}

export async function approve(options: DecisionOptions, id: string): Promise<void> {
  await decide(options, id, 'approve')
}

export async function reject(options: DecisionOptions, id: string): Promise<void> {
  await decide(options, id, 'reject')
}

export async function withdraw(options: DecisionOptions, id: string): Promise<void> {
  await decide(options, id, 'withdraw')
}

async function decide(options: DecisionOptions, id: string, verb: 'approve' | 'reject' | 'withdraw'): Promise<void> {
  const { by = userName(), note, question: questions } = options
  await withTasks(options, async ({ run }, out) => {
    await run(operations.taskShow, { task: id })
    const wanted = { task: id, verdict: verb, by, note, questions }
    const decision = await run(operations.taskDecide, wanted, { person: personAt(options.io) })
    if (out.json) return out.data({ task_id: id, ...decision })
    const verdict = decision.verdict === 'withdrawn' ? 'withdrew' : decision.verdict
    out.line(`${by} ${verdict} at version ${decision.version} of ${id}:`)
    for (const issue of decision.issues) out.line(`  ${brief(issue, 200)}`)
  })
}

export async function history(options: Globals, id: string): Promise<void> {
  await withTasks(options, async ({ run }, out) => {
    const { versions, lost } = await run(operations.taskHistory, { task: id })
    if (out.json) return versions.forEach((each) => out.data({ task_id: id, ...each }))
    const rows = versions.map((each) => {
      const decided = [
        ...each.refusals.map(({ target_agent }) => `then not handed to ${target_agent}`),
        ...each.approvals.map(({ by }) => `approved by ${by}`),
        ...each.rejections.map(({ by, note }) => `rejected by ${by}${note === undefined ? '' : `: ${note}`}`),
        ...each.withdrawals.map(({ by }) => `withdrawn by ${by}`),
      ]
      if (each.lost === true) {
        const remark = ['lost with a damaged entry of the tape', ...decided].join('; ')
        return [String(each.version), '', '', '', '', '', '', brief(remark, 80)]
      }
      const remarks = [
        ...(each.gates ?? []).filter(({ ok }) => !ok).map(({ name }) => `${name} failed`),
        ...(each.forced === undefined ? [] : [`forced: ${each.forced}`]),
        ...decided,
      ]
      const way = each.source_agent === '' ? '' : `${each.source_agent} → ${each.target_agent}`
      const made = [each.artifacts_added, each.decisions_made, each.blocking_issues].map(count)
      return [String(each.version), age(each.date), way, each.phase, ...made, brief(remarks.join('; '), 80)]
    })
    warnOfLost(out, id, lost)
    out.table([['VERSION', 'MADE', 'HANDED', 'PHASE', 'FILES', 'DECISIONS', 'BLOCKING', ''], ...rows], [0, 4, 5, 6])
  })
}

export async function diff(options: Globals, id: string, from?: string, to?: string): Promise<void> {
  const version = (text: string | undefined) => {
    if (text === undefined || /^\d+$/.test(text)) return text === undefined ? undefined : Number(text)
    throw new InvalidError(`"${text}" is not a version: it must be a whole number`)
  }
  await withTasks(options, async ({ run }, out) => {
    const found = await run(operations.taskDiff, { task: id, from: version(from), to: version(to) })
    if (out.json) return out.data(found)
    out.line(out.style('dim', `${id}, version ${found.from} to ${found.to}`))
    for (const [field, { from, to }] of Object.entries(found.fields)) {
      if (madeByBaton.has(field)) continue
      out.line(`${field}: ${brief(text(from), 60)} → ${brief(text(to), 60)}`)
    }
    const { artifacts, decisions_made: decisions, blocking_issues: issues } = found
    for (const each of artifacts.added) out.line(`+ ${each.path} (${each.artifact_type}, ${size(each.size_bytes)})`)
    for (const { from, to } of artifacts.changed) {
      out.line(`~ ${to.path} (${from.content_hash.slice(0, 8)} → ${to.content_hash.slice(0, 8)})`)
    }
    for (const each of artifacts.removed) out.line(`- ${each.path}`)
    for (const each of decisions.added) out.line(`+ decision: ${brief(each.decision, 100)}`)
    for (const each of decisions.removed) out.line(`- decision: ${brief(each.decision, 100)}`)
    for (const each of issues.added) out.line(`+ ${each.severity}: ${brief(each.issue, 100)}`)
    for (const each of issues.removed) out.line(`- ${each.severity}: ${brief(each.issue, 100)}`)
  })

  function text(value: unknown): string {
    return value === undefined ? 'nothing' : typeof value === 'string' ? value : JSON.stringify(value)
  }
}

/** Fields that follow from the rest, and are not shown to people. */
const madeByBaton = new Set(['context_summary', 'handoff_timestamp', 'phase_started_at', 'previous_phase'])

export async function gate(options: Globals & { phase?: string }, id: string): Promise<void> {
  await withTasks(options, async ({ run }, out) => {
    const { gates, ok } = await cancellable(options.io, (signal) =>
      run(operations.taskGate, { task: id, phase: options.phase }, { signal }),
    )
    for (const each of gates) {
      if (out.json) out.data({ task_id: id, ...each })
      else out.line(`${each.ok ? 'passed' : each.required ? 'FAILED' : 'failed'}  ${each.name}`)
      if (!out.json) for (const missing of each.missing) out.line(`        ${missing}`)
    }
    if (!ok) options.io.exit.code = 1
  })
}

export async function ls(options: Globals): Promise<void> {
  await withTasks(options, async ({ run }, out) => {
    const { tasks: states, problems } = await run(operations.taskList, {})
    print(out, states)
    warnOfProblems(out, problems)
    if (states.length + problems.length === 0)
      out.note('No tasks yet. Make one with "baton task new TASK-001 --title …".')
  })
}

export async function ready(options: Globals): Promise<void> {
  await withTasks(options, async ({ run }, out) => {
    const { ready, waiting, problems } = await run(operations.taskReady, {})
    print(out, ready)
    warnOfProblems(out, problems)
    if (ready.length === 0) out.note('No task is ready.')
    for (const { task, on } of waiting) out.note(`${task.task_id} waits for ${on.join(', ')}`)
  })
}

function print(out: Output, states: readonly TaskState[]): void {
  if (out.json) return states.forEach((state) => out.data(row(state)))
  if (states.length === 0) return
  const rows = states.map((state) => [
    state.task_id,
    brief(state.task_title, 40),
    state.phase,
    String(state.version),
    state.target_agent,
    count(state.artifacts.length),
    count(state.blocking_issues.length),
    age(state.handoff_timestamp),
  ])
  out.table([['TASK', 'TITLE', 'PHASE', 'VERSION', 'WITH', 'FILES', 'BLOCKING', 'CHANGED'], ...rows], [3, 5, 6])
}

function row(state: TaskState) {
  const { task_id, task_title, phase, version, source_agent, target_agent, handoff_timestamp } = state
  return {
    task_id,
    task_title,
    phase,
    version,
    source_agent,
    target_agent,
    artifacts: state.artifacts.length,
    decisions_made: state.decisions_made.length,
    blocking_issues: state.blocking_issues.length,
    handoff_timestamp,
  }
}

export async function schema(options: Globals, name = 'state'): Promise<void> {
  printSchema(options, name, taskSchemaNames, taskSchema)
}

async function withTasks(globals: Globals, work: (door: Door, out: Output) => Promise<void>): Promise<void> {
  demandTrustedProject('The tasks were not opened', globals)
  const out = new Output(globals)
  const sdk = await startSdk((text) => out.warn(text), globals.io.env)
  try {
    await withWorkspace(globals, work)
  } finally {
    await sdk?.end()
  }
}

function warnOfFile(out: Output, problem: string): void {
  out.warn(`baton: the state file could not be written, though the state itself is safe: ${problem}`)
}

interface Problem {
  readonly task_id: string
  readonly message: string
  readonly hint?: string | undefined
}

function warnOfProblems(out: Output, problems: readonly Problem[]): void {
  for (const { task_id, message, hint } of problems) {
    out.warn(`baton: ${task_id} cannot be read: ${message}${hint === undefined ? '' : `. ${hint}`}`)
  }
}

function warnOfLost(out: Output, task: string, { versions, behind }: LostVersions): void {
  if (versions.length > 0) {
    const which = `version${versions.length === 1 ? '' : 's'} ${versions.join(', ')}`
    out.warn(`baton: what ${which} of ${task} changed is missing: it was lost with a damaged entry of its tape`)
  }
  if (behind > 0) {
    const entries = behind === 1 ? 'an entry' : `${behind} entries`
    out.warn(`baton: ${entries} behind the newest version of ${task} was lost; there may have been a newer one`)
  }
}
