// Where a project begins, and where Baton keeps what belongs to the user rather than to a project. Hooks load this file, so it
// needs nothing but Node.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export const configFile = 'baton.config.json'

/** The top of the git working tree, else the nearest folder with a config file or a workspace, else the folder itself. */
export function findProject(cwd: string = process.cwd()): string {
  const start = path.resolve(cwd)
  return nearestWith(start, ['.git']) ?? nearestWith(start, [configFile, '.baton']) ?? start
}

/** The nearest folder upwards that has one of these in it. */
export function nearestWith(from: string, names: readonly string[]): string | undefined {
  if (names.some((name) => fs.existsSync(path.join(from, name)))) return from
  const parent = path.dirname(from)
  return parent === from ? undefined : nearestWith(parent, names)
}

/** The user's own folder for what Baton remembers on this machine. */
export function stateFolder(env: NodeJS.ProcessEnv): string {
  const state = env.XDG_STATE_HOME || path.join(env.HOME || os.homedir(), '.local', 'state')
  return path.join(state, 'baton')
}
