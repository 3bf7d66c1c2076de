// The chat on a terminal: the log, status lines, question, editor and footer, one below the other. Whatever way the process
// ends, the terminal is handed back as it was found.

import { stripVTControlCharacters } from 'node:util'
import { type Component, Container, Editor, TUI } from '@earendil-works/pi-tui'
import { fitted } from './blocks.ts'
import { Footer, StatusLines } from './status-lines.ts'
import { ScrollbackTerminal } from './terminal.ts'
import type { Theme } from './theme.ts'
import { ChatLog } from './chat-log.ts'

export class ChatScreen {
  readonly #terminal = new ScrollbackTerminal()
  readonly tui = new TUI(this.#terminal)
  readonly log: ChatLog
  readonly status: StatusLines
  readonly footer: Footer
  readonly editor: Editor
  readonly theme: Theme
  /** Resolves when the first frame was given to the terminal. */
  readonly painted: Promise<void>
  readonly #question = new Container()
  readonly #restore = () => this.stop()
  /** Called after the process was stopped and continued from outside, when the terminal may have changed. */
  readonly #again = () => {
    this.stop()
    this.start()
    this.#terminal.comeBack()
    this.tui.requestRender(true)
  }
  #running = false

  constructor(theme: Theme) {
    this.theme = theme
    this.log = new ChatLog(theme)
    this.status = new StatusLines(this.tui, theme)
    this.footer = new Footer(theme)
    this.editor = new FittedEditor(this.tui, theme.editor)
    const body = new Body([this.log, this.status, this.#question, this.editor, this.footer], this.#terminal)
    this.painted = body.drawn
    this.tui.addChild(body)
    this.tui.setFocus(this.editor)
  }

  start(): void {
    if (this.#running) return
    this.#running = true
    this.#terminal.forget()
    process.on('exit', this.#restore).on('SIGTSTP', this.suspend).on('SIGCONT', this.#again)
    this.tui.start()
  }

  /** Gives the terminal back; what was said stays in its scrollback. */
  stop(): void {
    if (!this.#running) return
    this.#running = false
    process.off('exit', this.#restore).off('SIGTSTP', this.suspend).off('SIGCONT', this.#again)
    this.tui.stop()
  }

  /** Suspends the chat on Ctrl-Z or its signal. If there is no shell to return to, the chat stays and says so. */
  readonly suspend = (): void => {
    if (process.platform === 'win32') return
    this.stop()
    let wasStopped = false
    const noted = () => (wasStopped = true)
    process.once('SIGCONT', noted)
    process.kill(process.pid, 'SIGTSTP')
    // The timer fires when the process runs again, and Node delivers signals right after timers.
    setTimeout(() => {
      setImmediate(() => {
        process.off('SIGCONT', noted)
        if (!wasStopped) this.log.notice('There is no shell to go back to')
        this.#again()
      })
    }, 20)
  }

  /** Shows a question in place of the status line until it is answered. */
  ask(component: Component | undefined): void {
    this.#question.clear()
    if (component !== undefined) this.#question.addChild(component)
    this.draw()
  }

  draw(): void {
    this.tui.requestRender()
  }
}

class Body extends Container {
  #drew: () => void = () => {}
  readonly drawn = new Promise<void>((resolve) => (this.#drew = resolve))

  readonly #terminal: ScrollbackTerminal

  constructor(children: readonly Component[], terminal: ScrollbackTerminal) {
    super()
    this.#terminal = terminal
    for (const child of children) this.addChild(child)
  }

  override render(width: number): string[] {
    setImmediate(this.#drew)
    const lines = super.render(width)
    this.#terminal.drawing(lines)
    return lines
  }
}

/** On fewer rows the editor is drawn without its frame, so that some of the conversation stays visible. */
const lowRows = 8

/** Cuts the lines of a library component: a line wider than the screen would end the program. */
class FittedEditor extends Editor {
  override render(width: number): string[] {
    const lines = fitted(super.render(width), width)
    return this.tui.terminal.rows < lowRows
      ? lines.filter((line) => !stripVTControlCharacters(line).startsWith('───'))
      : lines
  }
}
