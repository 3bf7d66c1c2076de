import { expect, test } from 'vitest'
import { BetweenCycles } from '../../../src/supervisor/session/between-cycles.ts'
import { sight } from '../support/sightings.ts'

const run = { name: 'shop', agent: 'pi', cwd: '/shop', driver: 'tmux', args: [], prompt: 'Build the shop.' } as const
const rules = { errorMs: 30_000, isChecking: false, isSaying: false }
const failed = sight({ error: 'overloaded', turns: 2 }).observation

test('an error after which the agent goes on by itself is not told to anybody [C16]', () => {
  const between = new BetweenCycles(run)
  expect(between.needs(failed, rules, 0)).toEqual([])
  const told = expect.objectContaining({ do: 'tell', trouble: expect.anything() as unknown }) as unknown
  expect(between.next).toBeLessThan(10_000)
  // It compacts its context, or tries again, and the turn ends well.
  expect(between.needs(sight({ turn: 'working', turns: 2 }).observation, rules, 1_000)).toEqual([])
  expect(between.needs(sight({ turns: 2 }).observation, rules, 20_000)).not.toContainEqual(told)
})

test('an error that stands is told once, and the agent told to continue after a while [C16]', () => {
  const between = new BetweenCycles(run)
  between.needs(failed, rules, 0)
  const standing = between.next!
  expect(between.needs(failed, rules, standing)).toEqual([
    { do: 'tell', trouble: { what: 'An error cut its turn short: overloaded', times: 1, goesOn: true } },
  ])
  expect(between.next).toBe(30_000)
  expect(between.needs(failed, rules, 29_000)).toEqual([])
  expect(between.needs(failed, rules, 30_000)).toMatchObject([{ do: 'say' }])
  expect(between.needs(failed, rules, 40_000)).toEqual([])
  expect(between.needs(sight({ turns: 3 }).observation, rules, 50_000)).toEqual([{ do: 'tell', trouble: undefined }])
})

test('a first turn that its program refused to begin ends the run with its words; later ones are tried again [C15]', () => {
  const error = "error: unknown option '--nonsense' (it ended with 1)"
  const refused = sight({ error, turns: 0 }).observation
  const ended = { why: 'crashed', details: `It did not start: ${error}` }
  expect(new BetweenCycles(run).needs(refused, rules, 0)).toEqual([{ do: 'end', ended }])
  const later = sight({ error, turns: 2 }).observation
  expect(new BetweenCycles(run).needs(later, rules, 0)).toEqual([])
})
