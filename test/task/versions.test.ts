import path from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { openFileStore, type Range } from '../../src/store/index.ts'
import { Tasks } from '../../src/task/index.ts'
import { applyDelta, deltaBetween } from '../../src/task/delta.ts'
import type { TaskState } from '../../src/task/schema.ts'
import { isFull, runs } from '../support/full.ts'
import { emptyState, handoff, login, project } from './project.ts'

const now = '2026-01-09T10:00:00.000Z'
const artifact = fc.record({
  path: fc.constantFrom('a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts'),
  artifact_type: fc.constantFrom('source' as const, 'test' as const),
  content_hash: fc.constantFrom('0', '1').map((digit) => digit.repeat(64)),
  size_bytes: fc.nat(3),
})
const decision = fc.record({
  decision: fc.constantFrom('A', 'B'),
  rationale: fc.constantFrom('x', 'y'),
  timestamp: fc.constant(now),
  agent: fc.constant('a'),
  alternatives: fc.constant<string[]>([]),
})
/** What one state may differ in from the next. */
const change = fc.record(
  {
    artifacts: fc.uniqueArray(artifact, { maxLength: 5, selector: (each) => each.path }),
    decisions_made: fc.array(decision, { maxLength: 4 }),
    warnings: fc.array(fc.string(), { maxLength: 2 }),
    target_agent: fc.string(),
    extra: fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value))),
    large: fc.constantFrom('', 'x'.repeat(9_000)),
  },
  { requiredKeys: [] },
)

function stateOf(fields: object, version: number): TaskState {
  return { ...emptyState(now), ...fields, version }
}

test('a delta leads from any state to any other [S10]', () => {
  fc.assert(
    fc.property(change, change, (one, two) => {
      const from = stateOf(one, 1)
      const to = stateOf(two, 2)
      expect(applyDelta(from, deltaBetween(from, to))).toEqual(to)
    }),
  )
})

test('every version reads back as it was saved, here and elsewhere [S10, S12]', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 12 }), async (changes) => {
      const { tasks, again } = await project()
      const states = changes.map((fields, i) => stateOf(fields, i + 1))
      for (const state of states) await tasks.save(state)
      const other = await again()
      for (const each of [tasks, other]) {
        expect(await each.get('TASK-001')).toEqual(states.at(-1))
        for (const state of states) expect(await each.at('TASK-001', state.version)).toEqual(state)
      }
      await other.save(stateOf({ warnings: ['from elsewhere'] }, states.length + 1))
      expect(await tasks.get('TASK-001')).toMatchObject({ version: states.length + 1, warnings: ['from elsewhere'] })
    }),
    { numRuns: runs(25) },
  )
})

test('loading a task reads its last full state and what follows, not its whole tape [S12]', async () => {
  const { tasks, folder } = await project()
  await tasks.create(login)
  const handoffs = isFull ? 200 : 100
  for (let i = 0; i < handoffs; i++)
    await tasks.handoff(handoff({ decisions: [{ decision: `Step ${i}`, rationale: 'Next' }] }))
  const store = await openFileStore(path.join(folder, '.baton'))
  onTestFinished(() => store.close())
  let entries = 0
  const counting = new Proxy(store, {
    get(target, name) {
      if (name !== 'read') {
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      }
      return async function* (tape: string, range?: Range) {
        for await (const entry of store.read(tape, range)) {
          entries++
          yield entry
        }
      }
    },
  })
  const other = new Tasks({ store: counting, project: folder, stateFolder: path.join(folder, '.baton', 'state') })
  expect((await other.get('TASK-001')).version).toBe(handoffs + 1)
  expect(entries).toBeLessThan(60)
})
