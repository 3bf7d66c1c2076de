// The section `transcripts` of baton.config.json:
//
//   { "transcripts": { "models": { "my-model": { "window": 32000, "price": { "input": 1, "output": 2 } } } } }

import * as z from 'zod'

const dollars = z.number().nonnegative()

const price = z
  .strictObject({
    input: dollars.describe('of the prompt'),
    output: dollars.describe('of the answer'),
    cacheRead: dollars.optional().describe('of what is read from the cache'),
    cacheWrite: dollars.optional().describe('of what is written to the cache'),
  })
  .describe('dollars for a million tokens')

const model = z.strictObject({
  window: z.int().positive().optional().describe('tokens of its context window'),
  price: price.optional(),
})

export const transcriptsSection = z.strictObject({
  models: z
    .record(z.string(), model)
    .default({})
    .describe('models by name: what Baton does not know about them, or has wrong'),
})
