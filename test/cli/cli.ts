// Runs the built command line as its user does.

import { spawn } from 'node:child_process'
import path from 'node:path'

export const program = path.join(import.meta.dirname, '../../dist/cli/main.js')

export interface Run {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export async function baton(cwd: string, args: readonly string[], input = ''): Promise<Run> {
  const child = spawn(process.execPath, [program, ...args], { cwd, env: { ...process.env, HOME: cwd, NO_COLOR: '1' } })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.on('error', () => {}).end(input)
  const code = await new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject))
  return { code, out, err }
}

/** The JSON records that a command printed. */
export function records(run: Run): Record<string, unknown>[] {
  return run.out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}
