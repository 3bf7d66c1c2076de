// Runs a script of ours in a process that has a network of its own with only loopback in it, where the kernel allows
// that: what the agents try to fetch from elsewhere then fails at once, and nothing leaves the machine.

import * as esbuild from 'esbuild'
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const wrapper = ['unshare', '-rn', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']

export const canBeAlone = spawnSync(wrapper[0]!, [...wrapper.slice(1), 'true']).status === 0

/** What the script printed. Rejects if it fails or takes longer than `seconds`. */
export async function runAlone(script: string, args: readonly string[], seconds: number): Promise<string> {
  // Beside its source, so that import.meta.dirname means the same in both.
  const bundle = path.join(path.dirname(script), `.run-${process.pid}-${Math.random().toString(36).slice(2)}.mjs`)
  await esbuild.build({
    entryPoints: [script],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    logLevel: 'warning',
  })
  try {
    const [program, ...rest] = [...(canBeAlone ? wrapper : []), process.execPath, bundle, ...args]
    const child = spawn(program!, rest, {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: seconds * 1000,
      killSignal: 'SIGKILL',
    })
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    const code = await new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject))
    if (code !== 0) throw new Error(`${path.basename(script)} ${args.join(' ')} ended with ${code}\n${out}${err}`)
    return out
  } finally {
    fs.rmSync(bundle, { force: true })
  }
}
