// Supervised agents as their user has them: the built command line, a real tmux server of their own, a project and a
// workspace. `close` ends everything that is left.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { type DemoSetupOptions, setUpDemo } from '../../src/demo/setup.ts'
import type { Timings } from '../../src/supervisor/index.ts'
import { allProcesses, endTree, folderOf } from '../../src/system/processes.ts'
import { program } from '../cli/cli.ts'

export type Event = Record<string, unknown> & { type: string }

export interface Started {
  readonly child: ChildProcess
  readonly events: readonly Event[]
  /** The first event that fits, of those that were and those to come; rejects if the command ends before. */
  event(fits: (event: Event) => boolean): Promise<Event>
  readonly ended: Promise<number | null>
  readonly err: () => string
}

interface Place {
  readonly folder: string
  readonly project: string
  /** The file of the task. */
  readonly task: string
  readonly env: NodeJS.ProcessEnv
}

/** A little less than a test may take, so that it is the missing event that fails it, with what came instead. */
const patience = 200_000

export class Door {
  readonly folder: string
  readonly project: string
  readonly task: string
  readonly env: NodeJS.ProcessEnv
  readonly socket: string
  readonly #children: ChildProcess[] = []

  constructor({ folder, project, task, env }: Place) {
    this.folder = folder
    this.project = project
    this.task = task
    this.env = { BATON_TRUST: '1', ...env, TMUX_TMPDIR: folder, NO_COLOR: '1' }
    this.socket = path.join(folder, `tmux-${process.getuid!()}`, 'baton')
  }

  /** The arguments of a run that ends when the tests of the sample pass. */
  job(agent: string, ...more: string[]): string[] {
    return ['run', agent, '--name', 'job', '--task', this.task, '--until', 'node --test', ...more]
  }

  start(...args: string[]): Started {
    const child = spawn(process.execPath, [program, '--json', ...args], {
      cwd: this.project,
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#children.push(child)
    let err = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    const events: Event[] = []
    const waiting = new Set<() => void>()
    const wake = () => waiting.forEach((each) => each())
    let over = false
    const ended = new Promise<number | null>((resolve) => {
      child.on('close', (code) => {
        over = true
        resolve(code)
        wake()
      })
    })
    readline.createInterface({ input: child.stdout }).on('line', (line) => {
      events.push(JSON.parse(line) as Event)
      wake()
    })
    const seen = () => `${events.map((each) => JSON.stringify(each)).join('\n')}\n${err}`
    const event = (fits: (event: Event) => boolean) =>
      new Promise<Event>((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look)
          reject(new Error(`baton ${args.join(' ')} did not come to that:\n${seen()}`))
        }, patience)
        const look = () => {
          const found = events.find(fits)
          if (found === undefined && !over) return
          clearTimeout(timer)
          waiting.delete(look)
          if (found !== undefined) return resolve(found)
          reject(new Error(`baton ${args.join(' ')} ended before that:\n${seen()}`))
        }
        waiting.add(look)
        look()
      })
    return { child, events, event, ended, err: () => err }
  }

  /** What a command prints, as records. */
  say(...args: string[]): Record<string, unknown>[] {
    const { stdout, stderr, error } = spawnSync(process.execPath, [program, '--json', ...args], {
      cwd: this.project,
      env: this.env,
      encoding: 'utf8',
      // The log of a long night has some megabytes.
      maxBuffer: 64 << 20,
      // A command that does not end would hold up the whole run: no test can time out meanwhile.
      timeout: 60_000,
    })
    if (error !== undefined) throw new Error(`baton ${args.join(' ')} did not end`, { cause: error })
    // `baton health` fails when something is critical, and prints it all the same.
    if (stdout === '' && stderr !== '') throw new Error(`baton ${args.join(' ')}: ${stderr}`)
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  /** Ends whatever is left; nothing writes to the folder when it resolves. */
  async close(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const exit = once(child, 'exit')
        child.kill('SIGKILL')
        await exit
      }),
    )
    this.killTmux()
    // Agents on a screen end with their terminal or soon after, those without a screen with their turn.
    for (const { pid, started } of allProcesses().filter((each) => this.#isAtWork(each.pid)))
      await endTree(pid, started, 0)
  }

  #isAtWork(pid: number): boolean {
    const at = folderOf(pid)
    return pid !== process.pid && at !== undefined && `${at}/`.startsWith(`${this.project}/`)
  }

  tmux(...args: string[]): string {
    return execFileSync('tmux', ['-S', this.socket, ...args], { env: this.env, encoding: 'utf8', stdio: 'pipe' })
  }

  killTmux(): void {
    try {
      this.tmux('kill-server')
    } catch {
      // There is none any more.
    }
  }
}

/** With the scripted agent. */
export function scriptedDoor(
  folder: string,
  { timings, ...options }: Partial<DemoSetupOptions> & { timings?: Partial<Timings> } = {},
): Door {
  const real = fs.realpathSync(folder)
  const { sample } = setUpDemo({ folder: real, baton: [process.execPath, program], pace: 10, ...options })
  fs.mkdirSync(path.join(sample.folder, '.baton'))
  const task = path.join(real, 'task.md')
  fs.writeFileSync(task, sample.task)
  const { TMUX: _tmux, TMUX_PANE: _pane, NODE_TEST_CONTEXT: _test, ...env } = process.env
  return new Door({ folder: real, project: sample.folder, task, env: { ...env, HOME: real, ...hurried(timings) } })
}

/** Several cycles in a minute: nothing is to calm down in between. */
export function hurried(timings: Partial<Timings> = {}): NodeJS.ProcessEnv {
  return { BATON_TIMINGS: JSON.stringify({ staggerSeconds: 0, raise: 0, ...timings }) }
}
