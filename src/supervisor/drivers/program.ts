// Whether a program can be started at all: found where the system would look for it.

import fs from 'node:fs'
import path from 'node:path'
import type { Adapter, Command } from '../../agents/index.ts'
import { NotFoundError } from '../../errors.ts'

/** Throws a `NotFoundError` for an agent whose program is not there. */
export function needProgram(adapter: Adapter, { program, env: own }: Command, env: NodeJS.ProcessEnv): void {
  if (isProgram(program, { ...env, ...own })) return
  const where = program.includes('/')
    ? `There is no program ${program}`
    : `There is no program "${program}" on the PATH`
  throw new NotFoundError(`${where}: ${adapter.label} cannot be started`, {
    hint: `Install it, or say where it is: supervisor.agents.${adapter.name}.command in baton.config.json.`,
  })
}

export function isProgram(program: string, env: NodeJS.ProcessEnv): boolean {
  if (program.includes('/')) return isExecutable(program)
  return (env.PATH ?? '').split(path.delimiter).some((folder) => isExecutable(path.join(folder || '.', program)))
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return fs.statSync(file).isFile()
  } catch {
    return false
  }
}
