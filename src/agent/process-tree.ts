// All that a command has started, also what has left its process group. A process is the command's if it is of its
// group or session, a descendant of one that is, or carries the command's mark in its environment: that is how a
// daemon is found which has forked twice and called setsid. Only Linux lets us read environments; elsewhere such a daemon
// is found as long as its parent lives. A program that also wipes its environment, or runs as somebody else, gets away.

import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { promisify } from 'node:util'

/** The variable that holds the mark. */
export const markVariable = 'BATON_CALL'

export interface Process {
  readonly pid: number
  /** As `ps` would show it. */
  readonly command: string
}

interface Row {
  readonly pid: number
  readonly command: () => string
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly isMarked: boolean
}

/** The living processes of the command whose shell is `root`; the shell is one of them. */
async function processesOf(root: number, mark: string): Promise<Process[]> {
  const rows = process.platform === 'linux' ? readProc(mark) : await readPs()
  const found = new Map<number, Row>()
  const isMine = (row: Row) =>
    row.pid === root || row.group === root || row.session === root || row.isMarked || found.has(row.parent)
  for (let before = -1; before < found.size;) {
    before = found.size
    for (const row of rows) if (row.pid !== process.pid && isMine(row)) found.set(row.pid, row)
  }
  return [...found.values()].map(({ pid, command }) => ({ pid, command: command() }))
}

function readProc(mark: string): Row[] {
  return fs.readdirSync('/proc').flatMap((name): Row[] => {
    if (!/^\d+$/.test(name)) return []
    const stat = readQuietly(`/proc/${name}/stat`)
    // The name of the program, in brackets, may hold brackets and blanks itself.
    const end = stat.lastIndexOf(')')
    const [state, parent, group, session] = stat.slice(end + 2).split(' ')
    if (end < 0 || state === 'Z' || state === 'X') return []
    const isMarked = readQuietly(`/proc/${name}/environ`).includes(mark)
    const row = { pid: Number(name), parent: Number(parent), group: Number(group), session: Number(session), isMarked }
    // Only of the few that are the command's.
    return [{ ...row, command: () => words(name) || stat.slice(stat.indexOf('(') + 1, end) }]
  })
}

function words(pid: string): string {
  return readQuietly(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
}

function readQuietly(file: string): string {
  try {
    return fs.readFileSync(file, 'latin1')
  } catch {
    return '' // ended meanwhile, or not ours to read
  }
}

async function readPs(): Promise<Row[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat=,command='])
  return stdout.split('\n').flatMap((line): Row[] => {
    const [, pid, parent, group, state, command] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    if (command === undefined || state?.startsWith('Z') === true) return []
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: 0,
        isMarked: false,
        command: () => command,
      },
    ]
  })
}

/** Rounds of looking and killing: what forks while it is being killed is found in the next. */
const rounds = 25

/** `found`: what was there at first. `alive`: what runs as somebody else, or does not die. */
export interface Killed {
  readonly found: readonly Process[]
  readonly alive: readonly Process[]
}

/** Kills all of it. Resolves when nothing is left, or what is left cannot be killed. */
export async function killTree(root: number, mark: string): Promise<Killed> {
  let first: Process[] | undefined
  let found: Process[] = []
  for (let round = 0; round < rounds; round += 1) {
    found = await processesOf(root, mark)
    first ??= found
    // The group in one call: the kernel lets none of it fork in between.
    send(-root, 'SIGKILL')
    if (!found.some(({ pid }) => send(pid, 'SIGKILL'))) break
    await new Promise((resolve) => setTimeout(resolve, 5 + round * 2))
  }
  // Some of those may have ended on their own in between.
  return { found: first ?? [], alive: found.length === 0 ? [] : await processesOf(root, mark) }
}

/** False if there is no such process, or it is not ours to signal. */
export function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    if (['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}
