// Making a folder with those above it. Node's own `recursive` tries for ever where the system says that there is no such
// folder although the one above it is there, as in /proc.

import fs from 'node:fs'
import path from 'node:path'

/** Does nothing where there is one. */
export function makeFolder(folder: string, mode = 0o700): void {
  try {
    make(folder, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path.dirname(folder) === folder) throw error
    makeFolder(path.dirname(folder), mode)
    make(folder, mode)
  }
}

function make(folder: string, mode: number): void {
  try {
    fs.mkdirSync(folder, { mode })
  } catch (error) {
    if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}
