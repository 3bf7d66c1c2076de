// `baton up` and `baton down`: the server of a workspace.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isNamed, loadConfig, registerWorkspace, untrusted } from '../../config/index.ts'
import { BatonError, InvalidError, NotFoundError } from '../../errors.ts'
import {
  type Call,
  openWorkspace,
  openWorkspaceRelay,
  type OpenedRelay,
  operations,
  type Workspace,
} from '../../operations/index.ts'
import { maintainRelay } from '../../relay/index.ts'
import {
  builtDashboard,
  isLoopback,
  type RunningServer,
  serve,
  ServerPlace,
  type Serving,
  Tokens,
} from '../../server/index.ts'
import { lineageTape, type Store } from '../../store/index.ts'
import { supervisorSection } from '../../supervisor/index.ts'
import { shellWord } from '../../system/index.ts'
import { cancellable } from '../base/io.ts'
import { chosenWorkspace } from '../base/chosen-workspace.ts'
import { problemText } from '../base/failure.ts'
import { type Globals, Output } from '../base/output.ts'
import { workspaceFolder } from '../base/workspace.ts'

export interface UpOptions extends Globals {
  port?: number
  host: string
  cert?: string
  key?: string
  plainHttp?: boolean
  /** Set to false by `--no-supervisor`. */
  supervisor?: boolean
  demo?: boolean
  open?: boolean
  /** The command that shows another address of this server. */
  again?: string
}

export async function up(options: UpOptions): Promise<void> {
  const tls = tlsOf(options)
  if (options.demo !== true) return serveWorkspace(options, tls)
  const { prepareDemo, playDemo, removeDemo } = await import('../demo/demo.ts')
  const prepared = prepareDemo(options)
  let finished = true
  const again = `${prepared.command} up --workspace ${shellWord(prepared.workspace)}`
  await serveWorkspace({ ...options, ...prepared.globals, again }, tls, async () => {
    finished = await playDemo(prepared)
  })
  if (!finished) removeDemo(prepared)
}

/** How long to wait for another server that is starting or ending. */
const patienceMs = 10_000

/** After this time the server does not wait for a store that is away: what that keeps waiting was acknowledged to nobody. */
const endMs = 4_000
/** So soon a store answers that is there. */
const answerMs = 1_000

/** What the server itself asks. */
const own: Call = {
  signal: new AbortController().signal,
  progress: () => {},
  caller: { name: 'server', scope: 'read' },
}

/** Serves until the person ends it. `meanwhile` is work that the server outlives. */
async function serveWorkspace(
  options: UpOptions,
  tls: { cert: string; key: string } | undefined,
  meanwhile: () => Promise<void> = async () => {},
): Promise<void> {
  const { io } = options
  const out = new Output(options)
  const chosen = chosenWorkspace(options)
  const { address } = chosen
  const workspace = await openWorkspace({
    address,
    named: isNamed(chosen),
    cwd: io.cwd(),
    env: io.env,
    self: io.self,
    warn: (text) => out.warn(text),
  })
  const place = new ServerPlace(workspace.folder)
  const tokens = new Tokens(workspace.folder)
  let late: NodeJS.Timeout | undefined
  let [isTold, isOver] = [false, false]
  const whenLate = async () => {
    const isThere = await answers(workspace.store)
    if (isOver) return
    if (isThere) {
      if (!isTold) out.warn('baton: the server waits for what it has started to end')
      isTold = true
      late = setTimeout(() => void whenLate(), endMs)
      return
    }
    out.warn(`baton: ${workspace.store.place} does not answer; the server ends without it`)
    place.leave()
    io.exit.now()
  }
  try {
    const running = await takePlace(place)
    if (running !== undefined) return await sayRunning(running, tokens, options, out)
    await withRelay(workspace, async (relay) => {
      if (options.supervisor !== false) loadConfig(io.cwd()).section('supervisor', supervisorSection)
      registerWorkspace(io.env, address)
      const serving = await serve({
        workspace,
        tokens,
        host: options.host,
        port: options.port,
        ...(tls === undefined ? {} : { tls }),
        web: builtDashboard(fs.realpathSync(io.self[1])),
        waiting: () => operations.waitingList.run(workspace, {}, own),
        onProblem: (error) => out.warn(problemText(error)),
      })
      try {
        // Whoever has read the address may end the server at once.
        await cancellable(io, async (signal) => {
          signal.addEventListener('abort', () => (late = setTimeout(() => void whenLate(), endMs)))
          place.announce({ url: serving.url, pid: process.pid, started: new Date().toISOString() })
          await announce(serving, tokens, options, out, workspace.store.place)
          if (signal.aborted) return
          await Promise.all([
            ended(signal),
            meanwhile(),
            relay === undefined ? undefined : maintainTheRelay(relay, workspace, out, signal),
            options.supervisor === false ? undefined : supervise(options, out, signal),
          ])
        })
      } finally {
        await serving.close()
        place.leave()
      }
    })
  } finally {
    await workspace.close()
    isOver = true
    clearTimeout(late)
  }
}

async function answers(store: Store): Promise<boolean> {
  const asked = store.info(lineageTape).then(
    () => true,
    (error: unknown) => BatonError.is(error) && error.code === 'damaged',
  )
  const answered = new AbortController()
  try {
    return await Promise.race([asked, sleep(answerMs, false, { signal: answered.signal })])
  } finally {
    answered.abort()
  }
}

/**
 * The watcher of the machine, as `baton watch` is it, unless there is one: then only the sessions of this workspace are taken up. When
 * that one ends, this one takes its place.
 */
