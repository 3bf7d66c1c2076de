// What must hold before a task changes hands. The gates that only look come first; commands, which may take minutes,
// run when those have passed.

import fs from 'node:fs'
import path from 'node:path'
import { BatonError } from '../errors.ts'
import type { BlobRef, Store } from '../store/index.ts'
import { type Approval, unapproved } from './approval.ts'
import { runCommand } from './command-gate.ts'
import type { Phase, TaskState } from './schema.ts'
import type { CommandGate, TaskSettings } from './settings.ts'

export interface GateResult {
  readonly name: string
  readonly ok: boolean
  /** False: a failure does not stop the handoff. */
  readonly required: boolean
  /** What is missing, a sentence each. */
  readonly missing: readonly string[]
  /** What a command printed. */
  readonly output?: BlobRef
  readonly seconds?: number
}

/** A gate stopped the handoff; nothing of the state has changed. */
export class GateError extends BatonError {
  readonly gates: readonly GateResult[]

  constructor(task: string, target: string, gates: readonly GateResult[]) {
    const stopping = gates.filter(isStopping)
    const many = stopping.length === 1 ? 'a gate' : `${stopping.length} gates`
    const missing = stopping.flatMap((gate) => gate.missing.map((each) => `\n  ${gate.name}: ${each}`))
    const isForcible = stopping.every(({ name }) => name !== 'human-approval')
    const hint = isForcible
      ? 'Bring what is missing, or go on with --force and a reason, which is recorded.'
      : undefined
    super(
      'refused',
      `${task} was not handed to ${target}: ${many} failed${missing.join('')}`,
      hint === undefined ? {} : { hint },
    )
    this.gates = gates
  }
}

export function isStopping(gate: GateResult): boolean {
  return !gate.ok && gate.required
}

export interface GateInput {
  readonly state: TaskState
  readonly next: TaskState
  readonly approval: Approval | undefined
  readonly settings: TaskSettings
  readonly project: string
  readonly store: Store
  readonly signal?: AbortSignal | undefined
  /** Run the commands even where the other gates fail. */
  readonly all?: boolean
}

export async function runGates(input: GateInput): Promise<GateResult[]> {
  const { state, next, settings } = input
  const results = [completeness(next)]
  if (next.phase !== state.phase) results.push(phaseArtifacts(next, settings.requires[next.phase] ?? [], input.project))
  const human = humanApproval(input)
  if (human !== undefined) results.push(human)
  if (results.some(isStopping) && input.all !== true) return results
  for (const gate of settings.gates) {
    if (gate.phases?.includes(next.phase) ?? true) results.push(await commandGate(gate, input))
  }
  return results
}

function result(name: string, missing: readonly string[]): GateResult {
  return { name, ok: missing.length === 0, required: true, missing }
}

/** A completed task has no blocker left and every file that its specification promises. */
function completeness(next: TaskState): GateResult {
  const missing: string[] = []
  if (next.phase === 'completed') {
    for (const { issue, severity, approved_by } of next.blocking_issues) {
      if (severity === 'blocker' && approved_by === undefined) missing.push(`a blocker is open: ${issue.slice(0, 200)}`)
    }
    const there = new Set(next.artifacts.map((each) => each.path))
    for (const file of promisedFiles(next)) {
      if (!there.has(file)) missing.push(`the specification promises ${file}, which nobody has handed over`)
    }
  }
  return result('completeness', missing)
}

function promisedFiles({ spec }: TaskState): string[] {
  return (spec?.outputs ?? [])
    .map((output) => (typeof output === 'string' ? output : (output.path ?? '')))
    .filter((text) => /^[\w@.-]+(\/[\w@.-]+)*\.\w+$/.test(text))
}

function phaseArtifacts(next: TaskState, types: TaskSettings['requires'][Phase] & {}, project: string): GateResult {
  const missing = types
    .filter((type) => {
      const ofType = next.artifacts.filter((each) => each.artifact_type === type)
      return !ofType.some((each) => fs.existsSync(path.join(project, each.path)))
    })
    .map((type) => `${next.phase} needs an artifact of type ${type} (--artifact PATH:${type})`)
  return result('phase-artifacts', missing)
}

/** Undefined where nobody was asked for. */
function humanApproval({ state, next, approval }: GateInput): GateResult | undefined {
  const isAsked = [...state.blocking_issues, ...next.blocking_issues].some((each) => each.requires_human)
  if (!isAsked) return undefined
  const waiting = unapproved(state, next.blocking_issues, approval)
  return result(
    'human-approval',
    waiting.map(({ issue }) => `a person must decide: ${issue.slice(0, 200)} (baton task approve ${state.task_id})`),
  )
}

async function commandGate(gate: CommandGate, { state, next, project, store, signal }: GateInput): Promise<GateResult> {
  const env = { BATON_TASK: state.task_id, BATON_PHASE: next.phase, BATON_GATE: gate.name }
  const run = await runCommand(gate.run, { cwd: project, env, timeoutMs: gate.timeout_seconds * 1000, signal })
  const output = run.output.length > 0 ? { output: await store.putBlob(run.output) } : {}
  const ends = {
    timeout: `was stopped after ${gate.timeout_seconds} s`,
    signal: `was ended by ${run.code}`,
    exit: `ended with exit code ${run.code}`,
  }
  const where = output.output === undefined ? '' : `; its output: baton show blob:${output.output.sha256}`
  const missing = run.ok ? [] : [`"${gate.run}" ${ends[run.end]}${where}`]
  return { name: gate.name, ok: run.ok, required: gate.required, missing, ...output, seconds: run.seconds }
}
