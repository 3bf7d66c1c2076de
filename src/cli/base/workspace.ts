// The workspace that a command works in.

import path from 'node:path'
import { findWorkspace } from '../../config/index.ts'
import { NotFoundError } from '../../errors.ts'
import { openStore, type Store } from '../../store/index.ts'
import { nearest } from '../../tape/index.ts'
import { isReserved } from '../../tape/index.ts'
import { chosenWorkspace } from './chosen-workspace.ts'
import { type Globals, Output } from './output.ts'

/** Opens the store, does the work, and closes it, whatever happens. */
export async function withStore<T>(globals: Globals, work: (store: Store, out: Output) => Promise<T>): Promise<T> {
  const { address } = chosenWorkspace(globals)
  const store = await openStore(address)
  try {
    return await work(store, new Output(globals))
  } finally {
    await store.close()
  }
}

/** Throws an error with similar names if there is no such tape. */
export async function demand(store: Store, tape: string): Promise<void> {
  if ((await store.info(tape)) !== undefined || (await store.archives(tape)).length > 0) return
  const names: string[] = []
  for await (const each of store.list()) if (!isReserved(each.tape)) names.push(each.tape)
  const close = nearest(tape, names)
  const help = close.length > 0 ? { nearest: close } : { hint: 'See "baton tape ls".' }
  throw new NotFoundError(`There is no tape "${tape}" in this workspace`, help)
}

/** The folder for files beside the tapes: the workspace, or the user's own folder if the store is not a folder. */
export function workspaceFolder(globals: Globals): string {
  const { address } = chosenWorkspace(globals)
  const folder = address.replace(/^file:(\/\/)?/, '')
  const isFolder = !/^[a-z][a-z+]*:\/\//.test(folder)
  return isFolder ? folder : findWorkspace({ cwd: globals.io.cwd(), env: { HOME: globals.io.env.HOME } }).address
}

/** The folder for copies of handoff documents. */
export function handoffsFolder(globals: Globals): string {
  return path.join(workspaceFolder(globals), 'handoffs')
}

/** Makes a workspace in this folder, or checks the store that is named with `--store`. */
export async function init(globals: Globals): Promise<void> {
  const folder = path.resolve(globals.io.cwd(), globals.workspace ?? '.baton')
  const out = new Output(globals)
  const store = await openStore(globals.store === undefined ? folder : chosenWorkspace(globals).address)
  await store.close()
  const { workspace, place, guarantee } = store
  out.record({ workspace, path: place, guarantee }, `Workspace ${workspace} in ${place}`)
  out.note(guarantee)
}
