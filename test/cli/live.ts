// A command that keeps running, as its user sees it: line by line, until it is interrupted.

import { spawn } from 'node:child_process'
import readline from 'node:readline'
import { onTestFinished } from 'vitest'
import { program } from './cli.ts'

export interface Live {
  /** The next line that fits; rejects if the command ends before. */
  line(fits: (line: string) => boolean): Promise<string>
  /** Interrupts it as Ctrl-C does, and resolves with its exit code. */
  stop(): Promise<number | null>
}

export function startBaton(cwd: string, args: readonly string[]): Live {
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { ...process.env, HOME: cwd, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  return {
    async line(fits) {
      for (;;) {
        const { value, done } = await lines.next()
        if (done === true) throw new Error(`baton ${args.join(' ')} ended before that line`)
        if (fits(value)) return value
      }
    },
    async stop() {
      child.kill('SIGINT')
      return ended
    },
  }
}
