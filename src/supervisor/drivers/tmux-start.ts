// Where an agent gets its pane: a window of the tmux that the person is in, else a session in a server of our own; or a
// pane that is there already.

import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { Adapter, Command } from '../../agents/index.ts'
import { NotFoundError } from '../../errors.ts'
import { agentMark, pause, type Process, processAt, treeOf } from '../../system/index.ts'
import { needTmux, ownServer, socketPath, TmuxError, TmuxServer, unformatted, usual } from './tmux-server.ts'
import { TmuxDriver, type TmuxPlace } from './tmux.ts'

export interface TmuxStart {
  readonly adapter: Adapter
  readonly command: Command
  readonly cwd: string
  /** The agent gets this very environment, with what the command says laid over it. */
  readonly env: NodeJS.ProcessEnv
  /** Of the window or session. */
  readonly name: string
  /** What it was given to do on the command line. */
  readonly prompt?: string
  /** Of a server of its own: a name or a path. Default: the one that `env.TMUX` names, else `baton`. */
  readonly socket?: string
  /** Called with the pane that is to be the agent's, before it is started there. */
  readonly beforeStart?: (place: TmuxPlace) => Promise<void>
  /** Columns and rows while nobody looks. */
  readonly size?: readonly [number, number]
}

/** Bytes of a prompt on the command line: tmux takes no command of more than 16 KiB, environment included. */
export const longestPrompt = 4_096

/** These belong to the terminal and the shell that something is started from. */
const notPassed = new Set(['TMUX', 'TMUX_PANE', 'TERM', 'TERM_PROGRAM', 'TERM_PROGRAM_VERSION', 'COLORTERM', 'PWD'])
/** Without the person's own settings, which may do anything when a server starts. */
const ownFlags = ['-f', '/dev/null']
const ownSettings = [
  ['start-server'],
  ['set-option', '-g', 'history-limit', '20000'],
  ['set-option', '-g', 'default-terminal', 'screen-256color'],
  ['set-option', '-s', 'escape-time', '20'],
  ['set-option', '-g', 'mouse', 'on'],
  ['set-option', '-s', ownServer, '1'],
]
const alsoNotPassed = new Set(['OLDPWD', 'SHLVL', '_', 'COLUMNS', 'LINES', 'STY', 'WINDOW', 'WINDOWID'])

export async function startInTmux(options: TmuxStart): Promise<TmuxDriver> {
  await needTmux()
  const { adapter, command, cwd, name, size = usual } = options
  const env = withoutUndefined({ ...options.env, ...command.env })
  const inside = options.socket === undefined ? options.env.TMUX?.split(',')[0] : undefined
  const server = new TmuxServer(inside || socketPath(options.socket ?? 'baton', options.env))
  // tmux makes the folder of its usual sockets only, and says nothing if there is none.
  fs.mkdirSync(path.dirname(server.socket), { recursive: true, mode: 0o700 })
  if (!inside) await replaceEnding(server)
  const title = nameOf(name)
  const known = await environmentOf(server)
  const differs = Object.entries(env).filter(([key, value]) => known?.get(key) !== value && known !== undefined)
  const surplus = [...(known?.keys() ?? [])].filter((key) => !(key in env) && isPassed(key))
  const settings = differs.filter(([key]) => isPassed(key)).flatMap(([key, value]) => ['-e', `${key}=${value}`])
  const removed = [...surplus, ...Object.keys(command.env ?? {}).filter((key) => !(key in env))]
  // By way of `env`, so that there are always several arguments: tmux gives a single one to a shell.
  const run = ['env', ...removed.flatMap((key) => ['-u', key]), `${agentMark}=1`, command.program, ...command.args]
  const folder = ['-c', unformatted(cwd)]
  const window = ['-d', '-P', '-F', '#{pane_id}', ...folder]
  // First a pane that keeps what its program leaves, then the program: it may end at once.
  const idle = ['--', 'env', 'sleep', '60']
  const made = inside
    ? await server.run([
        'new-window',
        '-n',
        title,
        ...window,
        '-t',
        `${await currentSession(server, options.env)}:`,
        ...idle,
      ])
    : await server.all(
        [...ownSettings, ['new-session', '-s', await freeName(server, title), ...sizeOf(size), ...window, ...idle]],
        { env, flags: ownFlags },
      )
  const pane = made.trim()
  const mark = randomUUID()
  await options.beforeStart?.({ driver: 'tmux', socket: server.socket, pane, mark })
  // All in one go: where the mark is, the agent has been started.
  const told = await server.all([
    ['set-option', '-p', '-t', pane, 'remain-on-exit', 'on'],
    ['set-option', '-p', '-t', pane, markOption, mark],
    ['respawn-pane', '-k', '-t', pane, ...folder, ...settings, '--', ...run],
    ['display-message', '-p', '-t', pane, '#{pane_pid}'],
  ])
  return new TmuxDriver(adapter, placeOf(server.socket, pane, told.trim()), options.prompt)
}

/** Takes hold of an agent that was meant to be started in that pane. */
export async function launchedIn(adapter: Adapter, { socket, pane, mark }: TmuxPlace): Promise<TmuxDriver> {
  const server = new TmuxServer(socket)
  const asked = ['display-message', '-p', '-t', pane, `#{pane_pid} #{${markOption}}`]
  const told = await server.run(asked).catch((error: unknown) => {
    if (error instanceof TmuxError && error.gone) return ''
    throw error
  })
  const [pid = '', found] = told.trim().split(' ')
  if (found === mark) return new TmuxDriver(adapter, placeOf(socket, pane, pid))
  throw new NotFoundError(`${adapter.label} was not started in pane ${pane}`)
}

