// The `relay` section of baton.config.json.

import * as z from 'zod'
import { human, missingInputSchema, plainJson, handoffSchemaVersion } from './schema.ts'

const word = z.string().min(1).max(200)
const agentName = word.refine((name) => name !== human, 'it stands for a person; it need not be declared')
const ms = z.int().min(0)
const count = z.int().min(1)
export const leaseSchema = z.int().min(1)

const agentSchema = z.strictObject({
  description: z.string().optional().describe('what it does, for people and models'),
  version: z.string().optional().describe('of the agent, for traces'),
  provider: z.string().optional().describe('of its model, as OpenTelemetry names it, such as anthropic or openai'),
  model: z.string().optional().describe('the model it uses, for traces'),
  leaseMs: leaseSchema.optional().describe('how long a claim lasts without a heartbeat, if not as usual'),
})

const routeSchema = z.strictObject({
  from: agentName.describe('who asks'),
  to: word.describe('who is asked'),
  reason: z.string().min(1).describe('what for; of a forbidden route: why not'),
})

/** What to do when a handoff failed or was answered in part; the first strategy that applies is taken. */
const strategySchema = z.discriminatedUnion('strategy', [
  z.strictObject({
    strategy: z.literal('retry_same_target'),
    times: z.int().min(0).default(2).describe('after a failure on the way to the target'),
    backoffMs: ms.default(500).describe('before the first retry; each further one waits twice as long'),
  }),
  z.strictObject({
    strategy: z.literal('retry_different_target'),
    target: word.describe('whom to ask instead'),
    from: z.array(agentName).optional().describe('only when one of these was asked'),
  }),
  z.strictObject({ strategy: z.literal('proceed_partial') }),
  z.strictObject({ strategy: z.literal('escalate') }),
  z.strictObject({ strategy: z.literal('skip_and_continue') }),
  z.strictObject({
    strategy: z.literal('fallback_default'),
    defaults: z.record(missingInputSchema.shape.key, plainJson).describe('input: what stands in for it'),
  }),
])

export const limitsSchema = z.strictObject({
  maxHandoffsPerItem: count.default(3).describe('requests for the same item of a trace'),
  maxHandoffsPerPipeline: count.default(10).describe('requests in a trace'),
  handoffTimeoutMs: z.int().min(1).default(30_000).describe('how long an agent has to answer; people have no limit'),
  handoffCooldownMs: ms.default(5_000).describe('before the same path is used again for an item of a trace'),
  maxHumanRequestsPerPipeline: count.default(20).describe('questions to people, who have no other limit'),
  maxSameQuestion: count.default(2).describe('how often one agent may ask another the same in a trace'),
  maxDeliveries: count.default(3).describe('how many workers may die with a request before it is a dead letter'),
})
export type Limits = z.output<typeof limitsSchema>

/** Closed traces beyond either bound are archived, some thousand at a time; they can still be looked up. */
const retentionSchema = z.strictObject({
  traces: z.int().min(0).default(1_000).describe('how many of the newest closed traces stay at hand'),
  days: z.number().min(0).default(30).describe('for how long a closed trace stays at hand'),
})

const alertsSchema = z.strictObject({
  failed: z.int().min(0).default(5).describe('alert when more have failed within 5 minutes'),
  escalated: z.int().min(0).default(10).describe('alert when more were escalated within an hour'),
  circularBlocked: z.int().min(0).default(0).describe('alert when more were blocked within an hour'),
  durationP95Ms: z.int().min(1).default(30_000).describe('alert when the 95th percentile takes longer'),
  deadLetters: z.int().min(0).default(0).describe('alert when there are more'),
})
export type AlertThresholds = z.output<typeof alertsSchema>

const waiver = z.string().min(1).optional()

/** A reason for each rule of `relay check` that this configuration deliberately breaks. */
const waiverSchema = z.strictObject({
  routes: waiver.describe('why the rule about routes is not kept'),
  forbidden: waiver.describe('why the rule about forbidden routes is not kept'),
  recovery: waiver.describe('why the rule about recovery is not kept'),
  coverage: waiver.describe('why the rule about coverage is not kept'),
  latency: waiver.describe('why the rule about latency is not kept'),
})

export const relaySection = z
  .strictObject({
    schemaVersion: z.string().default(handoffSchemaVersion).describe('of the handoff schemas that the agents speak'),
    agents: z.record(agentName, agentSchema).default({}).describe('the topology: every agent by its name'),
    roles: z
      .strictObject({
        research: agentName.describe('who looks things up; researcher by default'),
        orchestrator: agentName.describe('who knows what the user wants; orchestrator by default'),
      })
      .partial()
      .default({})
      .transform((given) => ({ research: 'researcher', orchestrator: 'orchestrator', ...given }))
      .describe('who looks things up, and who knows what the user wants'),
    routes: z.array(routeSchema).default([]).describe('who may hand over to whom; anyone may turn to a person'),
    forbidden: z
      .array(routeSchema)
      .default([])
      .refine((routes) => routes.every(({ to }) => to !== human), 'the way to a person cannot be closed')
      .describe('who may never hand over to whom'),
    limits: limitsSchema.default(limitsSchema.parse({})).describe('against loops and floods'),
    types: z
      .record(word, z.union([z.boolean(), z.record(z.string(), z.unknown())]))
      .default({})
      .describe('name: the JSON Schema of a type that inputs may be expected to have'),
    criticalInputs: z
      .array(missingInputSchema.shape.key)
      .default([])
      .describe('inputs without which work never continues'),
    recovery: z
      .array(strategySchema)
      .default([
        { strategy: 'retry_same_target', times: 2, backoffMs: 500 },
        { strategy: 'proceed_partial' },
        { strategy: 'skip_and_continue' },
      ])
      .describe('when all of these do not apply, a person is asked'),
    leaseMs: leaseSchema.default(10_000).describe('how long a claim lasts without a heartbeat'),
    patienceMs: z.int().min(1).default(60_000).describe('after which a request of low priority gets its turn, too'),
    retention: retentionSchema
      .default(retentionSchema.parse({}))
      .describe('closed traces beyond either bound are archived'),
    alerts: alertsSchema.default(alertsSchema.parse({})).describe('when people are alerted'),
    latencyBudgetMs: z.int().min(1).optional().describe('what one run of the pipeline may take'),
    waive: waiverSchema.default({}).describe('rules of `relay check` that are broken on purpose'),
  })
  .superRefine(({ routes, forbidden }, context) => {
    const closed = new Map(forbidden.map((route, i) => [`${route.from} → ${route.to}`, i]))
    routes.forEach((route, i) => {
      const path = `${route.from} → ${route.to}`
      if (!closed.has(path)) return
      context.addIssue({ code: 'custom', path: ['routes', i], message: `${path} is among the forbidden ones, too` })
    })
  })
export type RelaySettings = z.output<typeof relaySection>
