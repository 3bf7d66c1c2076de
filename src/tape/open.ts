// The door of the library: a tape by its name, in the workspace that belongs to where the caller is.

import { findWorkspace } from '../config/workspace.ts'
import { openStore, type Store } from '../store/index.ts'
import { Tape } from './tape.ts'

export interface OpenOptions {
  /** A store that is open already; it stays open when the tape is closed. */
  store?: Store
  /** A store's address or a workspace folder; found from the current folder unless given. */
  address?: string
  /** The agent that opens it: it can write for as long as the tape has no owner, or is its own. */
  as?: string
}

/** Opens a session on that tape, making tape and workspace where there are none. */
export async function openTape(name: string, options: OpenOptions = {}): Promise<Tape> {
  const store = options.store ?? (await openStore(options.address ?? findWorkspace().address))
  const own = options.store === undefined
  const tape = new Tape(store, name, own ? () => store.close() : async () => {}, options.as)
  try {
    await tape.start()
  } catch (error) {
    if (own) await store.close()
    throw error
  }
  return tape
}
