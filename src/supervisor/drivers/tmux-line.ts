// A line to a pane that stays open while it is being typed to: tmux's control mode. Asking through it costs no process each
// time, and it tells when something was drawn, so that nobody has to look again and again. Only in servers of Baton's own:
// in a person's tmux it would be one more client, with all that their settings do about clients. Without one, every command
// is run by itself.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { ownServer, TmuxError, type TmuxServer } from './tmux-server.ts'

type Client = ChildProcessByStdio<Writable, Readable, null>

interface Asked {
  readonly command: readonly string[]
  readonly resolve: (told: string) => void
  readonly reject: (error: unknown) => void
}

/** Unused for so long, it is closed. */
const idleMs = 10_000

export class TmuxLine {
  readonly #server: TmuxServer
  readonly #pane: string
  readonly #waiting = new Set<() => void>()
  #client: Client | undefined
  #opening: Promise<void> | undefined
  #asked: Asked[] = []
  #idle: NodeJS.Timeout | undefined
  #closed = false

  constructor(server: TmuxServer, pane: string) {
    this.#server = server
    this.#pane = pane
  }

  get isOpen(): boolean {
    return this.#client !== undefined
  }

  /** Never rejects: without a line, everything goes the longer way. */
  open(): Promise<void> {
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined))
    return this.#opening
  }

  /** What the commands printed, one after the other. */
  async all(commands: readonly (readonly string[])[]): Promise<string> {
    const client = this.#client
    if (client === undefined || !commands.every(isPlain)) return this.#server.all(commands)
    this.#use()
    const told = commands.map(
      (command) => new Promise<string>((resolve, reject) => this.#asked.push({ command, resolve, reject })),
    )
    client.stdin.write(commands.map((command) => `${command.map(quoted).join(' ')}\n`).join(''))
    const settled = await Promise.allSettled(told)
    const failed = settled.find((each) => each.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return settled.map((each) => (each.status === 'fulfilled' ? each.value : '')).join('')
  }

  /** Resolves when something is drawn, at the latest after so many milliseconds; without a line, after `otherwise`. */
  drawn(atMost: number, otherwise: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, this.#client === undefined ? otherwise : atMost)
      this.#waiting.add(done)
    })
  }

  close(): void {
    this.#closed = true
    this.#end()
  }

  async #open(): Promise<void> {
    if (this.#client !== undefined || this.#closed) return this.#use()
    const format = `#{session_id} #{${ownServer}}`
    const told = await this.#server.run(['display-message', '-p', '-t', this.#pane, format]).catch(() => '')
    const [session = '', own] = told.trim().split(' ')
    if (own !== '1' || this.#closed) return
    const { TMUX: _tmux, TMUX_PANE: _pane, ...env } = process.env
    // By the session: naming the pane would bring it to the front. `-E` leaves the environment of the session alone.
    const args = ['-S', this.#server.socket, '-C', 'attach-session', '-E', '-f', 'ignore-size', '-t', session]
    const client: Client = spawn('tmux', args, { stdio: ['pipe', 'pipe', 'ignore'], env })
    client.stdin.on('error', () => undefined)
    let text = ''
    let block: { readonly sign: string; readonly lines: string[] } | undefined
    const hear = (line: string) => {
      if (block !== undefined) {
        if (line === `%end ${block.sign}`) this.#answer(block.lines, false)
        else if (line === `%error ${block.sign}`) this.#answer(block.lines, true)
        else return void block.lines.push(line)
        block = undefined
      } else if (line.startsWith('%begin ')) {
        block = { sign: line.slice('%begin '.length), lines: [] }
      } else if (line.startsWith('%output ')) for (const wake of this.#waiting) wake()
    }
    await new Promise<void>((resolve) => {
      client.stdout.setEncoding('utf8').on('data', (bytes: string) => {
        const lines = (text + bytes).split('\n')
        text = lines.pop() ?? ''
        for (const line of lines) {
          if (this.#client === undefined && line.startsWith('%session-changed ')) {
            this.#client = client
            resolve()
          } else if (this.#client === client) hear(line)
        }
      })
      client.on('error', () => resolve())
      client.on('close', () => {
        if (this.#client === client) this.#end()
        resolve()
      })
    })
    this.#use()
  }

  #answer(lines: readonly string[], failed: boolean): void {
    const asked = this.#asked.shift()
    const told = lines.map((line) => `${line}\n`).join('')
    if (failed) asked?.reject(new TmuxError(`tmux ${asked.command[0]}: ${told.trim()}`, told))
    else asked?.resolve(told)
  }

  #use(): void {
    clearTimeout(this.#idle)
    if (this.#client !== undefined) this.#idle = setTimeout(() => this.#end(), idleMs)
  }

  /** What has not been answered is asked once more, the longer way: only looks go through here twice, keys never. */
  #end(): void {
    clearTimeout(this.#idle)
    this.#client?.stdin.end()
    this.#client = undefined
    const asked = this.#asked
    this.#asked = []
    for (const { command, resolve, reject } of asked) {
      if (command[0] === 'send-keys') reject(new TmuxError('lost server', 'lost server'))
      else this.#server.run(command).then(resolve, reject)
    }
    for (const wake of this.#waiting) wake()
  }
}

function isPlain(command: readonly string[]): boolean {
  return command.every((word) => !/['\n]/.test(word))
}

function quoted(word: string): string {
  return /^[\w%$-]+$/.test(word) ? word : `'${word}'`
}
