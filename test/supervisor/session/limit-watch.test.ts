import { expect, test } from 'vitest'
import { LimitWatch } from '../../../src/supervisor/session/limit-watch.ts'
import { sight } from '../support/sightings.ts'

const patience = { graceMs: 20_000, backoffMs: 30_000 }
const start = Date.parse('2026-11-17T06:40:00Z')
const reset = '2026-11-17T06:46:00.000Z'

/** What the agent says at that second: a limit, or that all is well. */
function seen(second: number, date?: string) {
  const { observation } = sight({})
  const at = start + second * 1_000
  if (date === undefined) return { ...observation, at }
  const state = Date.parse(reset) > at ? ({ state: 'limited', until: reset } as const) : ({ state: 'waiting' } as const)
  return { ...observation, at, state, limit: { until: reset, date } }
}

test('the agent is asked shortly after the reset, then ever later, and never a day later [C17]', () => {
  const watch = new LimitWatch()
  const until = (second: number, date: string) => {
    const { state } = watch.apply(seen(second, date), patience)
    return state.state === 'limited' ? (Date.parse(state.until!) - start) / 1_000 : state.state
  }
  expect(until(0, 'a')).toBe(380)
  expect(until(370, 'a')).toBe(380)
  expect(until(380, 'a')).toBe('waiting')
  // It was asked, and said the same again.
  expect(until(381, 'b')).toBe(411)
  expect(until(411, 'b')).toBe('waiting')
  expect(until(412, 'c')).toBe(472)
  expect(until(473, 'd')).toBe(593)
})

test('a limit without a reset is over only when a turn has ended well [C17]', () => {
  const watch = new LimitWatch()
  expect(watch.isOver).toBe(true)
  const { observation } = sight({})
  const at = (second: number) => start + second * 1_000
  const limit = (second: number) => ({ ...observation, at: at(second), limit: { date: `${second}` }, error: 'quota' })
  // It names no reset, so the time is Baton's, to ask again.
  const limited = (second: number) => ({ state: 'limited', until: new Date(at(second)).toISOString(), chosen: true })
  expect(watch.apply(limit(0), patience).state).toEqual(limited(30))
  // Asked again, and at work for a moment.
  watch.apply({ ...observation, at: at(31), turn: 'working' }, patience)
  expect(watch.isOver).toBe(false)
  expect(watch.apply(limit(33), patience).state).toEqual(limited(93))
  watch.apply({ ...observation, at: at(94), turn: 'working' }, patience)
  watch.apply({ ...observation, at: at(120), turn: 'idle' }, patience)
  expect(watch.isOver).toBe(true)
})

test('an agent that goes on by itself has no limit any more [C17]', () => {
  const watch = new LimitWatch()
  expect(watch.apply(seen(0, 'a'), patience).state).toMatchObject({ state: 'limited' })
  expect(watch.apply(seen(10), patience).state.state).not.toBe('limited')
})

test('an agent that asks at its limit whether to keep trying is told to ever later [C17]', () => {
  const watch = new LimitWatch()
  const { observation } = sight({})
  const until = (second: number, date: string) => {
    const limit = { date, asks: true } as const
    const { state } = watch.apply({ ...observation, at: start + second * 1_000, limit }, patience)
    return state.state === 'limited' ? (Date.parse(state.until!) - start) / 1_000 : state.state
  }
  expect(until(0, 'a')).toBe(30)
  expect(until(30, 'a')).not.toBe('limited')
  expect(watch.keepTrying(start + 30_000, patience)).toBe(true)
  expect(watch.keepTrying(start + 31_000, patience)).toBe(false)
  // It was refused so soon that its screen was not seen without the question.
  expect(until(31, 'a')).toBe(90)
  watch.keepTrying(start + 90_000, patience)
  // It was refused after a while.
  expect(until(100, 'b')).toBe(220)
  expect(watch.isOver).toBe(false)
  watch.apply({ ...observation, at: start + 230_000, turn: 'working' }, patience)
  watch.apply({ ...observation, at: start + 240_000, turn: 'idle' }, patience)
  expect(watch.isOver).toBe(true)
  // The next limit is another one.
  expect(until(250, 'c')).toBe(280)
})
