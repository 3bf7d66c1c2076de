// A day of made-up work on one machine, for the pictures of the dashboard: the sessions that Claude Code, Codex, Gemini CLI and pi would
// have left on disk, and what agents ask, decide and hand over through a server.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeSample } from './sample-session.mjs'

const minute = 60_000

/** @typedef {{ asked: string, steps: [command: string, output: string, failed?: boolean][], said: string }} Turn */

/**
 * The sessions of the day below a home. Returns the folder in which the server is to run.
 * @param {string} home
 */
export function makeSessions(home) {
  const now = Date.now()
  const shop = makeSample(home, { ended: now - 8 * minute })
  claude(home, {
    id: '3c9be0a4-51d7-4f0e-8a07-d21b6c8f4e10',
    project: 'payments',
    branch: 'queue-webhooks',
    from: now - 205 * minute,
    to: now - 4_000,
    tokens: [42_000, 131_000],
    turns: webhooks,
  })
  claude(home, {
    id: 'b81f77d3-0c1e-4c6f-9f0a-5e4d2a6b9c33',
    project: 'website',
    branch: 'main',
    from: now - 330 * minute,
    to: now - 262 * minute,
    tokens: [18_000, 88_000],
    turns: accessibility,
  })
  codex(home, { project: 'ledger', from: now - 118 * minute, to: now - 95_000, turns: exporter })
  gemini(home, { project: 'handbook', from: now - 47 * minute, to: now - 21 * minute, turns: onboarding })
  pi(home, { project: 'infra', from: now - 250 * minute, to: now - 12_000, turns: certificates })
  return shop
}

/** @typedef {import('../src/exports/client.ts').Client} Client */

/**
 * What the agents of a team did meanwhile, through a server.
 * @param {Client} client @param {string} project where the server runs
 */
export async function makeTeam(client, project) {
  const { sessions } = await client.sessionList({ limit: 20 })
  for (const { agent, id } of sessions) await client.sessionImport({ session: `${agent}:${id}` })
  await work(client)
  await tasks(client, project)
  await requests(client)
}

/** A tape of an agent with phases, a fork that came back, and documents. @param {Client} client */
async function work(client) {
  const says = (/** @type {string} */ role, /** @type {string} */ content) => ({
    kind: 'message',
    payload: { role, content },
  })
  const runs = (/** @type {string} */ id, /** @type {string} */ command, /** @type {string} */ output) => [
    { kind: 'tool_call', payload: { calls: [{ id, name: 'bash', arguments: { command } }] } },
    { kind: 'tool_result', payload: { results: [{ call_id: id, name: 'bash', output }] } },
  ]
  await client.tapeAppend({
    tape: 'refunds',
    entries: [
      says('user', 'Refund orders that were cancelled before they were shipped. Never refund twice.'),
      ...runs('1', 'rg -n "refund" src', 'src/orders/refund.ts:8: export async function refund(order) {'),
      says('assistant', 'Refunds are keyed by the order id, so a second call finds the first.'),
    ],
  })
  await client.tapeHandoff({
    tape: 'refunds',
    name: 'phase/idempotent',
    state: { summary: 'Refunds are keyed by order id' },
  })
  await client.documentWrite({ tape: 'refunds', goal: 'Refund cancelled orders exactly once' })
  await client.tapeFork({ tape: 'refunds', child: 'refunds-partial', intention: { next_steps: 'Try partial refunds' } })
  await client.tapeAppend({
    tape: 'refunds-partial',
    entries: [
      says('user', 'What if only one of two items was cancelled?'),
      says('assistant', 'Then each line has a key of its own.'),
    ],
  })
  await client.tapeFork({
    tape: 'refunds',
    child: 'refunds-report',
    intention: { next_steps: 'A weekly report for accounting' },
  })
  await client.tapeAppend({
    tape: 'refunds',
    entries: [
      says('user', 'Write the test for two calls at once.'),
      ...runs('2', 'npm test -- refund', 'ok 1 - two calls at once refund once\n# pass 9'),
      says('assistant', 'Nine tests pass. Two calls at once refund once.'),
    ],
  })
  await client.documentWrite({ tape: 'refunds', goal: 'Refund cancelled orders exactly once' })
}

