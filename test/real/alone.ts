// Runs a script of ours in a process that has a network of its own with only loopback in it, where the kernel allows
// that: what the agents try to fetch from elsewhere then fails at once, and nothing leaves the machine.

import { spawn } from 'node:child_process'
import path from 'node:path'
import { alone } from '../../scripts/bundle.mjs'
import { outputOf } from '../support/processes.ts'
import { program } from '../support/program.ts'

export const canBeAlone = alone.length > 0

/** What the script printed. Rejects if it fails or takes longer than `seconds`. */
export async function runAlone(script: URL, args: readonly string[], seconds: number): Promise<string> {
  const file = await program(script)
  const [command, ...rest] = [...alone, process.execPath, file, ...args]
  const child = spawn(command!, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: seconds * 1000,
    killSignal: 'SIGKILL',
  })
  const { code, out, err } = await outputOf(child)
  if (code !== 0) throw new Error(`${path.basename(file)} ${args.join(' ')} ended with ${code}\n${out}${err}`)
  return out
}
