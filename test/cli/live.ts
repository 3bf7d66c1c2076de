// A command that keeps running, as its user sees it: line by line, until it is interrupted.

import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import readline from 'node:readline'
import { onTestFinished } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { ioOf } from './cli.ts'

export interface Live {
  /** The next line that fits; rejects if the command ends before. */
  line(fits: (line: string) => boolean): Promise<string>
  /** Interrupts it as Ctrl-C does, and resolves with its exit code. */
  stop(): Promise<number | null>
}

export function startBaton(cwd: string, args: readonly string[]): Live {
  const stdout = new PassThrough()
  const signals = new EventEmitter()
  const lines = readline.createInterface({ input: stdout })[Symbol.asyncIterator]()
  const ended = run(args, { ...ioOf(cwd), stdout, stderr: process.stderr, signals }).finally(() => stdout.end())
  const stop = async () => {
    signals.emit('SIGINT')
    return ended
  }
  onTestFinished(async () => void (await stop()))
  return {
    async line(fits) {
      for (;;) {
        const { value, done } = await lines.next()
        if (done === true) throw new Error(`baton ${args.join(' ')} ended before that line`)
        if (fits(value)) return value
      }
    },
    stop,
  }
}
