// The door of the library: the tasks of the workspace and project that belong to where the caller is.

import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../config/config.ts'
import { findProject } from '../config/project.ts'
import { findWorkspace } from '../config/workspace.ts'
import { openStore, type Store } from '../store/index.ts'
import { taskSection } from './settings.ts'
import { Tasks } from './tasks.ts'

export interface OpenTasksOptions {
  /** A store that is open already; it stays open when the tasks are closed. Needs `stateFolder`. */
  store?: Store
  /** A store's address or a workspace folder; found from the current folder unless given. */
  address?: string
  /** Where the caller is. */
  cwd?: string
  /** Where the state files go, if not where they belong. */
  stateFolder?: string
  clock?: () => Date
}

export async function openTasks(options: OpenTasksOptions = {}): Promise<Tasks> {
  const cwd = path.resolve(options.cwd ?? process.cwd())
  const address = options.address ?? findWorkspace({ cwd }).address
  const settings = loadConfig(cwd).section('task', taskSection)
  const store = options.store ?? (await openStore(address))
  return new Tasks({
    store,
    project: findProject(cwd),
    stateFolder: options.stateFolder ?? stateFolderOf(address, store.workspace),
    settings,
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    ...(options.store === undefined ? { close: () => store.close() } : {}),
  })
}

/** Beside the tapes where those are files; else in a folder of the user's own, for every workspace one. */
export function stateFolderOf(address: string, workspace: string, env: NodeJS.ProcessEnv = process.env): string {
  const scheme = /^([a-z][a-z+]*):/.exec(address)?.[1]
  if (scheme === undefined) return path.resolve(address, 'state')
  if (scheme === 'file') {
    const folder = address.startsWith('file://') ? fileURLToPath(address) : address.slice('file:'.length)
    return path.resolve(folder, 'state')
  }
  const home = env.XDG_DATA_HOME || path.join(env.HOME || os.homedir(), '.local', 'share')
  return path.join(home, 'baton', encodeURIComponent(workspace), 'state')
}
