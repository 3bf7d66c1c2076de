import fs from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { AgentName } from '../../src/agents/names.ts'
import { agentNamed } from '../../src/agents/registry.ts'
import type { Fact } from '../../src/agents/fact.ts'
import { limitIn } from '../../src/agents/claude/parser.ts'
import { type Meter, meterOf } from '../../src/transcripts/meter.ts'
import type { Models } from '../../src/config/models.ts'
import { TranscriptReader } from '../../src/transcripts/transcript-reader.ts'
import { stateOf } from '../../src/transcripts/state.ts'
import { addFact, emptyStats, type SessionStats } from '../../src/transcripts/session-stats.ts'
import { homeWith, said, sessionsIn } from './home.ts'

/** The meter at the end of each turn of a recorded session, as a follower would see it. */
function turnsOf(agent: AgentName, number = 0, models: Models = {}): Meter[] {
  const file = sessionsIn(homeWith(agent), agent)[number]!
  const reader = new TranscriptReader(agentNamed(agent), file)
  const stats = emptyStats()
  const turns: Meter[] = []
  for (const { facts } of reader.steps()) {
    for (const fact of facts) {
      const before = stats.turn?.to
      addFact(stats, fact)
      if (fact.type === 'turn' && fact.to === 'idle' && before !== 'idle') turns.push(meterOf(agent, stats, models))
    }
  }
  reader.close()
  return turns
}

function statsOf(agent: AgentName, lines: readonly object[]): SessionStats {
  const parser = agentNamed(agent).parser()
  const stats = emptyStats()
  for (const line of lines) for (const fact of parser.facts({ ...line })) addFact(stats, fact)
  return stats
}

