// What commands under test have started.

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

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

/** The number a command has written to a file, once it has. */
export async function numberIn(file: string): Promise<number> {
  for (;;) {
    const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
    if (/^\d+\n/.test(text)) return Number(text)
    await sleep(10)
  }
}