/** Set with the start of an agent, for the case that nobody lives to write down where it was. */
const markOption = '@baton-mark'

function placeOf(socket: string, pane: string, pid: string): TmuxPlace {
  const agent = processAt(Number(pid))
  const started = agent === undefined ? {} : { started: agent.started }
  return { driver: 'tmux', socket, pane, pid: Number(pid), ...started }
}

/** Takes hold of an agent in a pane that is there. `pid`: the agent's, where it is known. */
export async function takePane(
  adapter: Adapter,
  { socket, pane, pid }: { socket: string; pane: string; pid?: number },
): Promise<TmuxDriver> {
  await needTmux()
  const server = new TmuxServer(socket)
  const told = await server.run(['display-message', '-p', '-t', pane, '#{pane_id} #{pane_pid}'])
  const [id = '', shell = ''] = told.trim().split(' ')
  const agent = agentIn(Number(shell), (each) => (pid === undefined ? isAgent(each, adapter) : each.pid === pid))
  if (id === '' || agent === undefined) {
    throw new NotFoundError(`No ${adapter.label} runs in pane ${pane}`, {
      hint: 'Start it there first; "tmux list-panes -a" shows which panes there are.',
    })
  }
  const { started } = agent
  return new TmuxDriver(adapter, { driver: 'tmux', socket, pane: id, pid: agent.pid, started, adopted: true })
}

const interpreter = /^(node|bun|deno|python[\d.]*|ruby|sh|bash)$/

/** By the name of its program, or of what an interpreter runs: the first words of its command line. */
export function isAgent({ args }: Process, adapter: Adapter): boolean {
  const { program, args: given } = adapter.launch?.() ?? { program: adapter.name, args: [] }
  const [first, second] = args.map(plainName)
  // Some call themselves so, whatever they were started with.
  if (first === adapter.name) return true
  if (interpreter.test(plainName(program))) {
    // What follows the interpreter tells: the program, and its command.
    const until = given.findIndex((arg) => arg.startsWith('-'))
    const words = [program, ...given.slice(0, until < 0 ? 2 : until)].map(plainName)
    return words.length > 1 && words.every((word, i) => word === plainName(args[i] ?? ''))
  }
  const own = plainName(program)
  return first === own || (interpreter.test(first ?? '') && second === own)
}

function plainName(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1).replace(/\.(c|m)?js$/, '')
}

function sizeOf([columns, rows]: readonly [number, number]): string[] {
  return ['-x', String(columns), '-y', String(rows)]
}

function isPassed(key: string): boolean {
  return !notPassed.has(key) && !alsoNotPassed.has(key)
}

function withoutUndefined(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])))
}

/** What a new pane of that server would inherit; undefined while there is no server: it will inherit ours. */
/** A server has no panes any more when it begins to end, and ends within moments. */
const endingMs = 3_000

/**
 * A server of ours that is told to end while the client of a killed supervisor hangs on it waits for that client forever: it refuses every
 * command and keeps its socket. Without the socket, another server can be started.
 */
async function replaceEnding(server: TmuxServer): Promise<void> {
  const isEnding = () =>
    server.run(['list-sessions']).then(
      () => false,
      (error: unknown) => error instanceof TmuxError && error.isEnding,
    )
  const deadline = performance.now() + endingMs
  while (await isEnding()) {
    if (performance.now() > deadline) return fs.rmSync(server.socket, { force: true })
    await pause(100)
  }
}

async function environmentOf(server: TmuxServer): Promise<Map<string, string> | undefined> {
  const told = await server.run(['show-environment', '-g']).catch(() => undefined)
  if (told === undefined) return undefined
  const known = new Map<string, string>()
  let last: string | undefined
  for (const line of told.split('\n')) {
    const [, key, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(line) ?? []
    if (key !== undefined) known.set((last = key), value!)
    // A value of several lines.
    else if (last !== undefined && line !== '') known.set(last, `${known.get(last)}\n${line}`)
  }
  return known
}

async function currentSession(server: TmuxServer, env: NodeJS.ProcessEnv): Promise<string> {
  const pane = env.TMUX_PANE
  const told = await server.run(['display-message', '-p', ...(pane ? ['-t', pane] : []), '#{session_id}'])
  return told.trim()
}

/** tmux takes `.` and `:` for parts of a target, and `#` for a format. */
function nameOf(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}_-]+/gu, '-').slice(0, 60) || 'baton'
}

async function freeName(server: TmuxServer, name: string): Promise<string> {
  const told = await server.run(['list-sessions', '-F', '#{session_name}']).catch(() => '')
  const taken = new Set(told.split('\n'))
  if (!taken.has(name)) return name
  let number = 2
  while (taken.has(`${name}-${number}`)) number++
  return `${name}-${number}`
}

/** The agent among what runs in a pane: the pane's own process, or the one below its shell. */
export function agentIn(pid: number, isAgent: (process: Process) => boolean): Process | undefined {
  return treeOf(pid).find(isAgent)
}
