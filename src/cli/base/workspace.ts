// The workspace that a command works in.

import fs from 'node:fs'
import path from 'node:path'
import type * as z from 'zod'
import {
  type ReadonlyAnswer,
  type Call,
  folderOf,
  type LiveOperation,
  openWorkspace,
  type Operation,
  type Scope,
  type Workspace,
  type OpenedRelay,
} from '../../operations/index.ts'
import { isNamed, trustProject } from '../../config/index.ts'
import { openStore, type Store } from '../../store/index.ts'
import { type Person, shellWord } from '../../system/index.ts'
import { chosenWorkspace, isMissingFolder } from './chosen-workspace.ts'
import { entryCount, type Globals, Output } from './output.ts'

export { demandTape as demand } from '../../operations/index.ts'

interface CallOptions extends Partial<Pick<Call, 'signal' | 'progress' | 'edit'>> {
  /** Who has typed the command, for what only people decide. */
  readonly person?: Person
}

/** How a command calls operations: with what commander has parsed, in the name of whoever has typed it. */
export interface Door {
  readonly run: <I extends z.ZodObject, O extends z.ZodType, R extends ReadonlyAnswer<z.output<O>>>(
    operation: Operation<I, O, R>,
    input: z.output<I>,
    options?: CallOptions,
  ) => Promise<R>
  readonly follow: <I extends z.ZodObject, O extends z.ZodType, R extends ReadonlyAnswer<z.output<O>>>(
    operation: LiveOperation<I, O, R>,
    input: z.output<I>,
    signal?: AbortSignal,
  ) => AsyncIterable<R>
  /** For what an operation cannot carry, such as a stream of bytes. */
  readonly workspace: (scope: Scope) => Promise<Workspace>
}

/**
 * Opens the workspace, does the work with its operations, and closes it, whatever happens. Where Baton keeps no workspace for the folder
 * yet, reading makes none: it finds nothing there.
 */
export async function withWorkspace<T>(globals: Globals, work: (door: Door, out: Output) => Promise<T>): Promise<T> {
  const { io } = globals
  const out = new Output(globals)
  const chosen = chosenWorkspace(globals)
  const { address, by } = chosen
  const openOnce = (make: boolean) =>
    openWorkspace({
      address,
      cwd: io.cwd(),
      env: io.env,
      self: io.self,
      warn: (text) => out.warn(text),
      named: isNamed(chosen),
      make,
    })
  let opened: Promise<Workspace> | undefined
  let missing: Promise<Workspace> | undefined
  const open = () => (opened ??= openOnce(true))
  const isMissing = (by === 'repository' || by === 'directory') && isMissingFolder(address)
  if (!isMissing) await open()
  const openFor = (scope: Scope) => (scope === 'read' && opened === undefined ? (missing ??= openOnce(false)) : open())
  try {
    return await work(doorTo(openFor), out)
  } finally {
    for (const each of [opened, missing]) await (await each)?.close()
  }
}

function doorTo(workspace: Door['workspace']): Door {
  const callOf = ({ signal = never, progress = () => {}, edit, person }: CallOptions = {}): Call => ({
    signal,
    progress,
    ...(edit === undefined ? {} : { edit }),
    caller: { name: 'the command line', scope: 'admin', local: true, ...(person === undefined ? {} : { person }) },
  })
  return {
    workspace,
    run: async (operation, input, options) => operation.run(await workspace(operation.scope), input, callOf(options)),
    async *follow(operation, input, signal = never) {
      // What is followed may come later, so that an empty one would not do.
      yield* operation.run(await workspace('write'), input, callOf({ signal }))
    },
  }
}

/** The signal of a command that ends by itself. */
const never = new AbortController().signal

interface RelayCommand extends Omit<OpenedRelay, 'close'> {
  readonly store: Store
  readonly out: Output
}

/** The relay for a command that is a part of it for as long as it runs: `watch` looks after it, `serve` works for it. */
export async function withRelay<T>(globals: Globals, work: (opened: RelayCommand) => Promise<T>): Promise<T> {
  return withWorkspace(globals, async ({ workspace }, out) => {
    const { openedRelay, store } = await workspace('operate')
    return work({ ...(await openedRelay()), store, out })
  })
}

/** Opens the store, does the work, and closes it, whatever happens. */
export async function withStore<T>(globals: Globals, work: (store: Store, out: Output) => Promise<T>): Promise<T> {
  const { address } = chosenWorkspace(globals)
  const store = await openStore(address)
  try {
    return await work(store, new Output(globals))
  } finally {
    await store.close()
  }
}

/** The folder for files beside the tapes: the workspace, or the user's own folder if the store is not a folder. */
export function workspaceFolder(globals: Globals): string {
  return folderOf(chosenWorkspace(globals).address, globals.io.cwd(), globals.io.env)
}

/** How another `baton` finds the same workspace. An address may hold a password, and everybody sees the arguments of a process. */
export function sameWorkspace({ store, workspace, io }: Globals): { args: string[]; env: NodeJS.ProcessEnv } {
  if (store !== undefined) return { args: [], env: { ...io.env, BATON_STORE: store } }
  return { args: workspace === undefined ? [] : ['--workspace', path.resolve(io.cwd(), workspace)], env: io.env }
}

/** The folder for copies of handoff documents. */
export function handoffsFolder(globals: Globals): string {
  return path.join(workspaceFolder(globals), 'handoffs')
}

/** Makes a workspace in this folder, or checks the store that is named with `--store`. */
export async function init(globals: Globals): Promise<void> {
  const folder = path.resolve(globals.io.cwd(), globals.workspace ?? '.baton')
  const out = new Output(globals)
  const before = globals.store === undefined ? await hiddenBy(folder, globals) : undefined
  const address = globals.store === undefined ? folder : chosenWorkspace(globals).address
  // With the same id, what was there before can be copied into it.
  const store = await openStore(address, before === undefined ? {} : { workspace: before.workspace })
  await store.close()
  // What the person makes here is the person's own.
  if (globals.store === undefined) trustProject(path.dirname(folder), globals.io.env)
  const { workspace, place, guarantee } = store
  out.record({ workspace, path: place, guarantee }, `Workspace ${workspace} in ${place}`)
  out.note(guarantee)
  if (before === undefined) return
  out.warn(
    `baton: ${entryCount(before.entries)} on ${before.tapes.slice(0, 5).join(', ')}${before.tapes.length > 5 ? '…' : ''} ${before.entries === 1 ? 'is' : 'are'} still in ${before.place}, where this folder kept its tapes so far`,
  )
  out.warn(`  To bring what is there along: baton store copy ${shellWord(before.place)} ${shellWord(folder)}`)
}

/** The tapes that this folder has in the user's workspace, and that a new `.baton` in it would hide. */
async function hiddenBy(folder: string, globals: Globals) {
  const { address, by } = chosenWorkspace({ ...globals, workspace: undefined })
  if (fs.existsSync(folder) || !(by === 'repository' || by === 'directory') || !fs.existsSync(address)) return undefined
  const old = await openStore(address)
  const tapes: string[] = []
  let entries = 0
  for await (const info of old.list()) {
    tapes.push(info.tape)
    entries += info.entries
  }
  await old.close()
  return tapes.length === 0 ? undefined : { workspace: old.workspace, place: old.place, tapes, entries }
}
