// `BATON_TEST_FULL=1`, which `npm run test:full` sets, is read here only. Without it a test that repeats one promise at many
// points proves it at a sample of them, another one in each run.

export const isFull = process.env['BATON_TEST_FULL'] === '1'

/** How often a property is tried: a quarter of `all` in a run that is not full. */
export function runs(all: number): number {
  return isFull ? all : Math.ceil(all / 4)
}

/**
 * About `count` of the items, one at random from each of as many equal parts, in their order; all of them in a full run.
 * `BATON_TEST_SEED` repeats the choice of an earlier run, which prints its seed when a test has failed.
 */
export function sample<T>(items: readonly T[], count: number): readonly T[] {
  if (isFull || items.length <= count) return items
  const next = random(Number(process.env['BATON_TEST_SEED'] ?? 0))
  return Array.from({ length: count }, (_, part) => {
    const from = (part * items.length) / count
    return items[Math.floor(from + next() * (items.length / count))]!
  })
}

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
