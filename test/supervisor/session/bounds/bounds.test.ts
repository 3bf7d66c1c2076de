import { expect, test } from 'vitest'
import { BoundStop } from '../../../../src/supervisor/session/bounds/bounds.ts'
import { sight } from '../../support/sightings.ts'

const bound = { why: 'bound', bound: 'usd', details: '$0.26 of $0.25 spent' } as const
const rules = { callsShow: true, commandMs: 60_000 }
const at = 1_000_000
const { observation: idle } = sight({ turn: 'idle' })
const { observation: working } = sight({ turn: 'working' })
const running = { ...working, doing: ['npm test'] }

test('an agent at rest is ended at once, and so is one that asks, waits for a limit or is gone [C19]', () => {
  const limited = { ...running, state: { state: 'limited' } } as const
  for (const seen of [idle, { ...running, dialog: { question: 'May I?' } }, limited, { ...running, alive: false }])
    expect(new BoundStop().step(bound, seen, rules, at)).toEqual({ do: 'end', ended: bound })
})

test('a running command may end first, and so may the next call of its reply; then the run ends at once [C19]', () => {
  const stop = new BoundStop()
  expect(stop.step(bound, running, rules, at)).toEqual({ do: 'wait', until: at + 60_000 })
  expect(stop.bound).toEqual(bound)
  expect(stop.step(bound, running, rules, at + 59_000)).toEqual({ do: 'wait', until: at + 60_000 })
  expect(stop.step(bound, working, rules, at + 59_200)).toEqual({ do: 'wait', until: at + 59_400 })
  expect(stop.step(bound, running, rules, at + 59_300)).toEqual({ do: 'wait', until: at + 60_000 })
  expect(stop.step(bound, working, rules, at + 59_500)).toEqual({ do: 'wait', until: at + 59_700 })
  expect(stop.step(bound, working, rules, at + 59_700)).toEqual({
    do: 'end',
    ended: { ...bound, details: '$0.26 of $0.25 spent; Baton waited for the end of the command that was running' },
  })
})

test('a command that does not end is interrupted once, and the run ends with the turn or soon after [C19]', () => {
  const details = '$0.26 of $0.25 spent; Baton interrupted a command that had not ended after 60 more seconds'
  for (const last of [idle, running]) {
    const stop = new BoundStop()
    stop.step(bound, running, rules, at)
    expect(stop.step(bound, running, rules, at + 60_000)).toEqual({ do: 'interrupt', until: at + 65_000 })
    expect(stop.step(bound, running, rules, at + 61_000)).toEqual({ do: 'wait', until: at + 65_000 })
    expect(stop.step(bound, last, rules, at + 65_000)).toEqual({ do: 'end', ended: { ...bound, details } })
  }
})

test('the call of a reply may be written a moment after its cost; a model that thinks is not waited for [C19]', () => {
  const stop = new BoundStop()
  expect(stop.step(bound, working, rules, at)).toEqual({ do: 'wait', until: at + 1_000 })
  expect(stop.step(bound, running, rules, at + 100)).toEqual({ do: 'wait', until: at + 60_000 })
  const other = new BoundStop()
  other.step(bound, working, rules, at)
  expect(other.step(bound, working, rules, at + 1_000)).toEqual({ do: 'end', ended: bound })
})

test('where calls are written when they have ended, the next line is waited for [C19]', () => {
  const stop = new BoundStop()
  const hidden = { ...rules, callsShow: false }
  const silent = { ...working, changed: at - 500 }
  expect(stop.step(bound, silent, hidden, at)).toEqual({ do: 'wait', until: at + 60_000 })
  const written = { ...working, changed: at + 3_000 }
  expect(stop.step(bound, written, hidden, at + 3_000)).toEqual({ do: 'wait', until: at + 3_200 })
  expect(stop.step(bound, written, hidden, at + 3_200)).toMatchObject({ do: 'end' })
})
