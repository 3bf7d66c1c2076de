import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  assess,
  HandoffEscalationError,
  type Job,
  type MissingInput,
  runJob,
  type Relay,
} from '../../src/relay/index.ts'
import { collect } from '../support/workspace.ts'
import { boundless, open, settings, type SettingsInput } from './pipeline.ts'

const input = (key: string, source?: string): MissingInput => ({
  key,
  expectedType: 'string',
  description: `Required: ${key}`,
  ...(source === undefined ? {} : { source }),
})
const { roles } = settings()

test('nothing missing: the agent can handle it, confidently [P7]', () => {
  expect(assess([input('a', 'market')], { a: 'x' }, roles)).toEqual({ canHandle: true, confidence: 0.9 })
  expect(assess([], {}, roles)).toEqual({ canHandle: true, confidence: 0.9 })
})

test.each([
  [
    'what can be looked up goes to the research agent',
    { required: [input('a', 'external'), input('b', 'market'), input('c')], known: { c: 'x' }, roles },
    { confidence: 0.7, handoffTo: 'researcher', reason: 'Missing research data', missingInputs: ['a', 'b'] },
  ],
  [
    'what the user must decide goes to the orchestrator, and goes first',
    {
      required: [input('a', 'market'), input('b', 'user'), input('c', 'decision')],
      known: {},
      roles: { research: 'scout', orchestrator: 'lead' },
    },
    { confidence: 0.5, handoffTo: 'lead', reason: 'Missing user decision', missingInputs: ['b', 'c'] },
  ],
])('%s [P7]', (_, { required, known, roles }, expected) => {
  expect(assess(required, known, roles)).toEqual({ canHandle: false, ...expected })
})

test('what nobody is known to have does not stop the work [P7]', () => {
  expect(assess([input('a')], {}, roles)).toEqual({ canHandle: true, confidence: 0.6 })
})

interface Bench {
  readonly relay: Relay
  readonly warnings: string[]
  readonly work: (more?: Partial<Job<unknown>>) => Promise<unknown>
}

async function workshop(
  handlers: Record<string, () => object>,
  policy: SettingsInput = {},
): Promise<Bench & { again: Bench['work'] }> {
  const { relay, again } = await open({ handlers: handlers as never, settings: { limits: boundless, ...policy } })
  const warnings: string[] = []
  const job = {
    agent: 'generator',
    traceId: randomUUID(),
    documentType: 'market-analysis',
    required: [input('size', 'market'), input('tone', 'user')],
    state: { draft: 1 },
    run: (state: object) => state,
    warn: (message: string) => void warnings.push(message),
  }
  return {
    relay,
    warnings,
    work: (more) => runJob({ relay, ...job, ...more }),
    again: async (more) => runJob({ relay: await again(), ...job, ...more }),
  }
}

const gives = (providedInputs: object) => () => ({ status: 'resolved', providedInputs })

test('what is resolved is merged, and the work goes on with it [P8]', async () => {
  const { work, relay } = await workshop({ researcher: gives({ size: 'large' }), orchestrator: gives({ tone: 'dry' }) })
  expect(await work()).toEqual({ draft: 1, tone: 'dry', size: 'large' })
  expect(await relay.counters()).toMatchObject({ requests: 2, resolved: 2 })
})

test('what is escalated raises an error with the response; the answer resumes the work in another process, once [P6, P8]', async () => {
  const { work, again, relay } = await workshop({
    researcher: gives({ size: 'large' }),
    orchestrator: () => ({ status: 'escalated' }),
  })
  const error = await work().catch((error: unknown) => error)
  if (!(error instanceof HandoffEscalationError)) throw error
  expect(error).toMatchObject({
    message: 'market-analysis requires human input',
    response: { status: 'escalated', respondingAgent: 'human' },
  })
  await relay.escalations.answer(error.escalation, { tone: 'warm' }, { by: 'Kim' })
  expect(await again({ resume: error.requestId })).toEqual({ draft: 1, tone: 'warm', size: 'large' })
  await expect(again({ resume: error.requestId })).rejects.toMatchObject({ code: 'conflict' })
})

