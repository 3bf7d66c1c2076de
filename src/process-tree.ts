// Ends a program with all that it started. The program must have been started in a group of its own (`detached`).

import { type ChildProcess, spawnSync } from 'node:child_process'

/** The group, and descendants that have left it for a group of their own. */
export function killTree(child: ChildProcess): void {
  const strays = descendants(child.pid)
  killGroup(child)
  for (const pid of strays) kill(pid)
}

export function killGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) kill(process.platform === 'win32' ? pid : -pid)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    // Gone already, or a program that runs as somebody else, such as sudo.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

function descendants(root: number | undefined): number[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const children = new Map<number, number[]>()
  for (const line of (stdout ?? '').split('\n')) {
    const [pid, parent] = line.trim().split(/\s+/).map(Number)
    if (pid !== undefined && parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid])
  }
  const found: number[] = []
  const visit = (pid: number) => {
    for (const each of children.get(pid) ?? []) {
      found.push(each)
      visit(each)
    }
  }
  if (root !== undefined) visit(root)
  return found
}
