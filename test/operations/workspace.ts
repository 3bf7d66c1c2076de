// A workspace of its own, on the engine that the suite runs on, and calls in its name.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { team } from '../relay/team.ts'
import { addressOf } from '../support/workspace.ts'
import { type Call, openWorkspace, type Scope } from '../../src/operations/index.ts'

export async function temporaryWorkspace() {
  const folder = await mkdtemp(join(tmpdir(), 'baton-operations-'))
  const env = { HOME: folder, PATH: process.env.PATH, BATON_TRUST: '1' }
  await writeFile(join(folder, 'baton.config.json'), JSON.stringify({ relay: team }))
  const workspace = await openWorkspace({
    address: addressOf(join(folder, '.baton')),
    cwd: folder,
    env,
    self: [process.execPath, join(folder, 'no-program')],
  })
  return {
    workspace,
    folder,
    close: async () => {
      await workspace.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export function callBy(name = 'tester', scope: Scope = 'admin'): Call {
  return { signal: new AbortController().signal, progress: () => {}, caller: { name, scope } }
}
