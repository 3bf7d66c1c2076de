import { expect, test } from 'vitest'
import { limitEnd } from '../../src/agents/limit-end.ts'

const at = '2026-11-17T06:20:30.000Z' // a Tuesday

test.each([
  ["You've hit your limit · resets 6:46am (UTC)", '2026-11-17T06:46:00.000Z'],
  ["You've hit your session limit · resets 6am (UTC)", '2026-11-17T06:00:00.000Z'],
  ['Limit reached, resets 3am (America/New_York)', '2026-11-17T08:00:00.000Z'],
  ['resets 8:54pm (Europe/Berlin)', '2026-11-17T19:54:00.000Z'],
  ['resets at 18:46 UTC', '2026-11-17T18:46:00.000Z'],
  ['resets at 8:30 PM PST', '2026-11-18T04:30:00.000Z'],
  ['resets 07:00 (GMT+2)', '2026-11-18T05:00:00.000Z'],
  ['weekly limit · resets Mon 9am (UTC)', '2026-11-23T09:00:00.000Z'],
  ['resets on Wednesday at 12:00 AM (UTC)', '2026-11-18T00:00:00.000Z'],
  ['resets tomorrow at 6:10am (UTC)', '2026-11-18T06:10:00.000Z'],
  ['resets Nov 20 at 5pm (UTC)', '2026-11-20T17:00:00.000Z'],
  ['resets Jan 2, 3:05 PM (UTC)', '2027-01-02T15:05:00.000Z'],
  ['Try again at Nov 20th, 2026 3:05 PM UTC.', '2026-11-20T15:05:00.000Z'],
  ['resets 20 November, 7am (UTC)', '2026-11-20T07:00:00.000Z'],
  ['resets 2026-11-18 03:00 UTC', '2026-11-18T03:00:00.000Z'],
  ['resets at 2026-11-18T03:00:00+01:00', '2026-11-18T02:00:00.000Z'],
  ['Try again in 3 days 4 hours 9 minutes.', '2026-11-20T10:29:30.000Z'],
  ['try again in 37 minutes', '2026-11-17T06:57:30.000Z'],
  ['Your quota will reset after 2h15m30s.', '2026-11-17T08:36:00.000Z'],
  ['Please retry in 37.5s', '2026-11-17T06:21:07.500Z'],
  ['resets in 1.5 hours', '2026-11-17T07:50:30.000Z'],
  ['resets in about an hour and 20 minutes', '2026-11-17T07:40:30.000Z'],
  ['try again in half an hour', '2026-11-17T06:50:30.000Z'],
  ['Retry-After: 120', '2026-11-17T06:22:30.000Z'],
  ['usage limit reached|1763650800', '2025-11-20T15:00:00.000Z'],
  ['resets at noon UTC', '2026-11-17T12:00:00.000Z'],
  ['resets at midnight (UTC)', '2026-11-18T00:00:00.000Z'],
  ['resets 11/22/2026, 3:05 PM (UTC)', '2026-11-22T15:05:00.000Z'],
  ['resets 22.11.2026 15:05 UTC', '2026-11-22T15:05:00.000Z'],
  ['resets on the 22nd at 3pm (UTC)', '2026-11-22T15:00:00.000Z'],
  ['resets on the 3rd at 3pm (UTC)', '2026-12-03T15:00:00.000Z'],
  ['resets in a few minutes', undefined],
  ['You hit a limit. To raise it, see your plan.', undefined],
])('"%s" names a moment [C17]', (words, until) => {
  expect(limitEnd(words, at)).toBe(until)
})

test.each(['2026-11-17T06:46:00.100Z', '2026-11-17T06:46:41.000Z', '2026-11-17T07:10:00.000Z'])(
  'the same words said again at %s do not move the reset to tomorrow [C17]',
  (later) => {
    expect(limitEnd('resets 6:46am (UTC)', later)).toBe('2026-11-17T06:46:00.000Z')
  },
)

test('a time without a zone is this machine’s [C17]', () => {
  const local = new Date('2026-11-17T18:00:00.000Z')
  local.setHours(23, 0, 0, 0)
  expect(limitEnd('resets 11pm', '2026-11-17T18:00:00.000Z')).toBe(local.toISOString())
})
