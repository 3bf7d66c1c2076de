// What operations work on: an open store, the folder beside it, and the project whose configuration counts.

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { demandTrust, findProject, findWorkspace } from '../config/index.ts'
import { NotFoundError } from '../errors.ts'
import type { Relay } from '../relay/index.ts'
import { openStore, type Store } from '../store/index.ts'
import { isReserved, nearest } from '../tape/index.ts'
import type { Tasks } from '../task/index.ts'
import type { OpenedRelay } from './relay/open.ts'

export interface Workspace {
  readonly store: Store
  /** What `openStore` takes. */
  readonly address: string
  /** For files beside the tapes: the workspace's own folder, or one of the user's where the store is no folder. */
  readonly folder: string
  /** Where the caller is: the baton.config.json nearest upwards counts. */
  readonly cwd: string
  /** The top folder of the project. */
  readonly project: string
  readonly env: NodeJS.ProcessEnv
  /** The person has named it: it need not be that of the folder. */
  readonly named: boolean
  /** Told what went wrong beside the work. */
  readonly warn: (text: string) => void
  /** The program and the arguments that start Baton again, for work in the background. */
  readonly self: readonly [string, string]
  /** Opened on first use, and then shared. */
  readonly relay: () => Promise<Relay>
  readonly openedRelay: () => Promise<OpenedRelay>
  readonly tasks: () => Promise<Tasks>
  /** Throws unless the user trusts the project: needed by whatever starts a program. */
  readonly trusted: (what: string) => void
  /** Takes a program that works for as long as its standard input is open: it ends before this is closed, or with this process. */
  readonly own: (program: ChildProcess) => void
  readonly close: () => Promise<void>
}

interface WorkspaceOptions {
  readonly address: string
  /** Where the caller is; the project is found from here upwards. */
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly self: readonly [string, string]
  /** The person has named the workspace: only the configuration has to come from a project that the user trusts. */
  readonly named?: boolean
  /** Whether a workspace on files is made where there is none, which is so unless told otherwise. */
  readonly make?: boolean
  /** Told what went wrong beside the work, such as a notification that did not arrive. */
  readonly warn?: (text: string) => void
}

export async function openWorkspace({
  address,
  cwd,
  env,
  self,
  named = false,
  make = true,
  warn = () => {},
}: WorkspaceOptions): Promise<Workspace> {
  const store = await openStore(address, { make })
  let opened: Promise<OpenedRelay> | undefined
  let tasks: Promise<Tasks> | undefined
  const programs = new Set<ChildProcess>()
  const trusted = (what: string) => demandTrust(what, cwd, env, { workspace: !named })
  // Relay and tasks are loaded on first use, because most commands need neither.
  const openedRelay = async () => {
    trusted('The relay was not opened')
    opened ??= import('./relay/open.ts').then(({ openWorkspaceRelay }) => openWorkspaceRelay({ store, cwd, env, warn }))
    return opened
  }
  const relay = async () => (await openedRelay()).relay
  const people = async () => (await import('../approvals/index.ts')).askThroughRelay(await relay())
  const openedTasks = async () => {
    tasks ??= import('../task/index.ts').then(({ openTasks }) =>
      openTasks({
        store,
        address,
        cwd,
        people: {
          ask: async (question) => (await people()).ask(question),
          settle: async (question, decision) => (await people()).settle(question, decision),
        },
      }),
    )
    return tasks
  }
  return {
    store,
    address,
    folder: folderOf(address, cwd, env),
    cwd,
    project: findProject(cwd),
    env,
    named,
    warn,
    self,
    relay,
    openedRelay,
    tasks: openedTasks,
    trusted,
    own: (program) => {
      programs.add(program)
      program.once('exit', () => programs.delete(program))
    },
    close: async () => {
      await Promise.all([...programs].map(ended))
      const problem = await (await tasks)?.settle()
      if (problem !== undefined)
        warn(`baton: the state file could not be written, though the state itself is safe: ${problem}`)
      await (await opened)?.close()
      await (await tasks)?.close()
      await store.close()
    },
  }
}

async function ended(program: ChildProcess): Promise<void> {
  const exit = once(program, 'exit')
  program.stdin?.end()
  await exit
}

/** The folder for files beside the tapes of a store. */
export function folderOf(address: string, cwd: string, env: NodeJS.ProcessEnv): string {
  const folder = address.replace(/^file:(\/\/)?/, '')
  if (!/^[a-z][a-z+]*:\/\//.test(folder)) return path.resolve(cwd, folder)
  return findWorkspace({ cwd, env: { HOME: env.HOME } }).address
}

/** Throws an error with similar names if there is no such tape. */
export async function demandTape(store: Store, tape: string): Promise<void> {
  if ((await store.info(tape)) !== undefined || (await store.archives(tape)).length > 0) return
  const names: string[] = []
  for await (const each of store.list()) if (!isReserved(each.tape)) names.push(each.tape)
  const close = nearest(tape, names)
  const help = close.length > 0 ? { nearest: close } : { hint: 'See "baton tape ls".' }
  throw new NotFoundError(`There is no tape "${tape}" in this workspace`, help)
}
