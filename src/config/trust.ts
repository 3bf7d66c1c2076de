// Which projects the user trusts. A cloned repository may bring a baton.config.json or a `.baton` folder, and with them commands,
// addresses and sessions of somebody else: until the user says so with `baton trust`, they run, send and open nothing.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { BatonError } from '../errors.ts'
import { makeFolder, replaceFile } from '../system/index.ts'
import { configFile, findProject, nearestWith, stateFolder } from './project.ts'
import { findWorkspace, type FoundWorkspace, type WorkspaceChoice } from './workspace.ts'

/** Set where the environment itself is the user's decision, such as a CI job or a container: every project is trusted. */
const trustVariable = 'BATON_TRUST'

/** What counts in a folder and may have come with the project: the configuration and the `.baton` nearest upwards. */
function broughtTo(cwd: string): string[] {
  return [configFile, '.baton'].flatMap((name) => {
    const folder = nearestWith(path.resolve(cwd), [name])
    return folder === undefined ? [] : [path.join(folder, name)]
  })
}

/** What of it belongs to a project that the user does not trust; with `workspace` false, of its configuration alone. */
export function untrusted(cwd: string, env: NodeJS.ProcessEnv, { workspace = true } = {}): string[] {
  if (env[trustVariable] === '1') return []
  return broughtTo(cwd).filter((file) => (workspace || path.basename(file) === configFile) && !isTrusted(file, env))
}

function isTrusted(file: string, env: NodeJS.ProcessEnv): boolean {
  return env[trustVariable] === '1' || fs.existsSync(fileOf(env, projectOf(path.dirname(file))))
}

/**
 * Throws if something counts here that belongs to a project which the user does not trust; `what` did not happen then. A program
 * that uses the library is not asked: who runs a project's code has trusted it.
 */
export function demandTrust(what: string, cwd: string, env: NodeJS.ProcessEnv, options = { workspace: true }): void {
  const [first] = untrusted(cwd, env, options)
  if (first === undefined) return
  throw new BatonError('refused', `${what}: ${first} belongs to a project that you have not trusted`, {
    hint: `Look at what is in it; if it is yours, or you trust its author, run: baton trust ${projectOf(path.dirname(first))}`,
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
    .map(
      (name) =>
        JSON.parse(fs.readFileSync(path.join(folderIn(env), name), 'utf8')) as { project: string; since: string },
    )
    .sort((a, b) => (a.project < b.project ? -1 : 1))
}

/** As `findWorkspace`, but a `.baton` or a store that came with an untrusted project is passed over for the user's own folder. */
export function trustedWorkspace(choice: WorkspaceChoice & { cwd: string; env: NodeJS.ProcessEnv }): FoundWorkspace {
  const found = findWorkspace(choice)
  const isOwn = found.by !== 'folder' && found.by !== 'config'
  const brought = found.by === 'folder' ? found.address : path.join(choice.cwd, configFile)
  if (isOwn || isTrusted(brought, choice.env)) return found
  return findWorkspace({ ...choice, passOver: true })
}

/** With every link resolved, so that a project is the same by whatever way it is reached. */
function projectOf(cwd: string): string {
  const project = findProject(cwd)
  try {
    return fs.realpathSync(project)
  } catch {
    return project // it is gone: its name still identifies it
  }
}

function folderIn(env: NodeJS.ProcessEnv): string {
  return path.join(stateFolder(env), 'trusted')
}

function fileOf(env: NodeJS.ProcessEnv, project: string): string {
  return path.join(folderIn(env), `${createHash('sha256').update(project).digest('hex').slice(0, 24)}.json`)
}
