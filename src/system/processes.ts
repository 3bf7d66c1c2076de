// What the system knows of processes, read from /proc where it exists and otherwise asked of `ps`; and how a program is ended with
// everything that it has started.

import fs from 'node:fs'
import { spawnSync } from 'node:child_process'

export interface Process {
  readonly pid: number
  readonly parent: number
  /** When it was started, as the system reports it: together with the pid it identifies one process, even if the pid is used again. */
  readonly started: string
  readonly group: number
  /** -1 where the system does not say. */
  readonly session: number
  /** The group that its terminal listens to; -1 without a terminal. */
  readonly foreground: number
  readonly stopped: boolean
  /** The command line it was started with; read on demand. */
  readonly args: readonly string[]
}

const hasProc = fs.existsSync('/proc/self/stat')

/** How processes are looked up: in /proc, or with `ps` as on macOS. */
export type Lookup = 'proc' | 'ps'
const lookup: Lookup = hasProc ? 'proc' : 'ps'

/** Undefined if the process has ended; a process that only waits to be reaped has ended. */
export function processAt(pid: number, by: Lookup = lookup): Process | undefined {
  return by === 'proc' ? inProc(pid) : byPs(['-p', String(pid)])[0]
}

/** Whether that very process still runs. */
export function isRunning(pid: number, started?: string): boolean {
  const found = processAt(pid)
  return found !== undefined && (started === undefined || found.started === started)
}

/** Whether the process exists; cheap enough to ask every second. Without /proc, a process that nobody reaped counts as existing. */
export function isThere(pid: number): boolean {
  if (hasProc) return processAt(pid) !== undefined
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** When the process was started, in milliseconds, as exactly as the system reports it. */
export function startOf(pid: number): number | undefined {
  const started = processAt(pid)?.started
  if (started === undefined) return undefined
  if (!hasProc) return Date.parse(started) || undefined
  const boot = Number(/^btime (\d+)$/m.exec(fs.readFileSync('/proc/stat', 'utf8'))?.[1])
  return (boot + Number(started) / ticks) * 1_000
}

/** Clock ticks of the kernel per second: the same on every Linux that Node runs on. */
const ticks = 100

/** The process and all below it, parents first. */
export function treeOf(pid: number): Process[] {
  const all = hasProc ? everyone() : byPs(['-ax'])
  const children = grouped(all)
  const tree = all.filter((each) => each.pid === pid)
  for (const each of tree) tree.push(...(children.get(each.pid) ?? []))
  return tree
}

/** Everything of this user that runs, as far as it can be seen. */
export function allProcesses(): Process[] {
  return hasProc ? everyone() : byPs(['-ax'])
}

/** The working folder of a process, where the system reports it. */
export function folderOf(pid: number): string | undefined {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return undefined
  }
}

/**
 * Whether a process may work in that folder. One that the system lets us not look into is another user's, or a container's, and
 * works with files of its own.
 */
