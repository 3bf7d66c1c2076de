// A store by its address: the scheme names the engine.

import { fileURLToPath } from 'node:url'
import { InvalidError } from '../errors.ts'
import { openFileStore } from './file/engine.ts'
import type { OpenOptions, Store } from './store.ts'

const hint =
  'Use a folder (--store file:DIR), a PostgreSQL database (--store postgres://HOST/DATABASE) or NATS servers (--store nats://HOST/WORKSPACE)'

/** Opens `file:…`, a plain folder path, `postgres://…` or `nats://…`. */
export async function openStore(address: string, options: OpenOptions = {}): Promise<Store> {
  const scheme = /^([a-z][a-z+]*):/.exec(address)?.[1]
  if (scheme === undefined) return openFileStore(address, options)
  if (scheme === 'file') return openFileStore(folderIn(address), options)
  if (scheme === 'postgres' || scheme === 'postgresql') {
    // The driver takes a moment to load; whoever works on files does without.
    const { openPostgresStore } = await import('./postgres/engine.ts')
    return openPostgresStore(address, options)
  }
  if (scheme === 'nats' || scheme === 'tls') {
    const { openNatsStore } = await import('./nats/engine.ts')
    return openNatsStore(address, options)
  }
  throw new InvalidError(`There is no engine for addresses that begin with "${scheme}:"`, { hint })
}

function folderIn(address: string): string {
  const rest = address.slice('file:'.length)
  if (rest === '') throw new InvalidError('A file store needs a folder', { hint: 'For example: --store file:./notes' })
  return rest.startsWith('//') ? fileURLToPath(address) : rest
}
