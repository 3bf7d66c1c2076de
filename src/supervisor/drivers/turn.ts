// One turn of an agent without a screen: a process of its own whose output, process id and exit status are files, so that
// whoever supervises it may come and go.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import type { Command, TurnOutput } from '../../agents/index.ts'
import { StorageError } from '../../errors.ts'
import { endTree, pause, processAt, send, treeOf } from '../../system/index.ts'

/** `$0` is the beginning of the files' names, the rest the command. It never changes: nothing is put into it. */
const script = `echo $$ >"$0.pid"
"$@" >"$0.out" 2>"$0.err" </dev/null
echo $? >"$0.code"`

/** How much of an output is looked at. */
const most = 4 << 20

export class Turn {
  readonly number: number
  readonly #base: string

  constructor(folder: string, number: number) {
    this.number = number
    this.#base = path.join(folder, `turn-${String(number).padStart(5, '0')}`)
  }

  /** Resolves when it runs. */
  async start(command: Command, cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
    fs.mkdirSync(path.dirname(this.#base), { recursive: true, mode: 0o700 })
    const child = spawn('/bin/sh', ['-c', script, this.#base, command.program, ...command.args], {
      cwd,
      env,
      stdio: 'ignore',
      // A group of its own: what ends the supervisor does not end it.
      detached: true,
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', (cause) => reject(new StorageError(`/bin/sh cannot be started in ${cwd}: ${cause.message}`)))
    })
    child.unref()
    const deadline = performance.now() + 5_000
    while (this.pid === undefined && this.code === undefined && performance.now() < deadline) await pause(5)
  }

  get pid(): number | undefined {
    const pid = Number(this.#text('pid'))
    return pid > 0 ? pid : undefined
  }

  get code(): number | undefined {
    // The line is whole once it ends.
    const code = this.#text('code')
    return code.endsWith('\n') ? Number(code) : undefined
  }

  /** A process that has the number by chance does not run our script. */
  get running(): boolean {
    const { pid } = this
    if (pid === undefined || this.code !== undefined) return false
    return processAt(pid)?.args.includes(this.#base) === true
  }

  get started(): string | undefined {
    const { pid } = this
    return pid === undefined ? undefined : processAt(pid)?.started
  }

  get output(): TurnOutput {
    const running = this.running
    // Ended without a word about it: killed.
    const code = this.code ?? (running ? undefined : 137)
    return { out: this.#text('out'), err: this.#text('err'), code }
  }

  /** Changes whenever the output does. */
  get stamp(): string {
    const sizes = (['out', 'err', 'code'] as const).map(
      (kind) => fs.statSync(`${this.#base}.${kind}`, { throwIfNoEntry: false })?.size,
    )
    return `${this.number} ${sizes.join(' ')} ${this.running}`
  }

  /** Ends the process of a turn that has said its last word; the script notes how it ended. */
  async end(): Promise<void> {
    const { pid } = this
    if (!this.running || pid === undefined) return
    for (const each of treeOf(pid)) if (each.pid !== pid) await endTree(each.pid, each.started, 1_000)
    const deadline = performance.now() + 3_000
    while (this.running && performance.now() < deadline) await pause(10)
  }

  /** Asks it to stop as a person would, then ends it with all that it started. */
  async stop(patience = 3_000): Promise<void> {
    const { pid } = this
    if (pid === undefined || !this.running) return
    const tree = treeOf(pid)
    // Not the script itself: it notes how the agent ended.
    for (const each of tree) if (each.pid !== pid) send(each.pid, 'SIGINT')
    const deadline = performance.now() + patience
    while (this.running && performance.now() < deadline) await pause(20)
    for (const each of tree) await endTree(each.pid, each.started, 1_000)
  }

  #text(kind: 'out' | 'err' | 'code' | 'pid'): string {
    let fd: number
    try {
      fd = fs.openSync(`${this.#base}.${kind}`, 'r')
    } catch {
      return ''
    }
    try {
      const { size } = fs.fstatSync(fd)
      const head = Buffer.alloc(Math.min(size, most))
      fs.readSync(fd, head, 0, head.length, 0)
      if (size <= most) return head.toString('utf8')
      // The id stands at the beginning, the outcome at the end.
      const tail = Buffer.alloc(most)
      fs.readSync(fd, tail, 0, most, size - most)
      return `${head.toString('utf8')}\n${tail.toString('utf8').replace(/^[^\n]*\n/, '')}`
    } finally {
      fs.closeSync(fd)
    }
  }
}

/** Whether a turn was started; its first sign may still be on its way. */
export async function hasBegun(folder: string, turn: number): Promise<boolean> {
  const deadline = performance.now() + 1_000
  while (lastTurn(folder) < turn && performance.now() < deadline) await pause(50)
  return lastTurn(folder) >= turn
}

/** The number of the last turn in a folder; 0 if there was none. */
export function lastTurn(folder: string): number {
  let names: string[]
  try {
    names = fs.readdirSync(folder)
  } catch {
    return 0
  }
  return names.reduce((last, name) => Math.max(last, Number(/^turn-(\d+)\./.exec(name)?.[1] ?? 0)), 0)
}
