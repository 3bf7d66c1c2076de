import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isDate } from '../../src/store/date.ts'
import { runs } from '../support/full.ts'

const iso8601 = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/
const two = fc.integer({ min: 0, max: 61 }).map((each) => String(each).padStart(2, '0'))
const near = fc
  .record({
    month: two,
    day: two,
    hour: two,
    minute: two,
    second: two,
    end: fc.constantFrom('.000Z', '.5Z', 'Z', '', '+02:00', '.1234Z', 'z'),
  })
  .map(({ month, day, hour, minute, second, end }) => `2026-${month}-${day}T${hour}:${minute}:${second}${end}`)

test('a date is what is written as ISO 8601 and can be parsed, however often it is asked', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(near, fc.string({ maxLength: 30 })), { maxLength: 4 }), (texts) => {
      for (const text of [...texts, ...texts.slice(-1)])
        expect(isDate(text), text).toBe(iso8601.test(text) && !Number.isNaN(Date.parse(text)))
    }),
    { numRuns: runs(300) },
  )
  expect([isDate(''), isDate(undefined), isDate(1), isDate(new Date())]).toEqual([false, false, false, false])
})
