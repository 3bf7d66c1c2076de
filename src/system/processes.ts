// What the system knows of processes: read from /proc where there is one, else asked of `ps`.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'

export interface Process {
  readonly pid: number
  readonly parent: number
  /** When it was started, as the system tells it: with the pid it names a process for good. */
  readonly started: string
  readonly group: number
  /** -1 where the system does not say. */
  readonly session: number
  /** The group that its terminal listens to; -1 without a terminal. */
  readonly foreground: number
  readonly stopped: boolean
  /** Its words as it was started; read when asked for. */
  readonly args: readonly string[]
}

const hasProc = fs.existsSync('/proc/self/stat')

/** Undefined if it has ended; one that only waits to be reaped has. */
export function processAt(pid: number): Process | undefined {
  return hasProc ? inProc(pid) : byPs(['-p', String(pid)])[0]
}

/** Whether that very process still runs. */
export function isRunning(pid: number, started?: string): boolean {
  const found = processAt(pid)
  return found !== undefined && (started === undefined || found.started === started)
}

/** Whether such a process is there: cheap enough to be asked every second. Without /proc, one that nobody reaped counts. */
export function isThere(pid: number): boolean {
  if (hasProc) return processAt(pid) !== undefined
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** When it was started, in milliseconds, as exact as the system tells it. */
export function startOf(pid: number): number | undefined {
  const started = processAt(pid)?.started
  if (started === undefined) return undefined
  if (!hasProc) return Date.parse(started) || undefined
  const boot = Number(/^btime (\d+)$/m.exec(fs.readFileSync('/proc/stat', 'utf8'))?.[1])
  return (boot + Number(started) / ticks) * 1_000
}

/** Of the system's clock in a second: the same on every Linux that Node runs on. */
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

/** The folder that it works in, where the system says so. */
export function folderOf(pid: number): string | undefined {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return undefined
  }
}

/** Files that it holds open, where the system says so. */
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

/** Shorter where the signal says so. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal?.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
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
  // The name stands in brackets and may hold any character.
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

/** Whether a process was given that text in its environment; only Linux tells. */
export function hasInEnvironment(pid: number, text: string): boolean {
  return readOr(`/proc/${pid}/environ`).includes(text)
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
