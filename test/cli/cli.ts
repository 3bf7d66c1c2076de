// Runs commands as their user does: in this process, or in one of their own where the promise is about a process.

import { spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { Readable, Writable } from 'node:stream'
import type { Io } from '../../src/cli/base/io.ts'
import { run } from '../../src/cli/program.ts'
import { outputOf } from '../support/processes.ts'

/** The built command line. */
export const program = path.join(import.meta.dirname, '../../dist/cli/main.js')

export interface Run {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A command with streams, an environment and a folder of its own. */
export async function baton(cwd: string, args: readonly string[], input = ''): Promise<Run> {
  const io = ioOf(cwd, input)
  const code = await run(args, io)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

export function ioOf(cwd: string, input = '') {
  const folder = fs.realpathSync(cwd)
  return {
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    stdout: new Kept(),
    stderr: new Kept(),
    env: environment(cwd),
    signals: new EventEmitter(),
    self: [process.execPath, program] as const,
    cwd: () => folder,
    exit: {
      code: 0,
      now: () => {
        throw new Error('The process was to end at once')
      },
    },
    person: () => ({ via: 'terminal', where: 'pts/7' }),
  } satisfies Io
}

/** The same in a process of its own, as it was built. */
export async function batonProcess(cwd: string, args: readonly string[], input = '', env = {}): Promise<Run> {
  const child = spawn(process.execPath, [program, ...args], { cwd, env: { ...environment(cwd), ...env } })
  child.stdin.on('error', () => {}).end(input)
  return outputOf(child)
}

/** Of a user whose home is the folder of the test, and who sees no colours. */
function environment(home: string): NodeJS.ProcessEnv {
  return { ...process.env, HOME: home, NO_COLOR: '1' }
}

/** The JSON records that a command printed. */
export function records(run: Run): Record<string, unknown>[] {
  return run.out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

class Kept extends Writable {
  readonly #chunks: Buffer[] = []

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8')
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk)
    done()
  }
}
