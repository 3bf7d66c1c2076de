// The project folder: what paths of files are relative to, wherever in it the caller stands.

import fs from 'node:fs'
import path from 'node:path'
import { configFile } from './config.ts'

/** The top of the git working tree, else the nearest folder with a config file or a workspace, else the folder itself. */
export function findProject(cwd: string = process.cwd()): string {
  const start = path.resolve(cwd)
  return nearest(start, ['.git']) ?? nearest(start, [configFile, '.baton']) ?? start
}

function nearest(from: string, names: readonly string[]): string | undefined {
  if (names.some((name) => fs.existsSync(path.join(from, name)))) return from
  const parent = path.dirname(from)
  return parent === from ? undefined : nearest(parent, names)
}
