import fc from 'fast-check'
import { expect, test } from 'vitest'
import { prepare } from '../../../src/store/draft.ts'
import { layOut, LineBuffer, markOf, origin, type Place, type Position } from '../../../src/store/file/line.ts'
import { runs } from '../../support/full.ts'

const payload = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.constant('日本 ✓'.repeat(20)))
const batches = fc.array(fc.array(payload, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 })

test('lines are the same whether they are laid out at once or taken in parts, in any script', () => {
  fc.assert(
    fc.property(batches, fc.integer({ min: 0, max: 3_000 }), (payloads, most) => {
      const lines = new LineBuffer(origin, 4_000)
      const taken: Buffer[] = []
      const found: Place[] = []
      const wanted: Buffer[] = []
      const places: Place[] = []
      let at: Position = origin
      for (const batch of payloads) {
        const prepared = prepare(
          batch.map((each) => ({ kind: 'note', payload: each })),
          () => new Date(0),
        )
        const laidOut = layOut(prepared, at)
        wanted.push(laidOut.bytes)
        places.push(...laidOut.places)
        at = laidOut.end
        prepared.forEach(({ rest }, i) => {
          if (lines.filled >= most || !lines.hasRoomFor(rest)) taken.push(Buffer.from(lines.take()))
          found.push(lines.add(rest, markOf(i, prepared.length)))
        })
      }
      taken.push(lines.take())
      expect(Buffer.concat(taken).toString()).toBe(Buffer.concat(wanted).toString())
      expect(found).toEqual(places)
      expect(lines.end).toEqual(at)
    }),
    { numRuns: runs(200) },
  )
})