describe('agrees with the agent in every turn of the recorded runs [C2]', () => {
  test.each([0, 1])('Claude Code: its status line, session %i [C2]', (number) => {
    const home = homeWith('claude')
    const { id } = sessionsIn(home, 'claude')[number]!
    interface Status {
      session: string
      context_window: {
        context_window_size: number
        used_percentage: number | null
        current_usage: Record<string, number> | null
      }
    }
    const status = (said('claude') as unknown as Status[])
      .filter(({ session, context_window: window }) => session === id && (window.used_percentage ?? 0) > 0)
      .map(({ context_window: window }) => ({
        tokens: tokensOf(window.current_usage!),
        window: window.context_window_size,
        percent: window.used_percentage,
      }))
    const ours = turnsOf('claude', number).map(({ tokens, window, percent }) => ({
      tokens,
      window,
      percent: Math.round(percent!),
    }))
    expect(ours.length).toBeGreaterThan(1)
    // The status line is drawn within turns as well.
    for (const turn of ours) expect(status).toContainEqual(turn)
    expect(status.at(-1)).toEqual(ours.at(-1))
  })

  test('pi: get_session_stats [C2]', () => {
    interface Stats {
      contextUsage: { tokens: number | null; contextWindow: number; percent: number | null }
      cost: number
    }
    const stats = said('pi') as unknown as Stats[]
    const ours = turnsOf('pi', 0, { scripted: { window: 40_000 } })
    expect(ours).toHaveLength(stats.length)
    stats.forEach(({ contextUsage, cost }, i) => {
      const { tokens, percent, window } = ours[i]!
      // After the turn that was summed up it does not know, and a moment before, when the turn ended, it did.
      if (contextUsage.tokens !== null)
        expect({ tokens, percent }).toEqual({ tokens: contextUsage.tokens, percent: contextUsage.percent })
      expect(window).toBe(contextUsage.contextWindow)
      expect(ours[i]!.cost?.usd).toBeCloseTo(cost, 10)
      expect(ours[i]!.cost?.source).toBe('agent')
    })
  })

  test('Codex: token_count [C2]', () => {
    const file = sessionsIn(homeWith('codex'), 'codex')[0]!
    interface Line {
      payload: {
        type: string
        info: { last_token_usage: { total_tokens: number }; model_context_window: number } | null
      }
    }
    const lines = fs
      .readFileSync(file.path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
    const ours = turnsOf('codex')
    const ends = lines.flatMap(({ payload }, i) => (payload.type === 'task_complete' ? [i] : []))
    expect(ours).toHaveLength(ends.length)
    ends.forEach((end, i) => {
      const last = lines
        .slice(0, end)
        .findLast(({ payload }) => payload.type === 'token_count' && payload.info !== null)!
      const { info } = last.payload
      expect(ours[i]).toMatchObject({ tokens: info!.last_token_usage.total_tokens, window: info!.model_context_window })
      expect(ours[i]!.windowSource).toBe('agent')
    })
  })

  test('opencode: the tokens of its messages [C2]', () => {
    const totals = turnsOf('opencode').map(({ tokens }) => tokens)
    expect(totals).toEqual([3_432, 6_236, 97_020, 7_638, 8_339, 9_040])
  })

  test('Gemini CLI: promptTokenCount of the last reply [C2]', () => {
    const file = sessionsIn(homeWith('gemini'), 'gemini').findIndex(({ path }) => path.endsWith('.jsonl'))
    const turns = turnsOf('gemini', file)
    expect(turns.at(-1)).toMatchObject({ tokens: 4_800, window: 1_048_576, windowSource: 'table' })
  })
})

function tokensOf(usage: Record<string, number>): number {
  return usage.input_tokens! + usage.cache_creation_input_tokens! + usage.cache_read_input_tokens!
}

describe('traps of Claude Code', () => {
  const line = (more: object) => ({ sessionId: 's', timestamp: '2026-11-15T10:00:00.000Z', ...more })
  const reply = (id: string, usage: object, more: object = {}) =>
    line({
      type: 'assistant',
      requestId: `r${id}`,
      message: { id, role: 'assistant', model: 'claude-sonnet-4-5', content: [{ type: 'text', text: 'x' }], usage },
      uuid: `u${id}${JSON.stringify(usage)}`,
      ...more,
    })

  test('tokens written to and read from the cache are part of the context [C2]', () => {
    const usage = { input_tokens: 3, cache_creation_input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 7 }
    expect(meterOf('claude', statsOf('claude', [reply('a', usage)]), {}).tokens).toBe(123)
  })

  test('a reply in several lines is paid for once, and its last line counts [C2]', () => {
    const early = { input_tokens: 1_000_000, output_tokens: 1 }
    const late = { input_tokens: 1_000_000, output_tokens: 1_000_000 }
    const stats = statsOf('claude', [reply('a', early), reply('a', early), reply('a', late)])
    expect(meterOf('claude', stats, {}).cost).toMatchObject({ usd: 3 + 15, source: 'prices' })
  })

  test('subagents and made-up replies say nothing about the context, but subagents cost [C2]', () => {
    const stats = statsOf('claude', [
      line({ type: 'user', uuid: 'p', message: { role: 'user', content: 'hi' } }),
      reply('a', { input_tokens: 500, output_tokens: 1 }),
      reply('b', { input_tokens: 9_999, output_tokens: 1 }, { isSidechain: true, agentId: 'x' }),
      line({
        type: 'assistant',
        uuid: 'z',
        message: {
          id: 'c',
          model: '<synthetic>',
          content: [{ type: 'text', text: 'stopped' }],
          usage: { input_tokens: 0 },
        },
      }),
    ])
    expect(meterOf('claude', stats, {})).toMatchObject({ tokens: 500, cost: { usd: (10_499 * 3 + 2 * 15) * 1e-6 } })
  })

  test('what was known before a compaction no longer holds; what it says about itself does [C2]', () => {
    const boundary = (metadata: object) => [
      reply('a', { input_tokens: 180_000, output_tokens: 1 }),
      line({ type: 'system', subtype: 'compact_boundary', uuid: 'b', parentUuid: null, compactMetadata: metadata }),
      line({ type: 'user', isCompactSummary: true, uuid: 'c', message: { role: 'user', content: 'summary' } }),
    ]
    expect(meterOf('claude', statsOf('claude', boundary({ trigger: 'auto' })), {}).tokens).toBeUndefined()
    expect(meterOf('claude', statsOf('claude', boundary({ trigger: 'auto', postTokens: 700 })), {})).toMatchObject({
      tokens: 700,
      source: 'compaction',
    })
  })

  test('more than the window of the model means the wide one, also without [1m] in its name [C2]', () => {
    const small = statsOf('claude', [reply('a', { input_tokens: 150_000, output_tokens: 1 })])
    const large = statsOf('claude', [reply('a', { input_tokens: 350_000, output_tokens: 1 })])
    expect(meterOf('claude', small, {})).toMatchObject({ window: 200_000, percent: 75 })
    expect(meterOf('claude', large, {})).toMatchObject({ window: 1_000_000, percent: 35 })
  })

  test('after /clear nothing is known until the next reply [C2]', () => {
    const stats = statsOf('claude', [
      line({
        type: 'user',
        uuid: 'p',
        parentUuid: null,
        message: { role: 'user', content: '<command-name>/clear</command-name>' },
      }),
    ])
    expect(meterOf('claude', stats, {})).not.toHaveProperty('tokens')
    expect(meterOf('claude', stats, {})).not.toHaveProperty('percent')
  })

  test('a plan limit holds the session until it resets [C17]', () => {
    const now = Date.parse('2026-11-15T19:00:00Z')
    const words = "You've hit your limit · resets 8:54pm (UTC)"
    const stats = statsOf('claude', [
      line({
        type: 'user',
        uuid: 'p',
        message: { role: 'user', content: 'go' },
        timestamp: '2026-11-15T18:59:00.000Z',
      }),
      line({
        type: 'assistant',
        uuid: 'q',
        isApiErrorMessage: true,
        error: 'rate_limit',
        message: { model: '<synthetic>', content: [{ type: 'text', text: words }] },
        timestamp: '2026-11-15T18:59:01.000Z',
      }),
    ])
    expect(stateOf(stats, now, now)).toEqual({ state: 'limited', until: '2026-11-15T20:54:00.000Z' })
    expect(stateOf(stats, now, Date.parse('2026-11-15T21:00:00Z'))).toEqual({ state: 'waiting', guessed: true })
    expect(stateOf(stats, now, Date.parse('2026-11-15T21:00:00Z'), 'idle')).toEqual({ state: 'waiting' })
  })

  test.each([
    ['resets 3am (Europe/Berlin)', '2026-07-01T20:00:00.000Z', '2026-07-02T01:00:00.000Z'],
    ['limit reached|1760000000', '2025-10-09T00:00:00.000Z', '2025-10-09T08:53:20.000Z'],
  ])('the limit of "%s" is a moment [C17]', (words, at, until) => {
    expect(limitIn(`You have hit your limit, ${words}`, at)).toEqual({ until })
  })
})

describe('traps of Codex', () => {
  const event = (payload: object) => ({ timestamp: '2026-11-15T10:00:00.000Z', type: 'event_msg', payload })
  const usage = (total: number, last: number, cached = 0) => ({
    total_token_usage: { total_tokens: total },
    last_token_usage: { input_tokens: last - 10, cached_input_tokens: cached, output_tokens: 10, total_tokens: last },
    model_context_window: 200_000,
  })

  test('the lifetime total is not the context, and what is cached is inside of the input [C2]', () => {
    const stats = statsOf('codex', [
      { timestamp: '2026-11-15T10:00:00.000Z', type: 'turn_context', payload: { model: 'gpt-5-codex' } },
      event({ type: 'token_count', info: usage(900_000, 50_010, 40_000) }),
    ])
    const meter = meterOf('codex', stats, {})
    expect(meter).toMatchObject({ tokens: 50_010, percent: 25.005 })
    expect(meter.cost?.usd).toBeCloseTo((10_000 * 1.25 + 40_000 * 0.125 + 10 * 10) * 1e-6, 10)
  })

  test('news of limits repeat the last usage and cost nothing; info may be missing [C2, C17]', () => {
    const limits = { primary: { used_percent: 41.5, window_minutes: 300, resets_at: 1_794_790_000 }, secondary: null }
    const once = event({ type: 'token_count', info: usage(1_010, 1_010), rate_limits: limits })
    const alone = event({ type: 'token_count', info: null, rate_limits: limits })
    const stats = statsOf('codex', [once, once, alone])
    expect(meterOf('codex', stats, {})).toMatchObject({
      tokens: 1_010,
      quotas: [{ name: 'primary', usedPercent: 41.5, windowMinutes: 300, resetsAt: '2026-11-16T00:46:40.000Z' }],
    })
    expect(stats.spent.unknown).toMatchObject({ input: 1_000, output: 10 })
  })

  test('growth is known, though Codex announces a turn before its prompt [C2, C12]', () => {
    const prompt = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go on' }] }
    const turn = (total: number) => [
      event({ type: 'task_started' }),
      { timestamp: '2026-11-15T10:00:00.000Z', type: 'response_item', payload: prompt },
      event({ type: 'token_count', info: usage(total * 2, total) }),
      event({ type: 'task_complete' }),
    ]
    const stats = statsOf('codex', [...turn(10_000), ...turn(25_000), ...turn(36_000)])
    expect(meterOf('codex', stats, {})).toMatchObject({ growth: 13_000 })
  })

  test('a used-up quota holds the session until it resets [C17]', () => {
    const now = Date.parse('2026-11-15T10:00:00Z')
    const limits = { primary: { used_percent: 100, window_minutes: 300, resets_at: now / 1000 + 600 } }
    const stats = statsOf('codex', [event({ type: 'token_count', info: null, rate_limits: limits })])
    expect(stateOf(stats, now, now)).toEqual({ state: 'limited', until: '2026-11-15T10:10:00.000Z' })
  })
})

describe('traps of pi', () => {
  const message = (message_: object) => ({
    type: 'message',
    id: JSON.stringify(message_).slice(0, 40),
    message: message_,
  })
  const usage = (totalTokens: number) => ({ input: totalTokens, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens })

  test('aborted and failed replies say nothing, and what was said since is estimated [C2]', () => {
    const stats = statsOf('pi', [
      message({ role: 'assistant', content: [], usage: usage(1_000), stopReason: 'stop' }),
      message({ role: 'user', content: 'x'.repeat(401) }),
      message({ role: 'assistant', content: [], usage: usage(0), stopReason: 'aborted' }),
    ])
    expect(meterOf('pi', stats, {})).toMatchObject({ tokens: 1_101, source: 'estimate' })
  })

  test('after a compaction the context is unknown until the next reply [C2]', () => {
    const before = [message({ role: 'assistant', content: [], usage: usage(9_000), stopReason: 'stop' })]
    const compacted = [
      ...before,
      { type: 'compaction', id: 'c', summary: 's', firstKeptEntryId: 'x', tokensBefore: 9_000 },
    ]
    expect(meterOf('pi', statsOf('pi', compacted), {})).not.toHaveProperty('tokens')
  })
})

describe('what follows from the numbers', () => {
  const used = (tokens: number): Fact[] => [
    { type: 'turn', to: 'asked' },
    { type: 'used', tokens, input: tokens, output: 0, cacheRead: 0, cacheWrite: 0, model: 'm' },
    { type: 'turn', to: 'idle' },
  ]
  const stats = (...facts: Fact[]) => {
    const made = emptyStats()
    made.model = 'm'
    for (const fact of facts) addFact(made, fact)
    return made
  }

  test('growth per turn foretells how many turns are left [C1, C2]', () => {
    const grown = stats(...used(10_000), ...used(20_000), ...used(32_000))
    expect(meterOf('claude', grown, { m: { window: 100_000 } })).toMatchObject({ growth: 11_000, turnsLeft: 6 })
  })

  test('a compaction starts the count of growth anew [C2]', () => {
    const after = stats(...used(90_000), { type: 'compacted', summary: 's' }, ...used(10_000))
    expect(meterOf('claude', after, { m: { window: 100_000 } })).not.toHaveProperty('growth')
  })

  test('an unknown window gives no percent, an unknown price no cost [C2]', () => {
    const meter = meterOf('claude', stats(...used(10)), {})
    expect(meter).toEqual({ tokens: 10, source: 'reply', quotas: [] })
  })

  test('what the user says about a model outranks the table [C2]', () => {
    const models = { m: { window: 1_000, price: { input: 2, output: 4 } } }
    const meter = meterOf('claude', stats(...used(500)), models)
    expect(meter).toMatchObject({ percent: 50, windowSource: 'user', cost: { usd: 0.001, source: 'prices' } })
  })
})
