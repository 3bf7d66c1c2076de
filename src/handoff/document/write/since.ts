// What was done after an entry of the tape, as far as the ledger shows it.

import type { Ledger } from '../../ledger/facts.ts'

/** Words alone carry nothing out: an agent that notes where it stands says so afterwards. */
export function hasWorkedSince(id: number, ledger: Ledger): boolean {
  return hasChangedSince(id, ledger) || ledger.commands.some(({ looks, lastId }) => looks !== true && lastId > id)
}

/** Whether a file was changed: any, or the one of that name. */
export function hasChangedSince(id: number, { files }: Ledger, name?: string): boolean {
  return files.some(
    ({ path, state, lastId = 0 }) =>
      state === 'changed' && lastId > id && (name === undefined || `/${path}`.endsWith(`/${name}`)),
  )
}