test('work that fails after its answer came has it again when it is tried again [P6, P8]', async () => {
  const { work, again, relay } = await workshop({ orchestrator: () => ({ status: 'escalated' }) })
  const required = [input('tone', 'user')]
  const error = await work({ required }).catch((error: unknown) => error)
  if (!(error instanceof HandoffEscalationError)) throw error
  await relay.escalations.answer(error.escalation, { tone: 'warm' }, { by: 'Kim' })
  const run = () => Promise.reject(new Error('The model is down'))
  await expect(again({ required, resume: error.requestId, run })).rejects.toThrow('The model is down')
  expect(await again({ required, resume: error.requestId })).toEqual({ draft: 1, tone: 'warm' })
})

test('work that waits for a second person keeps what the first one said [P6, P8]', async () => {
  const { work, again, relay } = await workshop(
    { orchestrator: () => ({ status: 'escalated' }), researcher: () => ({ status: 'failed' }) },
    { recovery: [{ strategy: 'escalate' }] },
  )
  const first = await work().catch((error: unknown) => error)
  if (!(first instanceof HandoffEscalationError)) throw first
  await relay.escalations.answer(first.escalation, { tone: 'warm' }, { by: 'Kim' })
  const second = await again({ resume: first.requestId }).catch((error: unknown) => error)
  if (!(second instanceof HandoffEscalationError)) throw second
  expect(second.state).toEqual({ draft: 1, tone: 'warm' })
  await relay.escalations.answer(second.escalation, { size: 'small' }, { by: 'Kim' })
  const end = await again({ state: second.state, resume: second.requestId })
  expect(end).toEqual({ draft: 1, tone: 'warm', size: 'small' })
})

test('a job that died while it waited has the same request when it comes again [P4, P8]', async () => {
  const { work, again, relay } = await workshop({})
  const died = new AbortController()
  const required = [input('size', 'market')]
  const waiting = work({ required, signal: died.signal })
  await expect.poll(() => relay.inbox('researcher')).toHaveLength(1)
  died.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'cancelled' })
  const [item] = await relay.inbox('researcher')
  const resumed = again({ required })
  await relay.answer(item!.requestId, { status: 'resolved', providedInputs: { size: 'large' } })
  expect(await resumed).toEqual({ draft: 1, size: 'large' })
  expect(await relay.counters()).toMatchObject({ requests: 1, rejected: 0 })
})

async function decisions(relay: Relay): Promise<string[]> {
  const rows = await collect(relay.history())
  return rows.flatMap((row) => (row.type === 'recovered' ? [`${row.action}: ${row.reason}`] : [])).reverse()
}

test('by default the work goes on without what is partial or failed, with a warning, and that is recorded [P8, P10]', async () => {
  const { work, warnings, relay } = await workshop({
    orchestrator: () => ({ status: 'partial', providedInputs: {} }),
    researcher: gives({ size: 'large' }),
  })
  expect(await work()).toEqual({ draft: 1 })
  expect(warnings).toEqual(['Proceeding with partial data for market-analysis: Nothing critical is missing: tone'])
  expect(await decisions(relay)).toEqual(['proceed_partial: Nothing critical is missing: tone'])
})

test('a target that failed is replaced by another one, once [P10]', async () => {
  const recovery = [
    { strategy: 'retry_different_target', target: 'orchestrator' },
    { strategy: 'proceed_partial' },
    { strategy: 'escalate' },
  ] as const
  const { work, relay } = await workshop(
    {
      researcher: () => {
        throw new Error('Offline')
      },
      orchestrator: gives({ size: 'from the archive' }),
    },
    { recovery: [...recovery] },
  )
  expect(await work({ required: [input('size', 'market')] })).toEqual({ draft: 1, size: 'from the archive' })
  expect(await decisions(relay)).toEqual(['retry_different_target: researcher failed: Offline'])
})

