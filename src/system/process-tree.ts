// Ends a program with all that it started. The program must have been started in a group of its own (`detached`).

import type { ChildProcess } from 'node:child_process'
import { send, treeOf } from './processes.ts'

/** The group, and descendants that have left it for a group of their own. */
export function killTree(child: ChildProcess): void {
  const tree = child.pid === undefined ? [] : treeOf(child.pid)
  killGroup(child)
  for (const { pid } of tree) send(pid, 'SIGKILL')
}

export function killGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) send(-pid, 'SIGKILL')
}
