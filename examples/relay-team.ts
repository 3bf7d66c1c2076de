// A team of agents in three processes, and a person. The generator writes a plan; what it misses it asks for: market data
// from the researcher, a decision from the orchestrator, who has to ask the user. The generator does not wait for people:
// its process ends, and when it is started again it goes on with the answer.
//
//   node relay-team.js setup        writes baton.config.json
//   node relay-team.js researcher   serves until it is ended, and so does orchestrator
//   node relay-team.js generator    writes plan.md, or says which question a person has to answer
//
// In a project of your own: import { openRelay } from '@baton/baton/relay'

import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { loadConfig } from '../src/config/config.ts'
import {
  HandoffEscalationError,
  type HandoffHandler,
  type JobState,
  openRelay,
  runJob,
  type Relay,
  relaySection,
} from '../src/relay/index.ts'
import { openStore } from '../src/store/index.ts'

export const config = {
  relay: {
    agents: { generator: {}, validator: {}, researcher: {}, orchestrator: {} },
    routes: [
      { from: 'generator', to: 'researcher', reason: 'market data is missing' },
      { from: 'generator', to: 'validator', reason: 'a check before it is handed in' },
      { from: 'generator', to: 'orchestrator', reason: 'the user has to say' },
      { from: 'validator', to: 'generator', reason: 'it has to be written again' },
      { from: 'validator', to: 'orchestrator', reason: 'it is not good enough' },
      { from: 'researcher', to: 'orchestrator', reason: 'the question is not clear' },
    ],
    forbidden: [
      { from: 'researcher', to: 'generator', reason: 'research does not start writing' },
      { from: 'validator', to: 'researcher', reason: 'validation does not start research' },
    ],
    recovery: [
      { strategy: 'retry_different_target', target: 'orchestrator', from: ['researcher'] },
      { strategy: 'proceed_partial' },
      { strategy: 'escalate' },
    ],
    criticalInputs: ['budget'],
    leaseMs: 10_000,
    latencyBudgetMs: 300_000,
  },
}

const researcher: HandoffHandler = ({ missingInputs = [] }) => ({
  status: 'resolved',
  providedInputs: Object.fromEntries(missingInputs.map(({ key }) => [key, { size: 1_200, growth: 0.04 }])),
})

/** Knows what the user wants only as far as the user has said it. */
const orchestrator: HandoffHandler = ({ contextForTarget }) => ({
  status: 'escalated',
  recommendations: [`Say what is missing. ${contextForTarget.summary}`],
})

/** A function of the generator's own process. */
const validator: HandoffHandler = ({ contextForTarget }) => {
  const draft = String(contextForTarget.relevantOutputs?.draft ?? '')
  return draft.includes('Budget')
    ? { status: 'resolved', providedInputs: { accepted: true } }
    : { status: 'failed', failureReason: 'It says nothing about the budget' }
}

interface Run {
  readonly traceId: string
  /** The request that a person has to answer before the work goes on. */
  readonly waitingFor?: string
  /** What is known so far. */
  readonly state?: JobState
}

async function generator(relay: Relay, folder: string): Promise<string> {
  const file = path.join(folder, 'run.json')
  const run = fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as Run) : { traceId: randomUUID() }
  // Before anything is asked: in the same trace, a job that died and was started again asks nothing twice.
  fs.writeFileSync(file, JSON.stringify(run))
  try {
    const draft = await runJob({
      relay,
      agent: 'generator',
      traceId: run.traceId,
      documentType: 'plan',
      required: [
        { key: 'budget', expectedType: 'number', description: 'what may be spent, in €', source: 'decision' },
        { key: 'market', expectedType: 'object', description: 'size and growth', source: 'market' },
      ],
      state: run.state ?? {},
      ...(run.waitingFor === undefined ? {} : { resume: run.waitingFor }),
      run: ({ budget, market }) => `# Plan\n\nBudget: ${String(budget)} €\n\nMarket: ${JSON.stringify(market)}\n`,
    })
    await validated(relay, run.traceId, draft)
    fs.writeFileSync(path.join(folder, 'plan.md'), draft)
    return 'plan.md is written'
  } catch (error) {
    if (!(error instanceof HandoffEscalationError)) throw error
    const waiting = { traceId: run.traceId, waitingFor: error.requestId, state: error.state } satisfies Run
    fs.writeFileSync(file, JSON.stringify(waiting))
    return `waiting for a person: ${error.escalation}`
  }
}

async function validated(relay: Relay, traceId: string, draft: string): Promise<void> {
  const outcome = await relay.request({
    schemaVersion: '1.0.0',
    traceId,
    timestamp: new Date().toISOString(),
    sourceAgent: 'generator',
    sourceContext: { documentType: 'validation', currentStep: 2, attemptNumber: 1 },
    canHandle: false,
    handoffTo: 'validator',
    reason: 'expertise_mismatch',
    reasonDetail: 'The validator judges better',
    missingInputs: [{ key: 'accepted', expectedType: 'boolean', description: 'whether it can be handed in' }],
    contextForTarget: { summary: 'A plan to check', relevantOutputs: { draft } },
    priority: 'high',
  })
  if (outcome.status === 'resolved') return
  throw new Error(`The plan was not accepted: ${JSON.stringify(outcome)}`)
}

/** One process of the team. */
export async function main(role: string | undefined, folder: string): Promise<string> {
  if (role === 'setup') {
    fs.writeFileSync(path.join(folder, 'baton.config.json'), JSON.stringify(config, null, 2))
    return 'baton.config.json is written'
  }
  const store = await openStore(path.join(folder, '.baton'))
  const settings = loadConfig(folder).section('relay', relaySection)
  const relay = await openRelay({ store, settings, handlers: { validator } })
  try {
    if (role === 'generator') return await generator(relay, folder)
    const handler = { researcher, orchestrator }[role ?? '']
    if (handler === undefined) throw new Error('Say who this is: setup, generator, researcher or orchestrator')
    const stop = new AbortController()
    process.once('SIGTERM', () => stop.abort()).once('SIGINT', () => stop.abort())
    await relay.serve(role!, handler, { signal: stop.signal })
    return `${role} has gone home`
  } finally {
    await relay.close()
    await store.close()
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  process.stdout.write(`${await main(process.argv[2], process.cwd())}\n`)
}
