import fs from 'node:fs'

/**
 * Removes a folder, also what a child of a killed process adds meanwhile. Node's own retries would not: they only repeat the last
 * step, on a folder that is no longer empty.
 */
export function removeFolder(folder: string): void {
  for (let tries = 1; ; tries++) {
    try {
      return fs.rmSync(folder, { recursive: true, force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || tries === 100) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
}
