// Lets a person change a text in the editor of their choice.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { CancelledError } from '../../errors.ts'
import type { Io } from './io.ts'

/** Returns what the person saved. An empty text or a failed editor cancels the command. */
export function edited(markdown: string, { env }: Io): string {
  const editor = env.VISUAL || env.EDITOR || 'vi'
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-'))
  const file = path.join(folder, 'handoff.md')
  try {
    fs.writeFileSync(file, markdown, { mode: 0o600 })
    // The variable may hold arguments, as in "code --wait": the shell splits it, and the name of the file stays whole.
    const run = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { env, stdio: 'inherit' })
    if (run.status !== 0) throw new CancelledError(`${editor} ended with ${run.status ?? run.signal}: cancelled`)
    const text = fs.readFileSync(file, 'utf8')
    if (text.trim() === '') throw new CancelledError('The document is empty: cancelled')
    return text
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
