import fc from 'fast-check'
import { expect, test } from 'vitest'
import { IndexTable } from '../../../../src/store/file/read/segment-index.ts'
import { runs } from '../../../support/full.ts'

test('the newest row of a name is found, however often the table was asked before and grew since [T26]', () => {
  const step = fc.record({ name: fc.integer({ min: 0, max: 40 }), asks: fc.integer({ min: 0, max: 30 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const table = new IndexTable()
      const newest = new Map<string, number>()
      for (const [i, { name, asks }] of steps.entries()) {
        table.add('key', `name ${name}`, { id: i + 1, offset: i * 10, prev: i })
        newest.set(`name ${name}`, i + 1)
        for (let ask = 0; ask < asks; ask++) {
          const asked = `name ${(name + ask) % 45}`
          const [found] = table.candidates('key', asked)
          expect(found?.id).toBe(newest.get(asked))
        }
      }
    }),
    { numRuns: runs(100) },
  )
})
