// A store by its address: the scheme names the engine.

import { fileURLToPath } from 'node:url'
import { InvalidError, UnsupportedError } from '../errors.ts'
import { openFileStore } from './file/engine.ts'
import type { Store } from './store.ts'

/** Opens `file:…` or a plain folder path. */
export async function openStore(address: string): Promise<Store> {
  const scheme = /^([a-z][a-z+]*):/.exec(address)?.[1]
  if (scheme === undefined) return openFileStore(address)
  if (scheme === 'file') return openFileStore(folderIn(address))
  if (scheme === 'postgres' || scheme === 'postgresql' || scheme === 'nats') {
    throw new UnsupportedError(`This version of Baton has no ${scheme} engine`, {
      hint: 'Use a folder: --store file:DIR',
    })
  }
  throw new InvalidError(`"${address}" names no known kind of store`, { hint: 'Use a folder: --store file:DIR' })
}

function folderIn(address: string): string {
  const rest = address.slice('file:'.length)
  if (rest === '') throw new InvalidError('A file store needs a folder', { hint: 'For example: --store file:./notes' })
  return rest.startsWith('//') ? fileURLToPath(address) : rest
}
