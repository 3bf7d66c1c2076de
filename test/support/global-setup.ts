// Runs once, before the first test of a run and after its last.

import fs from 'node:fs'
import path from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder for the bundles of `program.ts`. */
    programs: string
  }
}

export default function setup(project: TestProject): () => void {
  // Below node_modules, so that the programs find their packages.
  const folder = fs.mkdtempSync(path.resolve(import.meta.dirname, '../../node_modules/.baton-programs-'))
  // Some of them run as another user.
  fs.chmodSync(folder, 0o755)
  project.provide('programs', folder)
  return () => fs.rmSync(folder, { recursive: true, force: true })
}
