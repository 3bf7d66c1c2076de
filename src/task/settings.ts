// The `task` section of baton.config.json, and the checks of a task against it: which phase may follow which, and how large a task
// may become.

import * as z from 'zod'
import { InvalidError, LimitError } from '../errors.ts'
import { type ArtifactType, artifactTypeSchema, type TaskPhase, phaseSchema, type TaskState } from './schema.ts'

const builtInGates = [
  'completeness',
  'phase-artifacts',
  'artifact-drift',
  'dependencies',
  'success-criteria',
  'human-approval',
] as const

const gateSchema = z.strictObject({
  name: z
    .string()
    .min(1)
    .refine((name) => !builtInGates.some((each) => each === name), 'Baton has a gate of that name itself')
    .describe('what it is called in reports'),
  run: z.string().min(1).describe('a shell command, run in the project folder'),
  phases: z.array(phaseSchema).optional().describe('only before a handoff into one of these'),
  timeout_seconds: z.number().positive().max(86_400).default(600).describe('how long the command may run'),
  required: z.boolean().default(true).describe('false: a failure is recorded, but does not stop the handoff'),
})
export type CommandGate = z.output<typeof gateSchema>

/** Testing needs source to test; reviewing needs tests. */
const defaultRequires: Partial<Record<TaskPhase, ArtifactType[]>> = { testing: ['source'], reviewing: ['test'] }

/** Phase: the phases that may follow it. Staying in a phase is always allowed. */
type PhaseGraph = Readonly<Record<TaskPhase, readonly TaskPhase[]>>

/** Forward one phase at a time, and back to the phase where a fault is fixed. */
export const defaultGraph: PhaseGraph = {
  planning: ['implementing'],
  implementing: ['testing', 'planning'],
  testing: ['reviewing', 'implementing'],
  reviewing: ['completed', 'implementing', 'testing'],
  completed: [],
}

/** How large a task may become: enough for real work, but not for an agent that runs away. */
const defaultBounds = {
  /** Characters of any one text. */
  text: 10_000,
  artifacts: 100_000,
  decisions_made: 10_000,
  blocking_issues: 1_000,
  warnings: 1_000,
  /** The size of everything that one version changes. */
  bytes: 32 * 1024 * 1024,
}
export type Bounds = Readonly<typeof defaultBounds>

const bound = z.int().positive()

export const taskSection = z.strictObject({
  phases: z
    .partialRecord(phaseSchema, z.array(phaseSchema))
    .default({})
    .transform((given): PhaseGraph => ({ ...defaultGraph, ...given }))
    .describe('phase: the phases that may follow it'),
  requires: z
    .partialRecord(phaseSchema, z.array(artifactTypeSchema))
    .default({})
    .transform((given) => ({ ...defaultRequires, ...given }))
    .describe('phase: the types of artifacts without which it is not entered'),
  dependencies: z
    .array(phaseSchema)
    .default(['completed'])
    .describe('phases that a task enters only when all it depends on is completed'),
  success_criteria: z
    .array(phaseSchema)
    .default([])
    .describe('phases that a task enters only when each criterion was said to be met, with evidence'),
  gates: z
    .array(gateSchema)
    .default([])
    .refine((gates) => new Set(gates.map(({ name }) => name)).size === gates.length, 'two gates have the same name')
    .describe('commands that must succeed before a handoff'),
  bounds: z
    .strictObject({
      text: bound.describe('characters of any one text; 10,000 by default'),
      artifacts: bound.describe('how many; 100,000 by default'),
      decisions_made: bound.describe('how many; 10,000 by default'),
      blocking_issues: bound.describe('how many; 1,000 by default'),
      warnings: bound.describe('how many; 1,000 by default'),
      bytes: bound.describe('of everything that one version changes; 32 MiB by default'),
    })
    .partial()
    .default({})
    .transform((given) => ({ ...defaultBounds, ...given }))
    .describe('how large a task may become'),
})
export type TaskSettings = z.output<typeof taskSection>

export const defaultSettings: TaskSettings = taskSection.parse({})

export function checkTransition(graph: PhaseGraph, from: TaskPhase, to: TaskPhase): void {
  if (from === to || graph[from].includes(to)) return
  const allowed = graph[from].length === 0 ? `${from} is final` : `${from} leads to ${graph[from].join(' or ')}`
  throw new InvalidError(`A task cannot go from ${from} to ${to}: ${allowed}`, {
    path: 'phase',
    hint: 'Other ways can be declared in baton.config.json, under task.phases.',
  })
}

const lists = ['artifacts', 'decisions_made', 'blocking_issues', 'warnings'] as const

/** Checks every text in the input, in whatever field. */
export function checkTexts(value: unknown, bounds: Bounds, path = ''): void {
  if (typeof value === 'string') {
    if (value.length <= bounds.text) return
    throw tooLarge(`${path} has ${count(value.length)} characters`, bounds.text, 'text')
  }
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) value.forEach((each, i) => checkTexts(each, bounds, `${path}[${i}]`))
  else for (const [key, each] of Object.entries(value)) checkTexts(each, bounds, path === '' ? key : `${path}.${key}`)
}

/** Checks the lengths of the lists. */
export function checkLists(state: TaskState, bounds: Bounds): void {
  for (const list of lists) {
    const { length } = state[list]
    if (length > bounds[list]) throw tooLarge(`${list} has ${count(length)} items`, bounds[list], list)
  }
}

export function checkBytes(bytes: number, bounds: Bounds): void {
  if (bytes > bounds.bytes) throw tooLarge(`The version has ${count(bytes)} bytes of changes`, bounds.bytes, 'bytes')
}

function tooLarge(what: string, most: number, bound: keyof Bounds): LimitError {
  return new LimitError(`${what}, at most ${count(most)} are allowed`, {
    hint: `Keep large content in files and hand those over; task.bounds.${bound} in baton.config.json sets the bound.`,
  })
}

function count(n: number): string {
  return n.toLocaleString('en-US')
}
