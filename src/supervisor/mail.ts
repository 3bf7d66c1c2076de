// What reaches the runner of a session.

import type { Outcome } from './conductor.ts'
import type { Control } from './control.ts'
import type { Observation } from './eyes.ts'
import type { Ended } from './run.ts'
import type { Trouble } from './vigil.ts'

export type Mail =
  | { readonly type: 'look'; readonly look: Observation }
  | { readonly type: 'outcome'; readonly outcome: Outcome }
  | { readonly type: 'control'; readonly control: Control }
  /** Something has changed where documents arrive, or in the settings. */
  | { readonly type: 'file' }
  | { readonly type: 'say'; readonly text: string }
  | { readonly type: 'end'; readonly ended: Ended }
  | { readonly type: 'trouble'; readonly trouble: Trouble | undefined }
  | { readonly type: 'broken'; readonly error: unknown }