/** @param {Client} client @param {string} project */
async function tasks(client, project) {
  writeFileSync(join(project, 'plan.md'), '# Checkout\n')
  await client.taskCreate({ task: 'CHECKOUT', title: 'Pay without leaving the page' })
  await client.taskHandoff({
    task: 'CHECKOUT',
    handoff: {
      source_agent: 'planner',
      target_agent: 'coder',
      phase: 'planning',
      artifacts: [{ path: 'plan.md', artifact_type: 'doc' }],
      decisions: [
        {
          decision: 'Keep the cart on the server',
          rationale: 'Two tabs must see the same cart',
          alternatives: ['local storage'],
        },
        {
          decision: 'One page, three steps',
          rationale: 'The old flow lost a third of the buyers',
          alternatives: ['a wizard'],
        },
      ],
    },
  })
  await client.taskCreate({ task: 'SEARCH', title: 'Find products with a typing mistake in the name' })
  await client.taskCreate({ task: 'INVOICES', title: 'Invoices as PDF, archived for ten years' })
  const steps = /** @type {const} */ ([
    ['planner', 'coder', 'planning'],
    ['coder', 'tester', 'implementing'],
  ])
  for (const [source_agent, target_agent, phase] of steps) {
    await client.taskHandoff({ task: 'INVOICES', handoff: { source_agent, target_agent, phase } })
  }
}

/** What an agent asks a person. */
export const licenceQuestion = {
  from: 'writer',
  to: 'human',
  priority: /** @type {const} */ ('high'),
  summary: 'Which licence should the package have?',
  missing: [{ key: 'licence', expectedType: 'string', description: 'Its short name' }],
}

/** What an agent asks another. */
export const figuresRequest = {
  from: 'writer',
  to: 'researcher',
  summary: 'Figures for the introduction',
  missing: ['figures'],
}

/** @param {Client} client */
async function requests(client) {
  await client.relayAsk(licenceQuestion)
  await client.relayAsk({
    from: 'coder',
    to: 'human',
    summary: 'May I delete the table of old carts?',
    missing: [{ key: 'delete', expectedType: 'boolean', description: 'It has 41,208 rows, the newest from March' }],
  })
  await client.relayAsk(figuresRequest)
  const asked = { from: 'coder', to: 'reviewer', summary: 'Review of the refund keys', missing: ['verdict'] }
  const { requestId } = await client.relayAsk(asked)
  const { claim } = await client.relayClaim({ agent: 'reviewer', requestId })
  await client.relayAnswer({
    requestId,
    token: String(claim?.['token']),
    answer: { status: 'resolved', providedInputs: { verdict: 'Good. Name the key after the order line.' } },
  })
  await client.relayAsk({ ...asked, summary: 'Review of the dead letter table', priority: 'critical' })
}

/** @type {Turn[]} */
const webhooks = [
  {
    asked: 'Move the payment webhooks to the queue. Keep the signature check where it is.',
    steps: [
      ['rg -n "webhook" src', 'src/http/webhooks.ts:14: export async function receive(request)'],
      ['npm test -- webhooks', '12 passed'],
    ],
    said: 'Webhooks are verified in the request, then queued with their event id as the key.',
  },
  {
    asked: 'What happens to an event that fails five times?',
    steps: [
      ['sed -n 1,60p src/queue/worker.ts', 'const attempts = 5'],
      ['npm test', 'FAIL test/queue.test.ts > keeps a poisoned event\n1 failed, 48 passed', true],
    ],
    said: 'It was dropped. I am moving it to a dead letter table.',
  },
  { asked: 'Good. Also add the retry count to the log line.', steps: [['npm test -- queue', '']], said: '' },
]
/** @type {Turn[]} */
const accessibility = [
  {
    asked: 'Fix the contrast of the pricing page in dark mode.',
    steps: [
      ['npm run audit', '3 serious violations'],
      ['npm run audit', '0 violations'],
    ],
    said: 'All three are fixed: the badge, the footer links, and the disabled button.',
  },
]
/** @type {Turn[]} */
const exporter = [
  {
    asked: 'Find out why the nightly export takes three times as long since Monday.',
    steps: [
      ['git log --since=monday --oneline src/export', '4f2c1aa Sort rows before writing'],
      ['node --cpu-prof scripts/export.mjs', 'done in 184 s'],
    ],
    said: 'Sorting reads every row twice. Without it the export takes 58 s. Shall I sort in the query instead?',
  },
]
/** @type {Turn[]} */
const onboarding = [
  {
    asked: 'Translate the onboarding pages to German. Leave product names as they are.',
    steps: [['ls pages/onboarding', 'accounts.md\nfirst-day.md\ntools.md']],
    said: 'All three pages are translated. The glossary has no entry for “standup”; I kept the word.',
  },
]
/** @type {Turn[]} */
const certificates = [
  {
    asked: 'Rotate the staging certificates and say which services need a restart.',
    steps: [
      ['ls certs/staging', 'api.pem\nmail.pem\nsearch.pem'],
      ['./rotate.sh staging api', 'api.pem: valid until 2027-02-16'],
    ],
    said: 'api is done; it needs no restart.',
  },
  { asked: 'And the other two?', steps: [['./rotate.sh staging mail search', '']], said: '' },
]

