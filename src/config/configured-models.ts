// What the user says about models in baton.config.json.

import fs from 'node:fs'
import path from 'node:path'
import type { Models } from './models.ts'

const fileName = 'baton.config.json'

/** What the user says about models. Where there is no file, nothing is loaded to read it with: lists start fast. */
export async function configuredModels(cwd: string = process.cwd()): Promise<Models> {
  if (!existsUpwards(path.resolve(cwd))) return {}
  const [{ loadConfig }, { transcriptsSection }] = await Promise.all([
    import('./config.ts'),
    import('./models-section.ts'),
  ])
  return loadConfig(cwd).section('transcripts', transcriptsSection).models
}

function existsUpwards(folder: string): boolean {
  if (fs.existsSync(path.join(folder, fileName))) return true
  const parent = path.dirname(folder)
  return parent !== folder && existsUpwards(parent)
}
