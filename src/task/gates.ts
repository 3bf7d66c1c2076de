// Gates: what must hold before a task is handed over. Built-in gates are checked first; commands, which may take minutes, run
// when those have passed.

import fs from 'node:fs'
import path from 'node:path'
import { BatonError, CancelledError } from '../errors.ts'
import type { BlobRef, Store } from '../store/index.ts'
import type { DriftedArtifact } from './artifacts.ts'
import type { PersonQuestion, Standing } from './questions.ts'
import { runCommand } from '../system/index.ts'
import type { TaskHandoffSpan } from '../telemetry/index.ts'
import type { TaskPhase, TaskState } from './schema.ts'
import type { CommandGate, TaskSettings } from './settings.ts'

export interface GateResult {
  readonly name: string
  readonly ok: boolean
  /** False: a failure does not stop the handoff. */
  readonly required: boolean
  /** What is missing, one sentence each. */
  readonly missing: readonly string[]
  /** What a command printed. */
  readonly output?: BlobRef
  readonly seconds?: number
}

/** A gate stopped the handoff; the state has not changed. */
export class GateError extends BatonError {
  readonly gates: readonly GateResult[]
  /** The questions that wait for a person, with the escalation of each where people are asked. */
  readonly questions: readonly AskedQuestion[]
  /** Why a person could not be asked, though the questions are recorded. */
  readonly problem: string | undefined

  constructor(
    task: string,
    target: string,
    gates: readonly GateResult[],
    { questions = [], problem }: { questions?: readonly AskedQuestion[]; problem?: string | undefined } = {},
  ) {
    const stopping = gates.filter(isStopping)
    const many = stopping.length === 1 ? 'a gate' : `${stopping.length} gates`
    const missing = stopping.flatMap((gate) => gate.missing.map((each) => `\n  ${gate.name}: ${each}`))
    const isForcible = stopping.every(({ name }) => name !== 'human-approval')
    const hint = isForcible
      ? 'Bring what is missing, or override with --force and a reason, which is recorded.'
      : undefined
    super(
      'refused',
      `${task} was not handed to ${target}: ${many} failed${missing.join('')}`,
      hint === undefined ? {} : { hint },
    )
    this.gates = gates
    this.questions = questions
    this.problem = problem
  }
}

export interface AskedQuestion extends PersonQuestion {
  readonly escalation?: string | undefined
}

export function isStopping(gate: GateResult): boolean {
  return !gate.ok && gate.required
}

export interface GateInput {
  readonly state: TaskState
  readonly next: TaskState
  readonly standing: Standing
  /** The artifacts that are not as they were handed over, those left out that the handoff brings, removes or waives. */
  readonly drifted: readonly DriftedArtifact[]
  /** The phase of each task that this one depends on; undefined if there is no such task, or none that can be read. */
  readonly dependencies: ReadonlyMap<string, TaskPhase | undefined>
  readonly settings: TaskSettings
  readonly project: string
  readonly store: Store
  readonly span: TaskHandoffSpan
  readonly signal?: AbortSignal | undefined
  /** Run the commands even when other gates fail. */
  readonly all?: boolean
}

export async function runGates(input: GateInput): Promise<GateResult[]> {
  const { state, next, settings, project } = input
  const results = [completeness(next, project)]
  const { phase } = next
  if (phase !== state.phase) results.push(phaseArtifacts(next, settings.requires[phase] ?? [], project))
  if (input.drifted.length > 0 || next.artifact_waivers !== undefined) results.push(artifactDrift(input.drifted))
  if (input.dependencies.size > 0 && settings.dependencies.includes(phase))
    results.push(dependencies(input.dependencies))
  const criteria = next.spec?.success_criteria ?? []
  if (criteria.length > 0 && settings.success_criteria.includes(phase)) results.push(successCriteria(next, criteria))
  if (input.standing.isAsked) results.push(humanApproval(state.task_id, input.standing))
  if (results.some(isStopping) && input.all !== true) return results
  for (const gate of settings.gates) {
    if (!(gate.phases?.includes(next.phase) ?? true)) continue
    results.push(
      await input.span.gate(
        gate.name,
        gate.run,
        () => commandGate(gate, input),
        ({ ok }) => ok,
      ),
    )
  }
  return results
}

function result(name: string, missing: readonly string[]): GateResult {
  return { name, ok: missing.length === 0, required: true, missing }
}

/**
 * Work is handed on with the files that it starts from; what is reviewed or completed holds every file that the specification
 * promises; what is completed has no blocker open.
 */
function completeness(next: TaskState, project: string): GateResult {
  const missing: string[] = []
  if (next.phase !== 'planning') {
    for (const each of next.spec?.inputs ?? []) {
      if (typeof each === 'string' || each.path === undefined || fs.existsSync(path.resolve(project, each.path)))
        continue
      missing.push(`the specification starts from ${each.path}, and there is no such file`)
    }
  }
  if (next.phase === 'completed') {
    for (const { issue, severity, approved_by } of next.blocking_issues) {
      if (severity === 'blocker' && approved_by === undefined) missing.push(`a blocker is open: ${issue.slice(0, 200)}`)
    }
  }
  if (next.phase === 'reviewing' || next.phase === 'completed') missing.push(...missingOutputs(next, project))
  return result('completeness', missing)
}

