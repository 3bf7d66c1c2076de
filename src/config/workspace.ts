// Which workspace is meant. In this order: a store named outright, a workspace folder named outright, the nearest
// `.baton` upwards, a folder of the user's own for the repository (shared by its worktrees), the same for the folder.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { InvalidError } from '../errors.ts'

export interface WorkspaceChoice {
  store?: string
  workspace?: string
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** Pass over every `.baton` on the way up. */
  passOver?: boolean
}

export interface FoundWorkspace {
  /** What `openStore` takes. */
  readonly address: string
  readonly by: 'store' | 'workspace' | 'config' | 'folder' | 'repository' | 'directory'
}

/** Whether the user has said which workspace is meant, so that it is theirs wherever it is. */
export function isNamed({ by }: FoundWorkspace): boolean {
  return by === 'store' || by === 'workspace'
}

export function findWorkspace(choice: WorkspaceChoice = {}): FoundWorkspace {
  const env = choice.env ?? process.env
  const cwd = path.resolve(choice.cwd ?? process.cwd())
  const store = choice.store ?? nonEmpty(env.BATON_STORE)
  const workspace = choice.workspace ?? nonEmpty(env.BATON_HOME)
  if (choice.store !== undefined) return { address: choice.store, by: 'store' }
  if (choice.workspace !== undefined) return { address: path.resolve(cwd, choice.workspace), by: 'workspace' }
  if (store !== undefined) return { address: store, by: 'store' }
  if (workspace !== undefined) return { address: path.resolve(cwd, workspace), by: 'workspace' }
  const configured = choice.passOver === true ? undefined : storeInConfig(cwd)
  if (configured !== undefined) return { address: configured, by: 'config' }
  const near =
    choice.passOver === true ? undefined : upwards(cwd).find((folder) => fs.existsSync(path.join(folder, '.baton')))
  if (near !== undefined) return { address: path.join(near, '.baton'), by: 'folder' }
  const common = gitCommonDir(cwd)
  if (common !== undefined) return { address: ofUser(env, common), by: 'repository' }
  return { address: ofUser(env, real(cwd)), by: 'directory' }
}

/** What `store` says in the nearest baton.config.json. Read plainly: this is asked at every start, and few files name one. */
function storeInConfig(cwd: string): string | undefined {
  const folder = upwards(cwd).find((each) => fs.existsSync(path.join(each, 'baton.config.json')))
  if (folder === undefined) return undefined
  const file = path.join(folder, 'baton.config.json')
  let content: unknown
  try {
    content = JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch {
    return undefined // whoever reads a section of it says what is wrong
  }
  const { store } = (content ?? {}) as { store?: unknown }
  if (store === undefined) return undefined
  if (typeof store !== 'string' || store === '') {
    throw new InvalidError(`${file}: "store" is the address of a store`, {
      path: 'store',
      hint: 'Such as "postgres://HOST/DATABASE". Leave the password out: put it into PGPASSWORD or ~/.pgpass.',
    })
  }
  if (/^[a-z][a-z+]*:/.test(store) && !/^file:(?!\/\/)/.test(store)) return store
  return path.resolve(folder, store.replace(/^file:/, ''))
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value
}

function upwards(from: string): string[] {
  const parent = path.dirname(from)
  return parent === from ? [from] : [from, ...upwards(parent)]
}

/** Named after the project, so that a person finds it, and made unique by its whole path. */
function ofUser(env: NodeJS.ProcessEnv, key: string): string {
  const home = nonEmpty(env.XDG_DATA_HOME) ?? path.join(nonEmpty(env.HOME) ?? os.homedir(), '.local', 'share')
  const project = path.basename(key) === '.git' ? path.basename(path.dirname(key)) : path.basename(key)
  const label = project.replaceAll(/[^\w.-]/g, '_').slice(0, 60) || 'root'
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 12)
  return path.join(home, 'baton', `${label}-${hash}`)
}

/** The folder that all worktrees of a repository share, read from its files: starting git would take longer than us. */
function gitCommonDir(cwd: string): string | undefined {
  for (const folder of upwards(cwd)) {
    const dot = path.join(folder, '.git')
    const stat = fs.statSync(dot, { throwIfNoEntry: false })
    if (stat?.isDirectory() === true) return real(dot)
    if (stat?.isFile() !== true) continue
    const target = /^gitdir: (.+)$/m.exec(fs.readFileSync(dot, 'utf8'))?.[1]
    if (target === undefined) continue
    const gitDir = path.resolve(folder, target.trim())
    const shared = path.join(gitDir, 'commondir')
    if (!fs.existsSync(shared)) return real(gitDir)
    return real(path.resolve(gitDir, fs.readFileSync(shared, 'utf8').trim()))
  }
  return undefined
}

function real(file: string): string {
  try {
    return fs.realpathSync(file)
  } catch {
    return file // gone or out of reach: its name still identifies it
  }
}
