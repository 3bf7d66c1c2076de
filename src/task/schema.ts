// The task state and what agents hand over. JSON keys are snake_case, as in the files that people read. Unknown fields are kept
// wherever they are.

import * as z from 'zod'

export const phases = ['planning', 'implementing', 'testing', 'reviewing', 'completed'] as const
export type TaskPhase = (typeof phases)[number]
export const phaseSchema = z.enum(phases)

export const artifactTypes = ['source', 'test', 'config', 'doc'] as const
export type ArtifactType = (typeof artifactTypes)[number]
export const artifactTypeSchema = z.enum(artifactTypes)

export const severities = ['blocker', 'high', 'medium', 'low'] as const

const word = z.string().min(1)
const time = z.iso.datetime({ offset: true, local: true })
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'it must be a SHA-256 in hexadecimal')

const artifactSchema = z.looseObject({
  path: word.describe('relative to the project folder'),
  artifact_type: artifactTypeSchema,
  content_hash: sha256,
  size_bytes: z.int().min(0),
})
export type TaskArtifact = z.output<typeof artifactSchema>

const decisionSchema = z.looseObject({
  decision: word,
  rationale: word,
  timestamp: time,
  agent: word,
  alternatives: z.array(word).default([]),
})
export type TaskDecision = z.output<typeof decisionSchema>

const issueSchema = z.looseObject({
  issue: word,
  severity: z.enum(severities),
  suggested_action: z.string().default(''),
  requires_human: z.boolean().default(false),
  approved_by: z.string().optional().describe('the person who let the work continue in spite of it'),
  approved_at: time.optional(),
})
export type TaskIssue = z.output<typeof issueSchema>

/** An input or output of a task: a name, or an object with one. */
const item = z.union([word, z.looseObject({ name: word, path: word.optional() })])

const specSchema = z.looseObject({
  description: z.string().optional(),
  inputs: z.array(item).default([]),
  outputs: z.array(item).default([]),
  dependencies: z.array(word).default([]).describe('ids of the tasks that must be completed first'),
  success_criteria: z.array(word).default([]),
})
export type TaskSpec = z.output<typeof specSchema>

/** A file that is not as it was handed over, and that an agent hands on as it is. */
const waiverSchema = z.looseObject({
  path: word,
  reason: word,
  agent: word,
  timestamp: time,
  content_hash: sha256.optional().describe('of the file as it was then; without one, it was gone'),
})
export type ArtifactWaiver = z.output<typeof waiverSchema>

/** What an agent says of a success criterion of the specification. */
const criterionSchema = z.looseObject({ criterion: word, evidence: word, agent: word, timestamp: time })
export type MetCriterion = z.output<typeof criterionSchema>

export const stateSchema = z.looseObject({
  task_id: word,
  task_title: word,
  phase: phaseSchema,
  previous_phase: phaseSchema.nullable().default(null),
  phase_started_at: time,
  artifacts: z.array(artifactSchema).default([]),
  context_summary: z.string().default(''),
  decisions_made: z.array(decisionSchema).default([]),
  blocking_issues: z.array(issueSchema).default([]),
  warnings: z.array(z.string()).default([]),
  quality_gates_passed: z.array(z.string()).default([]),
  quality_gates_failed: z.array(z.string()).default([]),
  source_agent: z.string().default(''),
  target_agent: z.string().default(''),
  handoff_timestamp: time,
  version: z.int().min(1),
  spec: specSchema.optional(),
  artifact_waivers: z.array(waiverSchema).optional(),
  criteria_met: z.array(criterionSchema).optional(),
})
/** The state of a task at one version. */
export type TaskState = z.output<typeof stateSchema>

export const newTaskSchema = z.looseObject({
  task_id: word,
  task_title: word,
  phase: phaseSchema.default('planning'),
  spec: specSchema.optional(),
})
export type NewTask = z.input<typeof newTaskSchema>

/** What an agent has used of a model. */
export const tokenUsageSchema = z.strictObject({ input: z.int().min(0), output: z.int().min(0) })

/** What an agent hands over. Unknown fields become fields of the state. */
export const handoffSchema = z.looseObject({
  task_id: word,
  source_agent: word,
  target_agent: word,
  phase: phaseSchema,
  artifacts: z
    .array(
      artifactSchema.extend({
        artifact_type: artifactTypeSchema.optional(),
        content_hash: sha256.optional(),
        size_bytes: z.int().min(0).optional(),
      }),
    )
    .default([])
    .describe('added; one with a known path takes the place of the earlier one'),
  artifacts_removed: z.array(word).default([]).describe('paths of artifacts that are gone for good'),
  decisions: z
    .array(decisionSchema.extend({ timestamp: time.optional(), agent: word.optional() }))
    .default([])
    .describe('added'),
  blocking_issues: z
    .array(issueSchema)
    .default([])
    .describe('take the place of the earlier ones, except those that wait for a person'),
  warnings: z.array(z.string()).optional().describe('take the place of the earlier ones, if given'),
  waivers: z
    .array(z.strictObject({ path: word, reason: word }))
    .default([])
    .describe('artifacts that are not as they were handed over, and why that does not matter'),
  criteria_met: z
    .array(criterionSchema.partial({ agent: true, timestamp: true }))
    .default([])
    .describe('success criteria that are met; added'),
  context_summary: z.string().optional().describe("the agent's own words, in place of Baton's"),
  spec: specSchema.optional().describe('takes the place of the earlier one, if given'),
})
/** What one agent hands to the next, and to which phase. */
export type TaskHandoff = z.input<typeof handoffSchema>
export type GivenHandoff = z.output<typeof handoffSchema>

const commandSchema = z.looseObject({
  task_id: word,
  target_agent: word,
  phase: phaseSchema,
  state_delta: z.looseObject({
    version: z.int().min(1),
    artifacts_added: z.int().min(0),
    decisions_made: z.int().min(0),
    blocking_issues: z.int().min(0),
  }),
  context_summary: z.string(),
  state_file: z.string(),
  state_file_problem: z.string().optional().describe('why the file could not be written; the state itself is safe'),
})
export type HandoffCommand = z.output<typeof commandSchema>

const schemas = { state: stateSchema, handoff: handoffSchema, command: commandSchema, spec: specSchema }
export type TaskSchemaName = keyof typeof schemas
export const taskSchemaNames = Object.keys(schemas) as TaskSchemaName[]

/** JSON Schemas: `handoff` and `spec` as they are given, the others as they are returned. */
export function taskSchema(name: TaskSchemaName): Record<string, unknown> {
  const io = name === 'handoff' || name === 'spec' ? 'input' : 'output'
  return { title: `Baton task ${name}`, ...z.toJSONSchema(schemas[name], { io }) }
}