/** The promised files that are missing: an output is a file if it is a text, or an object with a path. */
function missingOutputs({ spec, artifacts }: TaskState, project: string): string[] {
  return (spec?.outputs ?? []).flatMap((output) => {
    const promised = typeof output === 'string' ? output : output.path
    if (promised === undefined) return []
    const file = path.relative(project, path.resolve(project, promised)).split(path.sep).join('/')
    if (file === '..' || file.startsWith('../') || path.isAbsolute(file)) {
      return [`the specification promises ${promised}, which lies outside the project`]
    }
    const stat = fs.statSync(path.join(project, file), { throwIfNoEntry: false })
    if (stat === undefined || (promised.endsWith('/') && !stat.isDirectory())) {
      const prose =
        typeof output === 'string' && /\s/.test(output) ? ' (an output that is no file is written {"name": …})' : ''
      return [`the specification promises ${promised}, and there is no such file${prose}`]
    }
    const isBrought = stat.isDirectory()
      ? artifacts.some((each) => file === '' || each.path.startsWith(`${file}/`))
      : artifacts.some((each) => each.path === file)
    return isBrought ? [] : [`the specification promises ${promised}, which nobody has handed over (--artifact)`]
  })
}

function artifactDrift(drifted: readonly DriftedArtifact[]): GateResult {
  return result(
    'artifact-drift',
    drifted.map(({ path, exists }) => {
      const what = exists ? 'has changed' : 'is gone'
      const way = exists ? `--artifact ${path}` : `--remove ${path}`
      return `${path} ${what} since it was handed over (${way}, or --waive "${path}=REASON")`
    }),
  )
}

function dependencies(phases: ReadonlyMap<string, TaskPhase | undefined>): GateResult {
  const open = [...phases].filter(([, phase]) => phase !== 'completed')
  return result(
    'dependencies',
    open.map(([task, phase]) => {
      return phase === undefined
        ? `it depends on ${task}, and there is no such task that can be read`
        : `it depends on ${task}, which is in ${phase}`
    }),
  )
}

function successCriteria({ criteria_met }: TaskState, criteria: readonly string[]): GateResult {
  const met = new Set((criteria_met ?? []).map(({ criterion }) => criterion))
  return result(
    'success-criteria',
    criteria
      .filter((each) => !met.has(each))
      .map((each) => `nobody has shown that this is met: ${each} (--met "${each}=EVIDENCE")`),
  )
}

function phaseArtifacts(next: TaskState, types: TaskSettings['requires'][TaskPhase] & {}, project: string): GateResult {
  const missing = types
    .filter((type) => {
      const ofType = next.artifacts.filter((each) => each.artifact_type === type)
      return !ofType.some((each) => fs.existsSync(path.join(project, each.path)))
    })
    .map((type) => `${next.phase} needs an artifact of type ${type} (--artifact PATH:${type})`)
  return result('phase-artifacts', missing)
}

function humanApproval(task: string, { open, rejected }: Standing): GateResult {
  return result('human-approval', [
    ...open.map(({ issue }) => `a person must decide: ${issue.slice(0, 200)} (baton task approve ${task})`),
    ...rejected.map(({ issue, by, note }) => {
      const why = note === undefined ? '' : `, saying "${note.slice(0, 200)}"`
      return `${by} rejected: ${issue.slice(0, 200)}${why} (leave it out, or ask again with a changed proposal)`
    }),
  ])
}

/** How much of a gate's output is kept: half from its beginning, half from its end. */
const keptBytes = 4 * 1024 * 1024

async function commandGate(gate: CommandGate, { state, next, project, store, signal }: GateInput): Promise<GateResult> {
  if (signal?.aborted === true) throw new CancelledError('The handoff was cancelled')
  const { end, code, output, seconds } = await runCommand(['/bin/sh', '-c', gate.run], {
    cwd: project,
    env: { ...process.env, BATON_TASK: state.task_id, BATON_PHASE: next.phase, BATON_GATE: gate.name },
    timeoutMs: gate.timeout_seconds * 1000,
    signal,
    keptBytes,
    // A test runner that leaves something running would keep its output open.
    leftovers: 'end-group',
  })
  if (end === 'aborted') throw new CancelledError('The handoff was cancelled')
  const kept = output.bytes > 0 ? { output: await store.putBlob(output.whole()) } : {}
  const ends = {
    timeout: `was stopped after ${gate.timeout_seconds} s`,
    signal: `was ended by ${code}`,
    exit: `ended with exit code ${code}`,
  }
  const where = kept.output === undefined ? '' : `; its output: baton show blob:${kept.output.sha256}`
  const ok = end === 'exit' && code === 0
  const missing = ok ? [] : [`"${gate.run}" ${ends[end]}${where}`]
  return { name: gate.name, ok, required: gate.required, missing, ...kept, seconds }
}