async function supervise(options: UpOptions, out: Output, signal: AbortSignal): Promise<void> {
  const { watchWorkspaces, WatchOfMachine } = await import('../supervise/watch.ts')
  const chosen = chosenWorkspace(options)
  const { address } = chosen
  // Whoever names a workspace means that one; so does a demo, which has one of its own.
  const machine = isNamed(chosen) ? undefined : new WatchOfMachine(options)
  try {
    await watchWorkspaces(options, out, {
      signal,
      workspaces: () => [...new Set([address, ...(machine?.take() === true ? machine.workspaces() : [])])],
      running: async () => (machine?.take() === true ? machine.running() : []),
    })
  } finally {
    machine?.leave()
  }
}

/**
 * Opened before the address of the server is printed, so that a mistake in its settings is reported instead. The relay of a project that
 * the user does not trust is not opened.
 */
async function withRelay(
  { store, project, env, named, warn }: Workspace,
  work: (relay: OpenedRelay | undefined) => Promise<void>,
): Promise<void> {
  if (untrusted(project, env, { workspace: !named }).length > 0) return work(undefined)
  const relay = await openWorkspaceRelay({ store, cwd: project, env, warn })
  try {
    await work(relay)
  } finally {
    await relay.notifier.close({ withinMs: 2_000 })
    await relay.close()
  }
}

/** As `baton relay watch` does. */
function maintainTheRelay(
  { relay, notifier }: OpenedRelay,
  { store }: Workspace,
  out: Output,
  signal: AbortSignal,
): Promise<void> {
  const onStorageError = (error: Error) => out.warn(`baton: ${error.message}; trying again`)
  return maintainRelay({ relay, store, notifier, signal, onStorageError })
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function announce(
  { url, newCode }: Serving,
  tokens: Tokens,
  options: UpOptions,
  out: Output,
  place: string,
): Promise<void> {
  const token = await tokens.owner()
  if (out.json) return out.data({ url, token, pid: process.pid })
  out.line(`Baton serves ${place}`)
  printSignIn(url, newCode(), out, options)
  out.note('Ctrl-C ends it.')
  if (options.open === true) openBrowser(`${url}/#code=${newCode()}`, out)
}

function printSignIn(url: string, code: string, out: Output, { again = 'baton up' }: UpOptions): void {
  out.line(`  ${out.style('bold', `${url}/#code=${code}`)}`)
  out.note(`  This address signs in once, within a minute. "${again}" prints another one at any time.`)
}

/** Undefined once this process is the server, otherwise the one that is. */
async function takePlace(place: ServerPlace): Promise<RunningServer | undefined> {
  const deadline = Date.now() + patienceMs
  while (!place.take()) {
    const running = await place.find()
    if (running !== undefined) return running
    if (Date.now() > deadline) {
      throw new BatonError('locked', 'Another server of this workspace is just starting or ending', {
        hint: 'Try again.',
      })
    }
  }
  return undefined
}

async function sayRunning(running: RunningServer, tokens: Tokens, options: UpOptions, out: Output): Promise<void> {
  const { url, pid } = running
  const token = await tokens.owner()
  if (out.json) return out.data({ url, token, pid })
  out.line(`Baton serves this workspace already, as process ${pid}.`)
  const answer = await fetch(`${url}/v1/sign-in-codes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  const { code } = (await answer.json()) as { code?: string }
  if (code === undefined)
    throw new BatonError('refused', 'The running server gives no sign-in code', { hint: 'End it with "baton down".' })
  printSignIn(url, code, out, options)
  if (options.open === true) openBrowser(`${url}/#code=${code}`, out)
}

function openBrowser(url: string, out: Output): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  spawn(program, [url], { stdio: 'ignore', detached: true })
    .on('error', () => out.warn(`baton: ${program} cannot be started: open the address yourself`))
    .unref()
}

/** Beyond this machine, tokens must not travel readable, unless the person says so. */
function tlsOf({ host, cert, key, plainHttp, io }: UpOptions): { cert: string; key: string } | undefined {
  if ((cert === undefined) !== (key === undefined)) throw new InvalidError('--cert and --key belong together')
  if (cert !== undefined && key !== undefined) return { cert: read(cert), key: read(key) }
  if (isLoopback(host) || plainHttp === true) return undefined
  throw new InvalidError(`${host} can be reached from other machines: tokens would travel readable`, {
    hint: 'Give --cert and --key, or say --plain-http if something else encrypts, such as a tunnel.',
  })

  function read(file: string): string {
    const found = path.resolve(io.cwd(), file)
    if (!fs.existsSync(found)) throw new NotFoundError(`There is no file ${file}`)
    return fs.readFileSync(found, 'utf8')
  }
}

export async function down(globals: Globals): Promise<void> {
  const out = new Output(globals)
  const folder = workspaceFolder(globals)
  const place = fs.existsSync(folder) ? new ServerPlace(folder) : undefined
  const running = await place?.find()
  if (place === undefined || running === undefined)
    throw new NotFoundError('No server of this workspace is running', { hint: 'Start one with "baton up".' })
  process.kill(running.pid, 'SIGTERM')
  const deadline = Date.now() + patienceMs
  while ((await place.find()) !== undefined) {
    if (Date.now() > deadline) {
      throw new BatonError('locked', `The server has not ended yet (process ${running.pid})`, {
        hint: `kill -9 ${running.pid} ends it.`,
      })
    }
    await sleep(50)
  }
  out.record({ ended: true, pid: running.pid }, `The server has ended (process ${running.pid}).`)
}
