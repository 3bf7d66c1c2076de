// Opens the tasks of the workspace and project that the current folder belongs to.

import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { findProject, findWorkspace, loadConfig } from '../config/index.ts'
import { checkOptions } from '../options.ts'
import { openStore, type Store } from '../store/index.ts'
import { taskSection } from './settings.ts'
import type { People } from './handoffs.ts'
import { Tasks } from './tasks.ts'

export interface OpenTasksOptions {
  /** An open store, which stays open when the tasks are closed. Needs `stateFolder`. */
  store?: Store
  /** A store's address or a workspace folder; found from the current folder by default. */
  address?: string
  /** The current folder of the process by default. */
  cwd?: string
  /** Where the state files go; beside the tapes by default. */
  stateFolder?: string
  /** Where people are asked, such as `askThroughRelay(relay)`. */
  people?: People
  clock?: () => Date
}

/** Opens the tasks of a workspace, by default those of the current folder. */
export async function openTasks(options: OpenTasksOptions = {}): Promise<Tasks> {
  const names = { store: true, address: true, cwd: true, stateFolder: true, people: true, clock: true } as const
  checkOptions('openTasks', options, names)
  const cwd = path.resolve(options.cwd ?? process.cwd())
  const address = options.address ?? findWorkspace({ cwd }).address
  const settings = loadConfig(cwd).section('task', taskSection)
  const store = options.store ?? (await openStore(address))
  return new Tasks({
    store,
    project: findProject(cwd),
    stateFolder: options.stateFolder ?? stateFolderOf(address, store.workspace),
    settings,
    ...(options.people === undefined ? {} : { people: options.people }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    ...(options.store === undefined ? { close: () => store.close() } : {}),
  })
}

/** Beside the tapes when those are files; else one folder per workspace in the user's data folder. */
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
