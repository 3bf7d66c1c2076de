import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { BatonError } from '../../src/errors.ts'
import type { AnchorQuery, AppendOptions, Draft, Range, Store } from '../../src/store/index.ts'
import { engines } from './engines.ts'
import { Model, type Outcome, type Plain } from './model.ts'
import { all } from './promises/row.ts'
import { runs } from '../support/full.ts'

const tapes = fc.constantFrom('main', 'a/b')
const keys = fc.constantFrom('k', 'l', 'constructor')
const names = fc.constantFrom('start', 'phase/1')

const payload = fc.oneof(
  fc
    .jsonValue({ maxDepth: 2 })
    // JSON writes -0 as 0, wherever it stands.
    .map((value): unknown => JSON.parse(JSON.stringify(value)))
    .filter((value) => !JSON.stringify(value).includes('__proto__')),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer({ min: 1, max: 60_000 }).map((size) => 'x'.repeat(size)),
)

const draft: fc.Arbitrary<Draft> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('message', 'event', 'odd kind'), payload }) },
  {
    weight: 3,
    arbitrary: fc
      .record({ payload, key: keys, job: fc.option(fc.constantFrom('j1', 'j2')) })
      .map(({ payload: value, key, job }) => {
        return { kind: 'event', payload: value, meta: job === null ? { key } : { key, idempotency: job } }
      }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ name: names, state: payload }).map((anchor) => ({ kind: 'anchor', payload: anchor })),
  },
)

const batch = fc.array(draft, { minLength: 1, maxLength: 4 })
const expectation = fc.oneof(
  fc.constant('none' as const),
  fc.constant('right' as const),
  fc.constant('wrong' as const),
  fc.record({ key: keys, isRight: fc.boolean() }),
)
const bound = fc.option(fc.integer({ min: 0, max: 40 }), { nil: undefined })
const range = fc.record(
  {
    after: bound,
    before: bound,
    kinds: fc.option(fc.subarray(['message', 'event', 'anchor']), { nil: undefined }),
    limit: fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined }),
    reverse: fc.boolean(),
    archived: fc.boolean(),
  },
  { requiredKeys: [] },
)

type Append = { tape: string; drafts: Draft[]; expect: 'none' | 'right' | 'wrong' | { key: string; isRight: boolean } }
const append = fc.record({ tape: tapes, drafts: batch, expect: expectation })

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('append' as const), one: append }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('together' as const),
      tape: tapes,
      many: fc.array(append, { minLength: 2, maxLength: 5 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('read' as const), tape: tapes, range }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('anchors' as const),
      tape: tapes,
      range,
      name: fc.option(names, { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('latest' as const), tape: tapes, key: keys }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('archive' as const), tape: tapes, first: batch }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      tape: tapes,
      batches: fc.array(batch, { minLength: 1, maxLength: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('purge' as const), tape: tapes }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('other' as const, 'reopen' as const) }) },
)

function options(model: Model, { tape, expect: wanted }: Append): AppendOptions {
  if (wanted === 'none') return {}
  if (typeof wanted === 'object') {
    const id = model.latest(tape, wanted.key)?.id ?? 0
    return { expect: { key: wanted.key, id: wanted.isRight ? id : id + 1 } }
  }
  return { expect: model.lastId(tape) + (wanted === 'right' ? 0 : 1) }
}

async function outcome(append: ReturnType<Store['append']>): Promise<Outcome> {
  try {
    return { ids: (await append).map((entry) => entry.id) }
  } catch (error) {
    if (BatonError.is(error) && error.code === 'conflict')
      return { conflict: (error as unknown as { actual: number }).actual }
    throw error
  }
}

async function succeeds(work: Promise<unknown>): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    if (BatonError.is(error) && ['conflict', 'not_found'].includes(error.code)) return false
    throw error
  }
}

/** A key that is undefined is as good as one that is not there. */
function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T
}

const plain = (entries: readonly (Plain | undefined)[]) =>
  entries.map((entry) => entry && { ...entry, date: undefined })

afterAll(async () => {
  for (const engine of engines) await engine.stop()
})

test.each(engines)(
  'any sequence of operations on $name equals the same in memory [T1] [T3] [T16] [T26]',
  async (engine) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const place = await engine.fresh()
        const model = new Model()
        let stores = [await place.open(), await place.open()]
        let active = 0
        try {
          for (const one of steps) {
            const store = stores[active]!
            switch (one.do) {
              case 'append': {
                const { tape, drafts } = one.one
                const checks = options(model, one.one)
                expect(await outcome(store.append(tape, drafts, checks))).toEqual(model.append(tape, drafts, checks))
                break
              }
              case 'together': {
                const outcomes: Promise<Outcome>[] = []
                const wanted: Outcome[] = []
                for (const each of one.many) {
                  const checks = options(model, { ...each, tape: one.tape })
                  outcomes.push(outcome(store.append(one.tape, each.drafts, checks)))
                  wanted.push(model.append(one.tape, each.drafts, checks))
                }
                expect(await Promise.all(outcomes)).toEqual(wanted)
                break
              }
              case 'read': {
                const within: Range = defined(one.range)
                expect(plain(await all(store.read(one.tape, within)))).toEqual(plain(model.read(one.tape, within)))
                break
              }
              case 'anchors': {
                const { after, before, limit, archived } = one.range
                const query: AnchorQuery = defined({ after, before, limit, archived, name: one.name })
                const found = await store.anchors(one.tape, query)
                expect(found.map((anchor) => anchor.id)).toEqual(model.anchors(one.tape, query))
                break
              }
              case 'latest':
                expect(plain([await store.latest(one.tape, one.key)])).toEqual(plain([model.latest(one.tape, one.key)]))
                break
              case 'archive':
                expect(await succeeds(store.archive(one.tape, () => one.first))).toBe(
                  model.archive(one.tape, one.first),
                )
                break
              case 'create':
                expect(await succeeds(store.create(one.tape, one.batches))).toBe(model.create(one.tape, one.batches))
                break
              case 'purge':
                await store.purge(one.tape)
                model.purge(one.tape)
                break
              case 'other':
                active = 1 - active
                break
              case 'reopen':
                for (const each of stores) await each.close()
                stores = [await place.open(), await place.open()]
                break
            }
          }
          for (const store of stores) {
            for (const tape of ['main', 'a/b']) {
              const everything = { archived: true }
              expect(plain(await all(store.read(tape, everything)))).toEqual(plain(model.read(tape, everything)))
            }
          }
        } finally {
          for (const store of stores) await store.close()
          await place.discard()
        }
      }),
      { numRuns: runs(engine.name === 'file' ? 60 : 8) },
    )
  },
)
