// The section `transcripts` of baton.config.json:
//
//   { "transcripts": { "models": { "my-model": { "window": 32000, "price": { "input": 1, "output": 2 } } } } }

import * as z from 'zod'

const dollars = z.number().nonnegative()

const price = z
  .strictObject({
    input: dollars,
    output: dollars,
    cacheRead: dollars.optional(),
    cacheWrite: dollars.optional(),
  })
  .describe('dollars for a million tokens')

const model = z.strictObject({ window: z.int().positive().optional(), price: price.optional() })

export const transcriptsSection = z.strictObject({
  models: z
    .record(z.string(), model)
    .default({})
    .describe('models by their name: what Baton does not know, or knows wrong'),
})
