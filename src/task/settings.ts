// The `task` section of baton.config.json.

import * as z from 'zod'
import { defaultBounds } from './bounds.ts'
import { defaultGraph, type PhaseGraph } from './phases.ts'
import { type ArtifactType, artifactTypeSchema, type Phase, phaseSchema } from './schema.ts'

const builtInGates = ['completeness', 'phase-artifacts', 'human-approval'] as const

const gateSchema = z.strictObject({
  name: z
    .string()
    .min(1)
    .refine((name) => !builtInGates.some((each) => each === name), 'Baton has a gate of that name itself'),
  run: z.string().min(1).describe('a shell command, run in the project folder'),
  phases: z.array(phaseSchema).optional().describe('only before a handoff into one of these'),
  timeout_seconds: z.number().positive().max(86_400).default(600),
  required: z.boolean().default(true).describe('false: a failure is recorded, but does not stop the handoff'),
})
export type CommandGate = z.output<typeof gateSchema>

/** Work to test needs something to test; work to review needs a proof that it holds. */
const defaultRequires: Partial<Record<Phase, ArtifactType[]>> = { testing: ['source'], reviewing: ['test'] }

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
  gates: z
    .array(gateSchema)
    .default([])
    .refine((gates) => new Set(gates.map(({ name }) => name)).size === gates.length, 'two gates have the same name'),
  bounds: z
    .strictObject({
      text: bound,
      artifacts: bound,
      decisions_made: bound,
      blocking_issues: bound,
      warnings: bound,
      bytes: bound,
    })
    .partial()
    .default({})
    .transform((given) => ({ ...defaultBounds, ...given })),
})
export type TaskSettings = z.output<typeof taskSection>

export const defaultSettings: TaskSettings = taskSection.parse({})
