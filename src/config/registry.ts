// The workspaces of this machine that hold supervised sessions: a small file for each, in a folder of the user's own. So `ls`,
// `health`, `stop`, `attach` and the watcher find every session from any folder.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { makeFolder, replaceFile } from '../system/index.ts'
import { stateFolder } from './project.ts'

export function registryFolder(env: NodeJS.ProcessEnv): string {
  return path.join(stateFolder(env), 'workspaces')
}

/** Remembers a workspace, by what opens its store. */
export function registerWorkspace(env: NodeJS.ProcessEnv, address: string): void {
  const name = createHash('sha256').update(address).digest('hex').slice(0, 16)
  const file = path.join(registryFolder(env), `${name}.json`)
  if (fs.existsSync(file)) return
  makeFolder(registryFolder(env))
  replaceFile(file, JSON.stringify({ address }))
}

/** What opens the store of each; a workspace whose folder is gone is forgotten. */
export function registeredWorkspaces(env: NodeJS.ProcessEnv): string[] {
  const folder = registryFolder(env)
  let names: string[]
  try {
    names = fs.readdirSync(folder).filter((name) => name.endsWith('.json'))
  } catch {
    return [] // nothing was ever supervised here
  }
  return names.flatMap((name) => {
    const file = path.join(folder, name)
    const address = addressIn(file)
    if (address !== undefined && isThere(address)) return [address]
    fs.rmSync(file, { force: true })
    return []
  })
}

function addressIn(file: string): string | undefined {
  try {
    const stored: unknown = JSON.parse(fs.readFileSync(file, 'utf8'))
    const isEntry = typeof stored === 'object' && stored !== null && 'address' in stored
    return isEntry && typeof stored.address === 'string' && stored.address !== '' ? stored.address : undefined
  } catch {
    return undefined
  }
}

/** A store that is not a folder may be out of reach for a while, and is kept. */
function isThere(address: string): boolean {
  const folder = address.replace(/^file:(\/\/)?/, '')
  return /^[a-z][a-z+]*:\/\//.test(folder) || fs.existsSync(folder)
}
