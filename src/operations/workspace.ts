// What operations work on: an open store, the folder beside it, and the project whose configuration counts.

import path from 'node:path'
import { findProject, findWorkspace } from '../config/index.ts'
import { NotFoundError } from '../errors.ts'
import { openStore, type Store } from '../store/index.ts'
import { isReserved, nearest } from '../tape/index.ts'

export interface Workspace {
  readonly store: Store
  /** What `openStore` takes. */
  readonly address: string
  /** For files beside the tapes: the workspace's own folder, or one of the user's where the store is no folder. */
  readonly folder: string
  /** The folder whose baton.config.json counts. */
  readonly project: string
  readonly env: NodeJS.ProcessEnv
  /** The program and the arguments that start Baton again, for work in the background. */
  readonly self: readonly [string, string]
}

interface WorkspaceOptions {
  readonly address: string
  /** Where the caller is; the project is found from here upwards. */
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly self: readonly [string, string]
}

export async function openWorkspace({ address, cwd, env, self }: WorkspaceOptions): Promise<Workspace> {
  const store = await openStore(address)
  return { store, address, folder: folderOf(address, cwd, env), project: findProject(cwd), env, self }
}

/** The folder for files beside the tapes of a store. */
export function folderOf(address: string, cwd: string, env: NodeJS.ProcessEnv): string {
  const folder = address.replace(/^file:(\/\/)?/, '')
  if (!/^[a-z][a-z+]*:\/\//.test(folder)) return path.resolve(cwd, folder)
  return findWorkspace({ cwd, env: { HOME: env.HOME } }).address
}

/** Throws an error with similar names if there is no such tape. */
export async function demandTape(store: Store, tape: string): Promise<void> {
  if ((await store.info(tape)) !== undefined || (await store.archives(tape)).length > 0) return
  const names: string[] = []
  for await (const each of store.list()) if (!isReserved(each.tape)) names.push(each.tape)
  const close = nearest(tape, names)
  const help = close.length > 0 ? { nearest: close } : { hint: 'See "baton tape ls".' }
  throw new NotFoundError(`There is no tape "${tape}" in this workspace`, help)
}
