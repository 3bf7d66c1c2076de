// The relay for a command that is a part of it for as long as it runs: `watch` looks after it, `serve` works for it.

import type { OpenedRelay } from '../../operations/index.ts'
import type { Store } from '../../store/index.ts'
import type { Globals, Output } from '../base/output.ts'
import { withWorkspace } from '../base/workspace.ts'

interface RelayCommand extends Omit<OpenedRelay, 'close'> {
  readonly store: Store
  readonly out: Output
}

export async function withRelay<T>(globals: Globals, work: (opened: RelayCommand) => Promise<T>): Promise<T> {
  return withWorkspace(globals, async ({ workspace }, out) =>
    work({ ...(await workspace.openedRelay()), store: workspace.store, out }),
  )
}
