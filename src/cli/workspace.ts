// The workspace that a command works in.

import path from 'node:path'
import { findWorkspace } from '../config/workspace.ts'
import { NotFoundError } from '../errors.ts'
import { openStore, type Store } from '../store/index.ts'
import { nearest } from '../tape/nearest.ts'
import { isReserved } from '../tape/tape.ts'
import { type Globals, Output } from './output.ts'

/** Opens the store, does the work, and closes it, whatever happens. */
export async function withStore<T>(globals: Globals, work: (store: Store, out: Output) => Promise<T>): Promise<T> {
  const { address } = findWorkspace(globals)
  const store = await openStore(address)
  try {
    return await work(store, new Output(globals))
  } finally {
    await store.close()
  }
}

/** Fails with the names that come close, if there is no such tape. */
export async function demand(store: Store, tape: string): Promise<void> {
  if ((await store.info(tape)) !== undefined || (await store.archives(tape)).length > 0) return
  const names: string[] = []
  for await (const each of store.list()) if (!isReserved(each.tape)) names.push(each.tape)
  const close = nearest(tape, names)
  const help = close.length > 0 ? { nearest: close } : { hint: 'See "baton tape ls".' }
  throw new NotFoundError(`There is no tape "${tape}" in this workspace`, help)
}

/** Where files beside the tapes lie: in the workspace, or in the user's own for a store that is no folder. */
export function workspaceFolder(globals: Globals): string {
  const { address } = findWorkspace(globals)
  const folder = address.replace(/^file:(\/\/)?/, '')
  const isFolder = !/^[a-z][a-z+]*:\/\//.test(folder)
  return isFolder ? path.resolve(folder) : findWorkspace({ env: { HOME: process.env.HOME } }).address
}

/** Where documents lie as files. */
export function handoffsFolder(globals: Globals): string {
  return path.join(workspaceFolder(globals), 'handoffs')
}

export async function init(globals: Globals): Promise<void> {
  const folder = path.resolve(globals.workspace ?? '.baton')
  const out = new Output(globals)
  const store = await openStore(folder)
  await store.close()
  if (out.json) out.data({ workspace: store.workspace, path: folder })
  else out.line(`Workspace ${store.workspace} in ${folder}`)
}
