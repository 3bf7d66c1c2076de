import { afterAll, describe, expect, test } from 'vitest'
import { engines } from './engines.ts'
import { promises } from './promises.ts'
import { atWork } from './promises/row.ts'

describe.each(engines)('$name', (engine) => {
  afterAll(() => engine.stop())

  for (const { title, ids, keep } of promises) {
    test(`${title} ${ids.map((id) => `[${id}]`).join(' ')}`, async () => {
      await atWork(engine, keep)
      expect.hasAssertions()
    })
  }
})
