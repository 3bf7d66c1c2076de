// What the processes of a relay have in common, and how a test starts them. Without vitest, for members run alone.

import { randomUUID } from 'node:crypto'
import type { HandoffRequest } from '../../src/relay/schema.ts'

export const team = {
  agents: { generator: {}, researcher: {} },
  routes: [{ from: 'generator', to: 'researcher', reason: 'Missing market data' }],
}

/** A team with all that `relay check` expects, as a configuration has it. */
export const fullTeam = {
  agents: { generator: {}, validator: {}, researcher: {}, orchestrator: {} },
  routes: [
    { from: 'generator', to: 'researcher', reason: 'market data is missing' },
    { from: 'generator', to: 'validator', reason: 'a check "before" validation' },
    { from: 'validator', to: 'generator', reason: 'it has to be written again' },
    { from: 'generator', to: 'orchestrator', reason: 'the user has to say' },
  ],
  forbidden: [
    { from: 'researcher', to: 'generator', reason: 'research does not start writing' },
    { from: 'validator', to: 'researcher', reason: 'validation does not start research' },
  ],
  recovery: [
    { strategy: 'retry_different_target', target: 'orchestrator' },
    { strategy: 'proceed_partial' },
    { strategy: 'escalate' },
  ],
}

/** Limits that are out of the way. */
export const boundless = {
  maxHandoffsPerItem: 1_000_000,
  maxHandoffsPerPipeline: 1_000_000,
  handoffCooldownMs: 0,
  handoffTimeoutMs: 3_600_000,
  maxDeliveries: 1_000_000,
}

export const resolved = { status: 'resolved', providedInputs: { marketSize: 42 } } as const

/** The same request for the same id; a trace of its own for each. */
export function request(id?: string): HandoffRequest {
  return {
    schemaVersion: '1.0.0',
    traceId: id === undefined ? randomUUID() : traceOf(id),
    timestamp: new Date().toISOString(),
    sourceAgent: 'generator',
    sourceContext: { documentType: 'market-analysis', currentStep: 2, attemptNumber: 1 },
    canHandle: false,
    handoffTo: 'researcher',
    reason: 'missing_required_input',
    reasonDetail: 'The size of the market is unknown',
    missingInputs: [{ key: 'marketSize', expectedType: 'number', description: 'In millions', source: 'market' }],
    contextForTarget: { summary: 'Writing the market analysis' },
    priority: 'medium',
  }
}

function traceOf(id: string): string {
  const digits = Buffer.from(id).toString('hex').padEnd(12, '0').slice(0, 12)
  return `00000000-0000-4000-8000-${digits}`
}
