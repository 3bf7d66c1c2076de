// The section `transcripts` of baton.config.json:
//
//   { "transcripts": { "models": { "my-model": { "window": 32000, "price": { "input": 1, "output": 2 } } } } }

import fs from 'node:fs'
import path from 'node:path'
import type { Models } from './models.ts'

const fileName = 'baton.config.json'

/** What the user says about models. Where there is no file, nothing is loaded to read it with: lists start fast. */
export async function configuredModels(cwd: string = process.cwd()): Promise<Models> {
  if (!existsUpwards(path.resolve(cwd))) return {}
  const [{ loadConfig }, z] = await Promise.all([import('./config.ts'), import('zod')])
  const dollars = z.number().nonnegative()
  const price = z.strictObject({
    input: dollars,
    output: dollars,
    cacheRead: dollars.optional(),
    cacheWrite: dollars.optional(),
  })
  const model = z.strictObject({ window: z.number().int().positive().optional(), price: price.optional() })
  const section = z.strictObject({ models: z.record(z.string(), model).default({}) })
  return loadConfig(cwd).section('transcripts', section).models
}

function existsUpwards(folder: string): boolean {
  if (fs.existsSync(path.join(folder, fileName))) return true
  const parent = path.dirname(folder)
  return parent !== folder && existsUpwards(parent)
}
