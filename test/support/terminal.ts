// A program in a real terminal: tmux on a socket of its own, spoken to in control mode. One client per pane sends keys
// without starting a process for each, and hears the bytes that the program writes, which @xterm/headless turns into a
// screen with cursor and colours. A test waits for what a person would wait for: a text on the screen.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import xterm from '@xterm/headless'
import { removeFolder } from './folder.ts'
import { ControlReader } from './terminal-control.ts'

const patience = 45_000

/** Runs a program and then says how it ended and how it left the terminal. */
const watcher = `"$@"; code=$?; left=$(stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo)' | sort | tr '\\n' ' ')
printf '\\n[ended %s, terminal %s]' "$code" "$left"; exec cat > /dev/null`

interface PaneOptions {
  readonly cwd: string
  readonly columns?: number
  readonly rows?: number
  readonly env?: Record<string, string>
}

/** Each pane has a server to itself: tmux 3.3 crashes now and then when clients in control mode see others come. */
export class Tmux implements Disposable {
  readonly #folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-tmux-'))
  readonly #env = { PATH: process.env.PATH, LANG: 'C.UTF-8', TERM: 'xterm-256color', TMUX_TMPDIR: this.#folder }
  readonly #panes: Pane[] = []

  /** Runs a program in a pane of its own; nothing of the test's environment reaches it but PATH. */
  open(command: readonly string[], options: PaneOptions): Pane {
    const { cwd, columns = 100, rows = 30, env = {} } = options
    const socket = ['-L', `pane-${this.#panes.length + 1}`, '-f', '/dev/null']
    const set = ['set', '-s', 'escape-time', '0', ';', 'set', '-g', 'default-terminal', 'tmux-256color', ';']
    const size = ['-x', String(columns), '-y', String(rows)]
    const variables = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`])
    const make = ['new-session', '-c', cwd, ...size, ...variables, '--', 'sh', '-c', watcher, 'sh', ...command]
    const client = spawn('tmux', [...socket, '-C', 'start-server', ';', ...set, ...make], { env: this.#env })
    const pane = new Pane(client, columns, rows)
    this.#panes.push(pane)
    return pane
  }

  [Symbol.dispose](): void {
    for (const pane of this.#panes) pane.leave()
    removeFolder(this.#folder)
  }
}

export class Pane {
  readonly #client: ChildProcessWithoutNullStreams
  readonly #control: ControlReader
  readonly #terminal: xterm.Terminal
  readonly #waiting = new Set<() => void>()

  constructor(client: ChildProcessWithoutNullStreams, columns: number, rows: number) {
    this.#client = client
    this.#terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 20_000, allowProposedApi: true })
    this.#control = new ControlReader((bytes) => this.#terminal.write(bytes, () => this.#look()))
    client.stdout.on('data', (chunk: Buffer) => this.#control.read(chunk))
    client.stdin.on('error', () => {}) // the server was killed first
  }

  /** Text as it is typed, key by key. */
  async type(text: string): Promise<void> {
    // As hexadecimal: no quoting, and a semicolon is a semicolon.
    const bytes = [...Buffer.from(text)].map((byte) => byte.toString(16))
    await this.#command(`send-keys -H ${bytes.join(' ')}`)
  }

  /** Keys by tmux's names: Enter, Escape, C-c, Up. */
  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.#command(`send-keys ${key}`)
  }

  /** A line with its Enter, and what the screen has to show for it, where that is given. */
  async enter(text: string, shown?: string | RegExp): Promise<void> {
    await this.type(text)
    await this.press('Enter')
    if (shown !== undefined) await this.shows(shown)
  }

  /** As a terminal pastes: in one piece, between brackets. */
  async paste(text: string): Promise<void> {
    await this.type(`\x1b[200~${text}\x1b[201~`)
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#command(`resize-window -x ${columns} -y ${rows}`)
    this.#terminal.resize(columns, rows)
  }

  /** What is on the screen now, as tmux has it. */
  async screen(): Promise<string> {
    const lines = await this.#command(`capture-pane -p`)
    return lines
      .map((line) => line.trimEnd())
      .join('\n')
      .trimEnd()
  }

  /** The screen and what was scrolled off it. */
  get text(): string {
    const buffer = this.#terminal.buffer.active
    const lines: string[] = []
    for (let y = 0; y < buffer.length; y++) {
      const line = buffer.getLine(y)
      const text = line?.translateToString(true).trimEnd() ?? ''
      if (line?.isWrapped === true) lines[lines.length - 1] += text
      else lines.push(text)
    }
    return lines.join('\n').trimEnd()
  }

  /** The lines of the screen alone. */
  get lines(): string[] {
    const buffer = this.#terminal.buffer.active
    return Array.from({ length: this.#terminal.rows }, (_, y) =>
      (buffer.getLine(buffer.baseY + y)?.translateToString(true) ?? '').trimEnd(),
    )
  }

  get cursor(): { x: number; y: number } {
    const { cursorX: x, cursorY: y } = this.#terminal.buffer.active
    return { x, y }
  }

  get title(): Promise<string> {
    return this.#format('#{pane_title}')
  }

  /** The colour (256 palette, or -1) and weight of the first character of a text on the screen. */
  styleOf(text: string): { color: number; bold: boolean; dim: boolean } | undefined {
    const y = this.lines.findIndex((line) => line.includes(text))
    if (y < 0) return undefined
    const buffer = this.#terminal.buffer.active
    const line = buffer.getLine(buffer.baseY + y)!
    const x = line.translateToString(true).indexOf(text) // good enough where nothing wide stands before it
    const cell = line.getCell(x)!
    return { color: cell.isFgDefault() ? -1 : cell.getFgColor(), bold: cell.isBold() !== 0, dim: cell.isDim() !== 0 }
  }

  /** Resolves when the screen (or what scrolled off it) shows the text. */
  async shows(expected: string | RegExp): Promise<void> {
    const seen = () => (typeof expected === 'string' ? this.text.includes(expected) : expected.test(this.text))
    await this.until(seen, String(expected))
  }

  /** Resolves when the screen fulfils a condition; it is looked at after each change. */
  async until(condition: () => boolean, what: string): Promise<void> {
    if (condition()) return
    await new Promise<void>((resolve, reject) => {
      const done = () => {
        clearTimeout(deadline)
        this.#waiting.delete(look)
      }
      const look = () => {
        if (!condition()) return
        done()
        resolve()
      }
      const deadline = setTimeout(() => {
        done()
        reject(new Error(`the screen never showed ${what}:\n${this.text}`))
      }, patience)
      this.#waiting.add(look)
    })
  }

  /** The program that runs in the pane. */
  async pid(): Promise<number> {
    const shell = await this.#format('#{pane_pid}')
    return Number(fs.readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8').trim().split(' ')[0])
  }

  /** What a shell that runs in the pane has started. */
  async jobPid(): Promise<number> {
    const shell = await this.pid()
    return Number(fs.readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8').trim().split(' ')[0])
  }

  /** Its exit code, as a shell sees it; waits for it to end. Fails if the terminal was left in raw mode. */
  async exit(): Promise<number> {
    const { code, terminal } = await this.#ended()
    if (terminal !== 'echo icanon') throw new Error(`the terminal was left with ${terminal}`)
    return code
  }

  /** Ends it as nothing can be prepared for. */
  async kill(): Promise<void> {
    process.kill(await this.pid(), 'SIGKILL')
    await this.#ended()
  }

  async #ended(): Promise<{ code: number; terminal: string }> {
    const said = /\[ended (\d+), terminal (.*?) ?\]/
    await this.until(() => said.test(this.text), 'the end of the program')
    const [, code, terminal = ''] = said.exec(this.text)!
    return { code: Number(code), terminal }
  }

  /** Ends the program and the server. */
  leave(): void {
    this.#client.stdin.end('kill-server\n')
    this.#terminal.dispose()
  }

  async #format(format: string): Promise<string> {
    return (await this.#command(`display-message -p '${format}'`)).join('\n')
  }

  async #command(line: string): Promise<string[]> {
    const answer = this.#control.answer()
    this.#client.stdin.write(`${line}\n`)
    return answer
  }

  #look(): void {
    for (const look of this.#waiting) look()
  }
}
