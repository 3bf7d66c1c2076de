// Which projects the user trusts. A cloned repository may bring a baton.config.json or a `.baton` folder, and with them commands,
// addresses and sessions of somebody else: until the user says so with `baton trust`, they run, send and open nothing.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { BatonError } from '../errors.ts'
import { makeFolder, replaceFile } from '../system/index.ts'
import { configFile, findProject, stateFolder } from './project.ts'
import { findWorkspace, type Found, type WorkspaceChoice } from './workspace.ts'

/** Set where the environment itself is the user's decision, such as a CI job or a container: every project is trusted. */
export const trustVariable = 'BATON_TRUST'

/** What a project brings that could run, send or open something; empty if there is nothing to trust. */
export function broughtBy(project: string): string[] {
  return [configFile, '.baton'].filter((name) => fs.existsSync(path.join(project, name)))
}

export function isTrusted(cwd: string, env: NodeJS.ProcessEnv = process.env): boolean {
  if (env[trustVariable] === '1') return true
  const project = projectOf(cwd)
  return broughtBy(project).length === 0 || fs.existsSync(fileOf(env, project))
}

/** Throws unless the project is trusted; `what` is what was about to happen. */
export function demandTrust(what: string, cwd: string, env: NodeJS.ProcessEnv = process.env): void {
  if (isTrusted(cwd, env)) return
  const project = projectOf(cwd)
  throw new BatonError('refused', `${what}: ${project} brings ${broughtBy(project).join(' and ')}, and you have not trusted it`, {
    hint: `Look at what is in there; if it is yours, or you trust whoever wrote it, run: baton trust ${project}`,
  })
}

/** Remembers that the user trusts the project, and returns its top folder. */
export function trustProject(cwd: string, env: NodeJS.ProcessEnv): string {
  const project = projectOf(cwd)
  makeFolder(folderIn(env))
  replaceFile(fileOf(env, project), JSON.stringify({ project, since: new Date().toISOString() }))
  return project
}

/** True if it was trusted. */
export function distrustProject(cwd: string, env: NodeJS.ProcessEnv): boolean {
  const file = fileOf(env, projectOf(cwd))
  const was = fs.existsSync(file)
  fs.rmSync(file, { force: true })
  return was
}

/** The projects that were trusted, by their top folders. */
export function trustedProjects(env: NodeJS.ProcessEnv): { project: string; since: string }[] {
  let names: string[]
  try {
    names = fs.readdirSync(folderIn(env)).filter((name) => name.endsWith('.json') && !name.startsWith('.'))
  } catch {
    return [] // nothing was ever trusted
  }
  return names
    .map((name) => JSON.parse(fs.readFileSync(path.join(folderIn(env), name), 'utf8')) as { project: string; since: string })
    .sort((a, b) => (a.project < b.project ? -1 : 1))
}

/** As `findWorkspace`, but a `.baton` that came with an untrusted project is passed over for the user's own folder. */
export function trustedWorkspace(choice: WorkspaceChoice & { cwd: string; env: NodeJS.ProcessEnv }): Found {
  const found = findWorkspace(choice)
  if (found.by !== 'folder' || isTrusted(path.dirname(found.address), choice.env)) return found
  return findWorkspace({ ...choice, passOver: true })
}

/** With every link resolved, so that a project is the same by whatever way it is reached. */
function projectOf(cwd: string): string {
  const project = findProject(cwd)
  try {
    return fs.realpathSync(project)
  } catch {
    return project // it is gone: its name still tells it apart
  }
}

function folderIn(env: NodeJS.ProcessEnv): string {
  return path.join(stateFolder(env), 'trusted')
}

function fileOf(env: NodeJS.ProcessEnv, project: string): string {
  return path.join(folderIn(env), `${createHash('sha256').update(project).digest('hex').slice(0, 24)}.json`)
}
