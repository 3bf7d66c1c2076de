// The chat on a terminal: transcript, status, question, editor and footer, one below the other. Whatever way the process
// ends, the terminal is handed back as it was found.

import { stripVTControlCharacters } from 'node:util'
import { type Component, Container, Editor, ProcessTerminal, TUI } from '@earendil-works/pi-tui'
import { fitted } from './blocks.ts'
import { Footer } from './footer.ts'
import { Status } from './status.ts'
import type { Theme } from './theme.ts'
import { Transcript } from './transcript.ts'

export class Screen {
  readonly tui = new TUI(new ProcessTerminal())
  readonly transcript: Transcript
  readonly status: Status
  readonly footer: Footer
  readonly editor: Editor
  readonly theme: Theme
  /** Resolves when the first frame was given to the terminal. */
  readonly painted: Promise<void>
  readonly #question = new Container()
  readonly #restore = () => this.stop()
  /** Whoever stopped the process without asking has changed the terminal since. */
  readonly #again = () => {
    this.stop()
    this.start()
    this.tui.requestRender(true)
  }
  #running = false

  constructor(theme: Theme) {
    this.theme = theme
    this.transcript = new Transcript(theme)
    this.status = new Status(this.tui, theme)
    this.footer = new Footer(theme)
    this.editor = new FittedEditor(this.tui, theme.editor)
    const body = new Body([this.transcript, this.status, this.#question, this.editor, this.footer])
    this.painted = body.drawn
    this.tui.addChild(body)
    this.tui.setFocus(this.editor)
  }

  start(): void {
    if (this.#running) return
    this.#running = true
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

  /** Ctrl-Z, or the signal for it: to the shell and back. Where there is no shell to go to, it stays and says so. */
  readonly suspend = (): void => {
    if (process.platform === 'win32') return
    this.stop()
    let wasStopped = false
    const noted = () => (wasStopped = true)
    process.once('SIGCONT', noted)
    process.kill(process.pid, 'SIGTSTP')
    // The timer runs out when the process runs again; signals are heard right after timers.
    setTimeout(() => {
      setImmediate(() => {
        process.off('SIGCONT', noted)
        if (!wasStopped) this.transcript.notice('There is no shell to go back to')
        this.#again()
      })
    }, 20)
  }

  /** In place of the status, until it is answered. */
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

  constructor(children: readonly Component[]) {
    super()
    for (const child of children) this.addChild(child)
  }

  override render(width: number): string[] {
    setImmediate(this.#drew)
    return super.render(width)
  }
}

/** On fewer rows the editor goes without its lines, for something of the conversation to be seen. */
const lowRows = 8

/** Of a component that is not ours: a line too wide for the screen would end the program. */
class FittedEditor extends Editor {
  override render(width: number): string[] {
    const lines = fitted(super.render(width), width)
    return this.tui.terminal.rows < lowRows
      ? lines.filter((line) => !stripVTControlCharacters(line).startsWith('───'))
      : lines
  }
}
