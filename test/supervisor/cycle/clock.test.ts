import { expect, onTestFinished, test, vi } from 'vitest'
import { Moment, shifted } from '../../../src/supervisor/cycle/clock.ts'
import { atRest, step } from '../../../src/supervisor/cycle/cycle.ts'
import { policy, sight } from '../support/sightings.ts'

const hours = 5 * 3_600_000
const now = Date.parse('2026-01-22T14:30:00Z')

/** Asked for a document, and waiting for it. */
function asked() {
  const begun = step(atRest, sight({ percent: 87 }, now), policy, now).cycle
  const typed = step(begun, { type: 'done', what: 'ask' }, policy, now + 1_000).cycle
  return step(typed, sight({ percent: 87, turn: 'working', heard: true }, now + 2_000), policy, now + 2_000).cycle
}

test('a clock that is set forward uses up no time that an agent has left [C4]', () => {
  const later = now + 3_000 + hours
  const seen = sight({ percent: 87, turn: 'working' }, later)
  // As it was: asked again at once, or handed over without its document.
  expect(step(asked(), seen, policy, later).effects).not.toEqual([])
  expect(step(shifted(asked(), hours), seen, policy, later)).toMatchObject({ cycle: { at: 'asked' }, effects: [] })
})

test('what counts from a time counts from before a clock that is set back, and from where it was otherwise [C3][C6]', () => {
  const cycle = asked()
  const back = shifted(cycle, -hours)
  expect(back).toMatchObject({ at: 'asked', trigger: { at: now - hours }, prompt: { began: now - hours } })
  expect(shifted(cycle, hours)).toMatchObject({ trigger: { at: now }, prompt: { began: now } })
})

test('what counts from the start of an agent counts after the clock was set back, too; set forward, nothing is forgotten [C6]', () => {
  vi.useFakeTimers({ toFake: ['Date'], now })
  onTestFinished(() => void vi.useRealTimers())
  const started = new Moment(now)
  vi.setSystemTime(now + hours)
  expect(started.at).toBe(now)
  vi.setSystemTime(now - hours)
  // A prompt that is typed now is not older than the agent.
  expect(started.at).toBeLessThan(now - hours + 1_000)
  vi.setSystemTime(now)
  expect(started.at).toBeLessThan(now - hours + 1_000)
})
