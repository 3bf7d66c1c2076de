// What commands under test have started.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Everything that a process prints, once it has ended. */
export async function outputOf(child: ChildProcess): Promise<Ended> {
  let [out, err] = ['', '']
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (err += text))
  const code = await new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject))
  return { code, out, err }
}

/** Whether a process is there, and not only waiting to be counted. */
export function isAlive(pid: number): boolean {
  try {
    return !/^Z?$/.test(
      execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
        .slice(0, 1)
        .trim(),
    )
  } catch {
    return false
  }
}

/** A process that does nothing, and ends with the test. */
export function someProcess(onTestFinished: (work: () => void) => void): number {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' })
  onTestFinished(() => void child.kill())
  return child.pid!
}

/** The number a command has written to a file, once it has. */
export async function numberIn(file: string): Promise<number> {
  for (;;) {
    const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
    if (/^\d+\n/.test(text)) return Number(text)
    await sleep(10)
  }
}