/** The turns as a flat list of moments, the last one unfinished when it has nothing to say. @param {Turn[]} turns */
function moments(turns) {
  return turns.flatMap(({ asked, steps, said }) => [
    { kind: /** @type {const} */ ('asked'), text: asked },
    ...steps.flatMap(([command, output, failed = false]) => [
      { kind: /** @type {const} */ ('call'), text: command },
      ...(output === '' ? [] : [{ kind: /** @type {const} */ ('output'), text: output, failed }]),
    ]),
    ...(said === '' ? [] : [{ kind: /** @type {const} */ ('said'), text: said }]),
  ])
}

/** When the moment `i` of `n` was. @param {number} from @param {number} to @param {number} i @param {number} n */
function at(from, to, i, n) {
  return new Date(from + ((to - from) * i) / Math.max(1, n - 1))
}

/** @param {string} file @param {object[]} lines */
function write(file, lines) {
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

/**
 * @param {string} home
 * @param {{ id: string, project: string, branch: string, from: number, to: number, tokens: [number, number], turns: Turn[] }} about
 */
function claude(home, { id, project, branch, from, to, tokens, turns }) {
  const cwd = join(home, project)
  mkdirSync(cwd, { recursive: true })
  const all = moments(turns)
  let call = 0
  const lines = all.map((moment, i) => {
    const cached = Math.round(tokens[0] + ((tokens[1] - tokens[0]) * i) / all.length)
    const usage = {
      input_tokens: 8,
      cache_creation_input_tokens: 1_200,
      cache_read_input_tokens: cached,
      output_tokens: 420,
    }
    const common = {
      uuid: `${i}`,
      parentUuid: i === 0 ? null : `${i - 1}`,
      sessionId: id,
      cwd,
      gitBranch: branch,
      version: '2.1.197',
    }
    const line = { ...common, isSidechain: false, timestamp: at(from, to, i, all.length).toISOString() }
    const reply = (/** @type {object} */ block, /** @type {string} */ stop_reason) => ({
      ...line,
      type: 'assistant',
      requestId: `req_${i}`,
      message: { id: `msg_${i}`, role: 'assistant', model: 'claude-sonnet-4-5', stop_reason, usage, content: [block] },
    })
    switch (moment.kind) {
      case 'asked':
        return { ...line, type: 'user', message: { role: 'user', content: moment.text } }
      case 'call':
        call += 1
        return reply(
          { type: 'tool_use', id: `toolu_${call}`, name: 'Bash', input: { command: moment.text } },
          'tool_use',
        )
      case 'output': {
        const block = { type: 'tool_result', tool_use_id: `toolu_${call}`, content: moment.text }
        const result = moment.failed ? { ...block, is_error: true } : block
        return { ...line, type: 'user', message: { role: 'user', content: [result] } }
      }
      case 'said':
        return reply({ type: 'text', text: moment.text }, 'end_turn')
    }
  })
  const file = join(home, '.claude/projects', cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'), `${id}.jsonl`)
  write(file, lines)
}

/** @param {string} home @param {{ project: string, from: number, to: number, turns: Turn[] }} about */
function codex(home, { project, from, to, turns }) {
  const cwd = join(home, project)
  mkdirSync(cwd, { recursive: true })
  const id = '01a1e9b0-4c5d-7730-b821-80d5757e0aa7'
  const all = moments(turns)
  const start = new Date(from).toISOString()
  let call = 0
  /** @type {{ timestamp: string, type: string, payload: object }[]} */
  const lines = [
    {
      timestamp: start,
      type: 'session_meta',
      payload: {
        id,
        timestamp: start,
        cwd,
        originator: 'codex_cli_rs',
        cli_version: '0.166.0',
        git: { branch: 'main' },
      },
    },
    { timestamp: start, type: 'turn_context', payload: { cwd, model: 'gpt-5.2-codex' } },
    { timestamp: start, type: 'event_msg', payload: { type: 'task_started', model_context_window: 272_000 } },
  ]
  all.forEach((moment, i) => {
    const timestamp = at(from, to, i, all.length).toISOString()
    const item = (/** @type {object} */ payload) => lines.push({ timestamp, type: 'response_item', payload })
    switch (moment.kind) {
      case 'asked':
        item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: moment.text }] })
        break
      case 'call':
        call += 1
        item({
          type: 'function_call',
          name: 'exec_command',
          arguments: JSON.stringify({ cmd: moment.text }),
          call_id: `call_${call}`,
        })
        break
      case 'output':
        item({
          type: 'function_call_output',
          call_id: `call_${call}`,
          output: `Process exited with code 0\nOutput:\n${moment.text}\n`,
        })
        break
      case 'said':
        item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: moment.text }] })
    }
    const total = 60_000 + i * 17_000
    const usage = {
      input_tokens: total - 900,
      cached_input_tokens: total - 9_000,
      output_tokens: 900,
      total_tokens: total,
    }
    const info = { total_token_usage: usage, last_token_usage: usage, model_context_window: 272_000 }
    const resets_at = Math.round((Date.now() + 96 * minute) / 1000)
    const rate_limits = { primary: { used_percent: 38, window_minutes: 300, resets_at } }
    lines.push({ timestamp, type: 'event_msg', payload: { type: 'token_count', info, rate_limits } })
  })
  lines.push({ timestamp: new Date(to).toISOString(), type: 'event_msg', payload: { type: 'task_complete' } })
  const day = start.slice(0, 10).replaceAll('-', '/')
  const name = `rollout-${start.slice(0, 19).replaceAll(':', '-')}-${id}.jsonl`
  write(join(home, '.codex/sessions', day, name), lines)
}

