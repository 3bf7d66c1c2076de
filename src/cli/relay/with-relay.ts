// Opens the relay for a command.

import { type OpenedRelay, openWorkspaceRelay } from '../../operations/index.ts'
import type { Store } from '../../store/index.ts'
import { demandTrustedProject } from '../base/chosen-workspace.ts'
import type { Globals, Output } from '../base/output.ts'
import { withStore } from '../base/workspace.ts'

interface RelayCommand extends Omit<OpenedRelay, 'close'> {
  readonly store: Store
  readonly out: Output
}

export async function withRelay<T>(globals: Globals, work: (opened: RelayCommand) => Promise<T>): Promise<T> {
  demandTrustedProject('The relay was not opened', globals)
  return withStore(globals, async (store, out) => {
    const { io } = globals
    const opened = await openWorkspaceRelay({ store, cwd: io.cwd(), env: io.env, warn: (text) => out.warn(text) })
    try {
      return await work({ ...opened, store, out })
    } finally {
      await opened.close()
    }
  })
}
