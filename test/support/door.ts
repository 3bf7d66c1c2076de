// A supervised scripted agent as its user has it: the built command line, a real tmux server of its own, a project and a
// workspace. `close` ends everything that is left of it.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { makeStage, type StageOptions } from '../../src/demo/stage.ts'
import { program } from '../cli/cli.ts'

export type Event = Record<string, unknown> & { type: string }

export interface Started {
  readonly child: ChildProcess
  readonly events: readonly Event[]
  /** The next event that fits, from the beginning on; rejects if the command ends before. */
  event(fits: (event: Event) => boolean): Promise<Event>
  readonly ended: Promise<number | null>
  readonly err: () => string
}

export class Door {
  readonly folder: string
  readonly project: string
  readonly task: string
  readonly env: NodeJS.ProcessEnv
  readonly socket: string

  readonly #children: ChildProcess[] = []

  constructor(folder: string, options: Partial<StageOptions> = {}) {
    this.folder = fs.realpathSync(folder)
    const { sample } = makeStage({ folder: this.folder, baton: [process.execPath, program], pace: 10, ...options })
    this.project = sample.folder
    fs.mkdirSync(path.join(this.project, '.baton'))
    this.task = path.join(this.folder, 'task.md')
    fs.writeFileSync(this.task, sample.task)
    const { TMUX: _tmux, TMUX_PANE: _pane, NODE_TEST_CONTEXT: _test, ...env } = process.env
    this.env = { ...env, HOME: this.folder, TMUX_TMPDIR: this.folder, NO_COLOR: '1' }
    this.socket = path.join(this.folder, `tmux-${process.getuid!()}`, 'baton')
  }

  /** The arguments of a run that ends when the tests of the sample pass. */
  get job(): string[] {
    return ['run', 'scripted', '--name', 'job', '--task', this.task, '--until', 'node --test']
  }

  start(...args: string[]): Started {
    const child = spawn(process.execPath, [program, ...args, '--json'], {
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
    const event = (fits: (event: Event) => boolean) =>
      new Promise<Event>((resolve, reject) => {
        const look = () => {
          const found = events.find(fits)
          if (found === undefined && !over) return
          waiting.delete(look)
          if (found !== undefined) resolve(found)
          else
            reject(
              new Error(
                `baton ${args.join(' ')} ended before that:\n${events.map((each) => JSON.stringify(each)).join('\n')}\n${err}`,
              ),
            )
        }
        waiting.add(look)
        look()
      })
    return { child, events, event, ended, err: () => err }
  }

  /** What a command prints, as records. */
  say(...args: string[]): Record<string, unknown>[] {
    const out = execFileSync(process.execPath, [program, ...args, '--json'], {
      cwd: this.project,
      env: this.env,
      encoding: 'utf8',
    })
    return out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  /** Ends whatever is left. */
  close(): void {
    for (const child of this.#children) child.kill('SIGKILL')
    this.killTmux()
  }

  tmux(...args: string[]): string {
    return execFileSync('tmux', ['-S', this.socket, ...args], { env: this.env, encoding: 'utf8' })
  }

  killTmux(): void {
    try {
      this.tmux('kill-server')
    } catch {
      // There is none any more.
    }
  }
}