/** @param {string} home @param {{ project: string, from: number, to: number, turns: Turn[] }} about */
function gemini(home, { project, from, to, turns }) {
  mkdirSync(join(home, project), { recursive: true })
  const id = '499d107f-2f0c-4a44-9c7f-0d5f1b7f9a11'
  const all = moments(turns).filter(({ kind }) => kind === 'asked' || kind === 'said')
  const start = new Date(from).toISOString()
  const lines = [
    {
      sessionId: id,
      projectHash: 'a'.repeat(64),
      startTime: start,
      lastUpdated: new Date(to).toISOString(),
      kind: 'main',
    },
    ...all.map((moment, i) => {
      const common = { id: `m${i}`, timestamp: at(from, to, i, all.length).toISOString() }
      if (moment.kind === 'asked') return { ...common, type: 'user', content: [{ text: moment.text }] }
      const tokens = { input: 118_000, output: 900, cached: 90_000, thoughts: 120, tool: 0, total: 119_020 }
      return { ...common, type: 'gemini', content: moment.text, thoughts: [], tokens, model: 'gemini-2.5-pro' }
    }),
  ]
  const folder = join(home, '.gemini/tmp', project)
  write(join(folder, 'chats', `session-${start.slice(0, 16).replaceAll(':', '-')}-${id.slice(0, 8)}.jsonl`), lines)
  writeFileSync(join(folder, '.project_root'), join(home, project))
}

/** @param {string} home @param {{ project: string, from: number, to: number, turns: Turn[] }} about */
function pi(home, { project, from, to, turns }) {
  const cwd = join(home, project)
  mkdirSync(cwd, { recursive: true })
  const id = '01a1e145-1b83-70ad-b9e2-3f6edebcb548'
  const start = new Date(from).toISOString()
  const all = moments(turns)
  let call = 0
  const lines = [
    { type: 'session', version: 3, id, timestamp: start, cwd },
    {
      type: 'model_change',
      id: 'm',
      parentId: null,
      timestamp: start,
      provider: 'anthropic',
      modelId: 'claude-sonnet-4-5',
    },
    ...all.map((moment, i) => {
      const date = at(from, to, i, all.length)
      const common = {
        type: 'message',
        id: `e${i}`,
        parentId: i === 0 ? 'm' : `e${i - 1}`,
        timestamp: date.toISOString(),
      }
      const total = 30_000 + i * 8_000
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.03 }
      const usage = { input: 2_000, output: 300, cacheRead: total - 2_300, cacheWrite: 0, totalTokens: total, cost }
      const reply = (/** @type {object} */ block, /** @type {string} */ stopReason) => ({
        role: 'assistant',
        content: [block],
        model: 'claude-sonnet-4-5',
        provider: 'anthropic',
        usage,
        stopReason,
        timestamp: date.getTime(),
      })
      switch (moment.kind) {
        case 'asked':
          return { ...common, message: { role: 'user', content: [{ type: 'text', text: moment.text }] } }
        case 'call':
          call += 1
          return {
            ...common,
            message: reply(
              { type: 'toolCall', id: `c${call}`, name: 'bash', arguments: { command: moment.text } },
              'toolUse',
            ),
          }
        case 'output': {
          const content = [{ type: 'text', text: moment.text }]
          const result = { role: 'toolResult', toolCallId: `c${call}`, toolName: 'bash', content, isError: false }
          return { ...common, message: result }
        }
        case 'said':
          return { ...common, message: reply({ type: 'text', text: moment.text }, 'stop') }
      }
    }),
  ]
  const folder = `--${cwd.slice(1).replaceAll('/', '-')}--`
  write(join(home, '.pi/agent/sessions', folder, `${start.replaceAll(/[:.]/g, '-')}_${id}.jsonl`), lines)
}