export function mayWorkIn(pid: number, folder: string): boolean {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`) === folder
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EACCES'
  }
}

/** The files that a process has open, where the system reports them. */
export function openFilesOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  try {
    return fs.readdirSync(folder).flatMap((fd) => {
      try {
        return [fs.readlinkSync(`${folder}/${fd}`)]
      } catch {
        return [] // closed meanwhile
      }
    })
  } catch {
    return [] // ended, not ours, or a system without /proc
  }
}

/** Ends a process and all below it: asks first, then insists. Resolves when they are gone. */
export async function endTree(pid: number, started: string | undefined, patience = 3_000): Promise<void> {
  if (!isRunning(pid, started)) return
  const tree = treeOf(pid)
  for (const each of tree) send(each.pid, 'SIGTERM')
  const deadline = performance.now() + patience
  const left = () => tree.filter((each) => isRunning(each.pid, each.started))
  while (left().length > 0 && performance.now() < deadline) await pause(20)
  for (const each of left()) for (const below of treeOf(each.pid)) send(below.pid, 'SIGKILL')
  while (left().length > 0 && performance.now() < deadline + patience) await pause(20)
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

/** Resolves after that time, or when the signal is aborted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      // A signal may outlive many pauses.
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal?.addEventListener('abort', end)
    if (signal?.aborted === true) end()
  })
}

function grouped(all: readonly Process[]): Map<number, Process[]> {
  const groups = new Map<number, Process[]>()
  for (const each of all) {
    const known = groups.get(each.parent)
    if (known === undefined) groups.set(each.parent, [each])
    else known.push(each)
  }
  return groups
}

function everyone(): Process[] {
  return fs.readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    const found = Number.isInteger(pid) ? inProc(pid) : undefined
    return found === undefined ? [] : [found]
  })
}

function inProc(pid: number): Process | undefined {
  const stat = readOr(`/proc/${pid}/stat`)
  // The name of the program is in brackets and may contain any character.
  const [state, parent, group, session, , foreground, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (stat === '' || state === 'Z' || state === 'X') return undefined
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    foreground: Number(foreground),
    started: rest[13] ?? '',
    stopped: state === 'T',
    get args() {
      return readOr(`/proc/${pid}/cmdline`).split('\0').slice(0, -1)
    },
  }
}

/** Whether a process was given that text in its environment; only Linux shows it. */
function hasInEnvironment(pid: number, text: string): boolean {
  return readOr(`/proc/${pid}/environ`).includes(text)
}

/** The environment that a process was started with, as far as the system shows it; variables in the text of `ps` cannot always be separated. */
export function environmentOf(pid: number, by: Lookup = lookup): Map<string, string> {
  // The option of BSD and macOS, and its name on Linux.
  const withEnvironment = process.platform === 'linux' ? 'e' : '-E'
  const parts =
    by === 'proc' ? readOr(`/proc/${pid}/environ`).split('\0') : psText(pid, 'command=', withEnvironment).split(' ')
  return new Map(
    parts.flatMap((each) => {
      const [, name, value] = /^([A-Za-z_]\w*)=([^]*)$/.exec(each) ?? []
      return name === undefined || value === undefined ? [] : [[name, value]]
    }),
  )
}

/** The terminal that a process belongs to, as in "pts/3"; undefined without one. */
export function terminalOf(pid: number): string | undefined {
  if (!hasProc) return psText(pid, 'tty=').trim().replace(/^\?+$/, '') || undefined
  const stat = readOr(`/proc/${pid}/stat`)
  const device = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[4])
  if (!(device > 0)) return undefined
  const major = (device >> 8) & 0xfff
  const minor = (device & 0xff) | ((device >> 12) & 0xfff00)
  if (major >= 136 && major <= 143) return `pts/${(major - 136) * 256 + minor}`
  return major === 4 ? `tty${minor}` : `terminal ${major}:${minor}`
}

function psText(pid: number, fields: string, ...more: string[]): string {
  const args = [...more, '-ww', '-o', fields, '-p', String(pid)]
  return spawnSync('ps', args, { encoding: 'utf8', env: { LC_ALL: 'C' } }).stdout ?? ''
}

function readOr(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return '' // ended meanwhile, or not ours to read
  }
}

function byPs(which: readonly string[]): Process[] {
  const fields = 'pid=,ppid=,pgid=,tpgid=,stat=,lstart=,command='
  const { stdout } = spawnSync('ps', [...which, '-ww', '-o', fields], { encoding: 'utf8', env: { LC_ALL: 'C' } })
  return (stdout ?? '').split('\n').flatMap((line) => {
    const [pid, parent, group, foreground, state = '', ...rest] = line.trim().split(/\s+/)
    if (pid === undefined || pid === '' || state.startsWith('Z')) return []
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: -1,
        foreground: Number(foreground) || -1,
        started: rest.slice(0, 5).join(' '),
        stopped: state.startsWith('T'),
        args: rest.slice(5),
      },
    ]
  })
}

/**
 * The environment variable that holds the mark of a program. A process belongs to a program if it is in the program's group or session, is
 * a descendant of one that is, or carries the program's mark: the mark finds a daemon that has forked twice and called setsid. Only Linux
 * lets us read environments; elsewhere such a daemon is found as long as its parent lives. A program that also wipes its environment, or
 * runs as another user, gets away.
 */
export const markVariable = 'BATON_CALL'

/** How often to look and kill: a process that forks while it is being killed is found in the next round. */
const rounds = 25

/** A process by its number, and the command line it was started with. */
export interface Stray {
  readonly pid: number
  readonly command: string
}

/** `found` is what was there at first; `alive` runs as another user, or does not die. */
interface Killed {
  readonly found: readonly Stray[]
  readonly alive: readonly Stray[]
}

/**
 * Kills the program whose first process is `root`, which must lead its own process group (`detached`), and all that it started. Where
 * the number of that process is not known any more, the program is found by its mark alone.
 * The first round is done when the call returns; the promise resolves when nothing is left, or what is left cannot be killed.
 */
export async function killTree(root: number | undefined, mark?: string): Promise<Killed> {
  let first: Stray[] | undefined
  let found: Process[] = []
  for (let round = 0; round < rounds; round += 1) {
    found = processesOf(root, mark)
    // The command line of a process cannot be read once it is dead.
    first ??= found.map(strayOf)
    // The group is killed in one call: the kernel lets none of it fork in between.
    if (root !== undefined) send(-root, 'SIGKILL')
    // Each of them in this round: without a mark, an orphan could not be found again.
    const killed = found.filter(({ pid }) => send(pid, 'SIGKILL'))
    if (killed.length === 0) break
    await new Promise((resolve) => setTimeout(resolve, 5 + round * 2))
  }
  // Some of those that could not be killed may have ended on their own.
  return { found: first ?? [], alive: found.length === 0 ? [] : processesOf(root, mark).map(strayOf) }
}

/** The living processes of a program, its first one included. */
function processesOf(root: number | undefined, mark: string | undefined): Process[] {
  const all = allProcesses().filter(({ pid }) => pid !== process.pid)
  const found = new Map<number, Process>()
  const belongs = ({ pid, group, session, parent }: Process) =>
    pid === root || group === root || session === root || found.has(parent)
  for (const each of all) if (mark !== undefined && hasInEnvironment(each.pid, mark)) found.set(each.pid, each)
  for (let before = -1; before < found.size;) {
    before = found.size
    for (const each of all) if (belongs(each)) found.set(each.pid, each)
  }
  return [...found.values()]
}

function strayOf({ pid, args }: Process): Stray {
  return { pid, command: args.join(' ') }
}
