// One tmux server, spoken to through its program: arguments as they are, never a line for a shell.

import { spawn } from 'node:child_process'
import os from 'node:os'
import path from 'node:path'
import { BatonError, UnsupportedError } from '../../errors.ts'

/** Older ones cannot set the environment of a new session. */
const oldest = [3, 2]

/** A setting that servers of our own have, and a person's have not. */
export const ownServer = '@baton'

/** Columns and rows while nobody looks. */
export const usual = [160, 50] as const

export class TmuxServer {
  /** Path of its socket. */
  readonly socket: string

  constructor(socket: string) {
    this.socket = socket
  }

  /** What the command printed. */
  run(command: readonly string[], options: RunOptions = {}): Promise<string> {
    return this.all([command], options)
  }

  /** Several commands, one after the other, in one go. */
  async all(commands: readonly (readonly string[])[], { flags = [], ...options }: RunOptions = {}): Promise<string> {
    const args = commands.flatMap((command, i) => [...(i === 0 ? [] : [';']), ...command.map(literal)])
    const { code, out, err } = await runTmux(['-S', this.socket, ...flags, ...args], options)
    if (code === 0) return out
    throw new TmuxError(`tmux ${commands[0]?.[0] ?? ''}: ${err.trim() || `ended with ${code}`}`, err)
  }
}

interface RunOptions {
  readonly input?: string
  readonly env?: NodeJS.ProcessEnv
  /** Of the program itself, before any command. */
  readonly flags?: readonly string[]
}

export class TmuxError extends BatonError {
  /** The pane, or the whole server, is no more. */
  readonly gone: boolean
  /** The server is about to end: all of its panes are gone already. */
  readonly isEnding: boolean

  constructor(message: string, said: string) {
    super('storage', message)
    this.isEnding = /lost server|server exited/.test(said)
    this.gone = this.isEnding || /no server running|can't find (pane|window|session)|error connecting/.test(said)
  }
}

/** tmux takes an argument that ends with `;` for the end of a command. */
function literal(argument: string): string {
  return argument.endsWith(';') ? `${argument.slice(0, -1)}\\;` : argument
}

/** In names and folders, `#` begins a format. */
export function unformatted(text: string): string {
  return text.replaceAll('#', '##')
}

/** Where tmux puts the socket of that name. */
export function socketPath(name: string, env: NodeJS.ProcessEnv): string {
  if (path.isAbsolute(name)) return name
  const folder = env.TMUX_TMPDIR || '/tmp'
  return path.join(folder, `tmux-${os.userInfo().uid}`, name)
}

let checked: Promise<void> | undefined

/** Throws where tmux is missing, or too old. */
export function needTmux(): Promise<void> {
  checked ??= check().catch((error: unknown) => {
    checked = undefined
    throw error
  })
  return checked
}

async function check(): Promise<void> {
  const { out } = await runTmux(['-V'])
  const [, major, minor] = /(\d+)\.(\d+)/.exec(out) ?? []
  if (major === undefined) return // a build from its newest sources has no number
  if (Number(major) > oldest[0]! || (Number(major) === oldest[0] && Number(minor) >= oldest[1]!)) return
  throw new UnsupportedError(`${out.trim()} is too old: Baton needs tmux ${oldest.join('.')}`, {
    hint: 'Install a newer tmux, or run the agent with --driver headless.',
  })
}

const patience = 10_000

function runTmux(
  args: readonly string[],
  { input, env = process.env }: Omit<RunOptions, 'flags'> = {},
): Promise<{ code: number | null; out: string; err: string }> {
  return new Promise((resolve, reject) => {
    const found = env.PATH === undefined ? { PATH: process.env.PATH } : {}
    const child = spawn('tmux', args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...found, ...env } })
    // One of our own: that of `spawn` goes on where there is no program.
    const timer = setTimeout(() => child.kill(), patience)
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    child.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      reject(
        error.code === 'ENOENT'
          ? new UnsupportedError('There is no tmux on this machine', {
              hint: 'Install tmux, or run the agent with --driver headless.',
            })
          : error,
      )
    })
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, out, err })
    })
    // It may have ended before it read everything.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input ?? '')
  })
}
