// All that a command has started, also what has left its process group. A process is the command's if it is of its
// group or session, a descendant of one that is, or carries the command's mark in its environment: that is how a
// daemon is found which has forked twice and called setsid. Only Linux lets us read environments; elsewhere such a daemon
// is found as long as its parent lives. A program that also wipes its environment, or runs as somebody else, gets away.

import { allProcesses, hasInEnvironment, type Process, send } from '../system/processes.ts'

/** The variable that holds the mark. */
export const markVariable = 'BATON_CALL'

/** The living processes of the command whose shell is `root`; the shell is one of them. */
function processesOf(root: number, mark: string): Process[] {
  const all = allProcesses().filter(({ pid }) => pid !== process.pid)
  const found = new Map<number, Process>()
  const isMine = ({ pid, group, session, parent }: Process) =>
    pid === root || group === root || session === root || found.has(parent)
  const marked = all.filter(({ pid }) => hasInEnvironment(pid, mark))
  for (const each of marked) found.set(each.pid, each)
  for (let before = -1; before < found.size;) {
    before = found.size
    for (const each of all) if (isMine(each)) found.set(each.pid, each)
  }
  return [...found.values()]
}

/** Rounds of looking and killing: what forks while it is being killed is found in the next. */
const rounds = 25

/** A process by its number, and the words it was started with. */
export interface Stray {
  readonly pid: number
  readonly command: string
}

/** `found`: what was there at first. `alive`: what runs as somebody else, or does not die. */
interface Killed {
  readonly found: readonly Stray[]
  readonly alive: readonly Stray[]
}

/** Kills all of it. Resolves when nothing is left, or what is left cannot be killed. */
export async function killTree(root: number, mark: string): Promise<Killed> {
  let first: Stray[] | undefined
  let found: Process[] = []
  for (let round = 0; round < rounds; round += 1) {
    found = processesOf(root, mark)
    // Their words are gone with them.
    first ??= found.map(strayOf)
    // The group in one call: the kernel lets none of it fork in between.
    send(-root, 'SIGKILL')
    if (!found.some(({ pid }) => send(pid, 'SIGKILL'))) break
    await new Promise((resolve) => setTimeout(resolve, 5 + round * 2))
  }
  // Some of those may have ended on their own in between.
  return { found: first ?? [], alive: found.length === 0 ? [] : processesOf(root, mark).map(strayOf) }
}

function strayOf({ pid, args }: Process): Stray {
  return { pid, command: args.join(' ') }
}