test('when the other target fails as well, a person is asked; nobody is asked twice [P10]', async () => {
  const fails = () => ({ status: 'failed', failureReason: 'No idea' })
  const { work, relay } = await workshop(
    { researcher: fails, orchestrator: fails },
    {
      recovery: [
        { strategy: 'retry_different_target', target: 'orchestrator' },
        { strategy: 'retry_different_target', target: 'researcher' },
        { strategy: 'escalate' },
      ],
    },
  )
  const error = await work({ required: [input('size', 'market')] }).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(HandoffEscalationError)
  expect(await decisions(relay)).toEqual([
    'retry_different_target: researcher failed: No idea',
    'escalate: orchestrator could not help: No idea',
  ])
  expect(await relay.escalations.list()).toMatchObject([{ from: 'generator', reason: 'requires_human_decision' }])
})

test('without a critical input nothing proceeds or is skipped: a person is asked [P10]', async () => {
  const { work, relay } = await workshop({ orchestrator: () => ({ status: 'partial' }) }, { criticalInputs: ['tone'] })
  await expect(work({ required: [input('tone', 'user')] })).rejects.toBeInstanceOf(HandoffEscalationError)
  expect(await decisions(relay)).toEqual(['escalate: Nothing continues without tone'])
})

test('defaults stand in for what is missing, if they are of the expected type [P10, P15]', async () => {
  const fallback = (size: string | number): SettingsInput => ({
    recovery: [{ strategy: 'fallback_default', defaults: { size } }, { strategy: 'skip_and_continue' }],
  })
  const fails = { researcher: () => ({ status: 'failed' }) }
  const required = [input('size', 'market')]
  const good = await workshop(fails, fallback('unknown'))
  expect(await good.work({ required })).toEqual({ draft: 1, size: 'unknown' })
  expect(await decisions(good.relay)).toEqual(['fallback_default: Defaults stand in for size'])
  const wrong = await workshop(fails, fallback(0))
  expect(await wrong.work({ required })).toEqual({ draft: 1 })
  expect(await decisions(wrong.relay)).toEqual([
    'skip_and_continue: researcher could not help (No reason was given), and it is optional',
  ])
})

test('a request that was refused follows the policy like one that failed [P8, P10]', async () => {
  const { work, relay } = await workshop({}, { routes: [], recovery: [{ strategy: 'escalate' }] })
  await expect(work()).rejects.toBeInstanceOf(HandoffEscalationError)
  expect(await decisions(relay)).toEqual([expect.stringContaining('is not a declared route')])
})

test('documents of one trace ask the same researcher one after the other, and none runs without its data [P8]', async () => {
  const { work, warnings } = await workshop(
    { researcher: gives({ size: 'large' }) },
    { limits: { handoffCooldownMs: 5_000 } },
  )
  const required = [input('size', 'market')]
  for (const documentType of ['one', 'two', 'three']) {
    expect(await work({ required, documentType })).toEqual({ draft: 1, size: 'large' })
  }
  expect(warnings).toEqual([])
})

test('a refusal by a limit is raised with its name; running with less is a choice [P8]', async () => {
  const { work, warnings } = await workshop(
    { researcher: gives({ size: 'large' }), orchestrator: gives({ tone: 'dry' }) },
    { limits: { maxHandoffsPerItem: 1, handoffCooldownMs: 0 } },
  )
  let ran = 0
  const run = (state: object) => (ran++, state)
  await expect(work({ run })).rejects.toMatchObject({
    name: 'HandoffRefusedError',
    rejection: 'item_limit',
    message: 'market-analysis cannot continue: "market-analysis" has had its 1 handoffs (limits.maxHandoffsPerItem)',
  })
  expect(ran).toBe(0)
  expect(await work({ run, allowLess: true })).toEqual({ draft: 1, tone: 'dry' })
  expect(warnings).toHaveLength(1)
})

test('the answer of a person is used once, also by a job that asks again instead of resuming [P6]', async () => {
  const { work, relay } = await workshop({ orchestrator: () => ({ status: 'escalated' }) })
  const required = [input('tone', 'user')]
  const error = await work({ required }).catch((error: unknown) => error)
  if (!(error instanceof HandoffEscalationError)) throw error
  await relay.escalations.answer(error.escalation, { tone: 'warm' }, { by: 'Kim' })
  expect(await work({ required })).toEqual({ draft: 1, tone: 'warm' })
  await expect(work({ required })).rejects.toMatchObject({ code: 'conflict' })
})
