// The columns of the promise table. A further engine is one more entry here.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openFileStore, type Store } from '../../src/store/index.ts'

interface Place {
  /** Opens the place; each call is a handle of its own, as another process would have. */
  open(): Promise<Store>
  discard(): Promise<void>
}

export interface Engine {
  readonly name: string
  /** A new, empty place for tapes. */
  fresh(): Promise<Place>
}

export const engines: readonly Engine[] = [
  {
    name: 'file',
    async fresh() {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-store-'))
      return {
        open: () => openFileStore(path.join(folder, '.baton')),
        discard: async () => fs.rmSync(folder, { recursive: true }),
      }
    },
  },
]
