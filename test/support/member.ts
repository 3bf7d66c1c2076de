// One of several processes that work on one workspace at once: what it says, line by line, until it ends or is killed.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'

export class Member {
  readonly child: ChildProcess
  readonly said: string[] = []
  /** Resolves with the code or the signal that it ended with, when all it said was read. */
  readonly ended: Promise<number | NodeJS.Signals | null>
  readonly #listeners = new Set<() => void>()

  constructor(script: string, args: readonly string[], onLine: (line: string) => void = () => {}) {
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.child = child
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines = createInterface(child.stdout)
    lines.on('line', (line) => {
      this.said.push(line)
      onLine(line)
      for (const listener of this.#listeners) listener()
    })
    const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    this.ended = Promise.all([exit, once(lines, 'close')]).then(([[code, signal]]) => signal ?? code)
  }

  /** Resolves when it has said so many lines, or has ended. */
  hears(count: number): Promise<void> {
    return new Promise((resolve) => {
      const look = () => this.said.length >= count && resolve()
      this.#listeners.add(look)
      void this.ended.then(() => resolve())
      look()
    })
  }
}
