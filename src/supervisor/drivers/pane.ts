// A tmux pane as it is at a moment.

import type { Screen } from '../adapter.ts'
import type { Place } from '../driver.ts'
import { processAt, startOf } from '../../system/processes.ts'

export interface Pane {
  readonly pid: number
  readonly dead: boolean
  readonly status: string
  readonly signal: string
  readonly inMode: boolean
  readonly attached: boolean
  readonly size: readonly [columns: number, rows: number]
  readonly screen: Screen
}

/** Too small for what an agent draws. */
export function isSmall({ size: [columns, rows] }: Pane): boolean {
  return columns < 60 || rows < 15
}

/** Whether it is known how the program in it ended. */
export function isTold({ dead, status, signal }: Pane): boolean {
  return dead && (status !== '' || signal !== '')
}

/** One that is just being started has no terminal yet. */
const youth = 5_000

/** Whether the agent has outlived its pane: nobody can reach it any more. A person's own is left to them. */
export function isStranded({ pid, started, adopted }: Extract<Place, { driver: 'tmux' }>): boolean {
  const agent = pid === undefined || adopted === true ? undefined : processAt(pid)
  if (agent === undefined || agent.started !== started || agent.foreground !== -1) return false
  return Date.now() - (startOf(agent.pid) ?? Date.now()) > youth
}
