// What git says that a session changed, where its folder is a repository on this machine.

import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Paths below the folder; undefined where git cannot say, or would also name what somebody else did since. */
export async function changesByGit(
  folder: string,
  from: string,
  to: string,
  exists: (folder: string) => boolean = fs.existsSync,
): Promise<string[] | undefined> {
  if (!exists(folder)) return undefined
  try {
    const base = (await git(folder, ['rev-list', '-1', `--before=${from}`, 'HEAD'])).trim()
    if (base === '') return undefined
    const committed = await git(folder, [
      'log',
      '--no-merges',
      '--name-only',
      '--relative',
      '--format=',
      `--until=${to}`,
      `${base}..HEAD`,
    ])
    const open = await git(folder, ['status', '--porcelain', '--no-renames', '--untracked-files=all', '.'])
    const prefix = (await git(folder, ['rev-parse', '--show-prefix'])).trim()
    const dirty = lines(open)
      .map((line) => line.slice(3))
      .filter((file) => file.startsWith(prefix))
      .map((file) => file.slice(prefix.length))
      .filter((file) => changedBetween(path.join(folder, file), from, to))
    return [...new Set([...lines(committed), ...dirty])]
  } catch {
    return undefined // no repository, or none that git can read
  }
}

async function git(folder: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run('git', ['--no-optional-locks', '-C', folder, ...args], { maxBuffer: 1 << 26 })
  return stdout
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

/** Clocks and disks round: a minute either way still counts. */
const slack = 60_000

function changedBetween(file: string, from: string, to: string): boolean {
  const stat = fs.statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return true
  return stat.mtimeMs >= Date.parse(from) - slack && stat.mtimeMs <= Date.parse(to) + slack
}
