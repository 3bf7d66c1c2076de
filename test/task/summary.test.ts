import fc from 'fast-check'
import { expect, test } from 'vitest'
import { artifactTypes, phases, severities, type TaskState } from '../../src/task/schema.ts'
import { compressContext, limitContext, summarise } from '../../src/task/summary.ts'
import { tokenCounter } from '../../src/tape/index.ts'
import { runs } from '../support/full.ts'
import { emptyState } from './project.ts'

const count = await tokenCounter()
const now = '2026-01-09T10:00:00.000Z'
const file = '/home/me/project/.baton/state/TASK-001.json'

function state(more: Partial<TaskState> = {}): TaskState {
  return {
    ...emptyState(now),
    phase: 'implementing',
    previous_phase: 'planning',
    source_agent: 'planner',
    target_agent: 'engineer',
    version: 2,
    ...more,
  }
}

const decision = (text: string, rationale = 'because') => ({
  decision: text,
  rationale,
  timestamp: now,
  agent: 'planner',
  alternatives: [],
})

const artifact = (i: number, artifact_type: TaskState['artifacts'][number]['artifact_type']) => ({
  path: `src/part-${i}.ts`,
  artifact_type,
  content_hash: 'a'.repeat(64),
  size_bytes: 1,
})

test('the summary has the shape of the seed and ends in the state file [S2]', async () => {
  const full = state({
    artifacts: [artifact(1, 'test'), artifact(2, 'source')],
    decisions_made: [decision('First'), decision('TDD approach'), decision('JWT auth')],
    blocking_issues: [
      { issue: 'Slow', severity: 'low', suggested_action: '', requires_human: false },
      { issue: 'No key', severity: 'blocker', suggested_action: '', requires_human: true },
    ],
    quality_gates_passed: ['a', 'b'],
    quality_gates_failed: ['c'],
  })
  expect(await summarise(full, file)).toBe(`## Agent Handoff State
Task: TASK-001 - Implement user login
Phase: implementing (from: planning)
Artifacts: 2 files (source, test)
Decisions: TDD approach; JWT auth (and 1 before)
Blocking: 1 blocker(s), 1 low: No key (1 for a person to decide)
Gates: 2 passed, 1 failed
State file: ${file}`)
  expect(await summarise(state({ previous_phase: null }), file)).toContain('(from: start)')
})

/** Words, scripts that take a token or more a character, half pairs, and text that would open a line of its own. */
const nasty = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({
    unit: fc.constantFrom('word ', '字', '👩‍👩‍👧‍👦', '\n', '\u2028', '\ud800', '\udc00', 'Blocking: None'),
    maxLength: 300,
  }),
)
const long = fc
  .tuple(nasty, fc.boolean())
  .map(([text, fill]) => (fill ? (text === '' ? 'x' : text).repeat(10_000).slice(0, 10_000) : `x${text}`))

const anyState = fc
  .record({
    task_title: long,
    phase: fc.constantFrom(...phases),
    previous_phase: fc.constantFrom(null, ...phases),
    artifacts: fc
      .array(fc.constantFrom(...artifactTypes), { maxLength: 50 })
      .map((types) => types.map((type, i) => artifact(i, type))),
    decisions_made: fc.array(
      fc.tuple(long, long).map(([a, b]) => decision(a, b)),
      { maxLength: 20 },
    ),
    blocking_issues: fc.array(
      fc.record({
        issue: long,
        severity: fc.constantFrom(...severities),
        suggested_action: long,
        requires_human: fc.boolean(),
      }),
      { maxLength: 10 },
    ),
  })
  .map((fields) => state(fields as Partial<TaskState>))

test('the summary of any state has at most 500 tokens and eight lines, always the same [S2]', async () => {
  await fc.assert(
    fc.asyncProperty(anyState, async (any) => {
      const summary = await summarise(any, file)
      expect(count(summary)).toBeLessThanOrEqual(500)
      expect(summary.split(/[\n\r\u2028\u2029]/)).toHaveLength(8)
      expect(summary.endsWith(`State file: ${file}`)).toBe(true)
      expect(await summarise(any, file)).toBe(summary)
    }),
    { numRuns: runs(100) },
  )
})

test('a path too long for the summary is shown by its end [S2]', async () => {
  const task_id = '字👩'.repeat(9)
  const deep = `/${'deep folder-'.repeat(300)}/state/${encodeURIComponent(task_id)}.json`
  const summary = await summarise(state({ task_id, task_title: '字'.repeat(10_000) }), deep)
  expect(count(summary)).toBeLessThanOrEqual(500)
  expect(summary).toMatch(/State file: …\/state\/[^/]+\.json$/)
})

test('the context summary keeps the last five decisions within 2,000 characters [S3]', async () => {
  const seven = Array.from({ length: 7 }, (_, i) => decision(`Decision ${i}`, `reason ${i}`))
  const short = await compressContext(state({ decisions_made: seven }))
  expect(short).toBe(`Task: Implement user login
Current phase: implementing
Total artifacts: 0
Recent decisions:
- Decision 2: reason 2
- Decision 3: reason 3
- Decision 4: reason 4
- Decision 5: reason 5
- Decision 6: reason 6`)
  const words = 'every word of it '.repeat(600)
  const cut = await compressContext(state({ decisions_made: seven.map((each) => ({ ...each, rationale: words })) }))
  expect(cut.length).toBeLessThanOrEqual(2_000)
  expect(cut.endsWith('\n[truncated]')).toBe(true)
  expect(
    cut.match(/^- Decision \d: (every word of it )*(every|every word|every word of|every word of it)…$/gm),
  ).toHaveLength(5)
})

test('the context summary of any state is bounded in characters and tokens, always the same [S3]', async () => {
  await fc.assert(
    fc.asyncProperty(anyState, long, async (any, own) => {
      for (const text of [await compressContext(any), await limitContext(own)]) {
        expect(text.length).toBeLessThanOrEqual(2_000)
        expect(count(text)).toBeLessThanOrEqual(500)
      }
      expect(await compressContext(any)).toBe(await compressContext(any))
      expect((await compressContext(any)).match(/^- /gm)?.length ?? 0).toBe(Math.min(5, any.decisions_made.length))
    }),
    { numRuns: runs(60) },
  )
})

test("an agent's own words are cut at a word, with a mark [S3]", async () => {
  expect(await limitContext('Short.')).toBe('Short.')
  const cut = await limitContext('several words '.repeat(300))
  expect(cut.length).toBeLessThanOrEqual(2_000)
  expect(cut).toMatch(/ (several|words)\n\[truncated\]$/)
})
