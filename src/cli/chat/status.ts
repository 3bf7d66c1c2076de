// The line above the editor: what is going on, for how long, and how to stop it.

import { type Component, truncateToWidth, type TUI } from '@earendil-works/pi-tui'
import type { Theme } from './theme.ts'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 120

export class Status implements Component {
  readonly #tui: TUI
  readonly #theme: Theme
  #text: string | undefined
  #since = 0
  #frame = 0
  #timer: NodeJS.Timeout | undefined

  constructor(tui: TUI, theme: Theme) {
    this.#tui = tui
    this.#theme = theme
  }

  /** The clock goes on while the text changes, until it is hidden. */
  show(text: string): void {
    if (this.#text === undefined) this.#since = Date.now()
    this.#text = text
    this.#timer ??= setInterval(() => {
      this.#frame++
      this.#tui.requestRender()
    }, frameMs).unref()
    this.#tui.requestRender()
  }

  hide(): void {
    this.#text = undefined
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#tui.requestRender()
  }

  render(width: number): string[] {
    if (this.#text === undefined) return ['']
    const { accent, dim } = this.#theme
    const seconds = Math.floor((Date.now() - this.#since) / 1_000)
    const time = seconds < 1 ? '' : ` ${seconds} s`
    const spinner = accent(frames[this.#frame % frames.length]!)
    return ['', truncateToWidth(`${spinner} ${this.#text}${dim(`${time} (Esc cancels)`)}`, width, '…')]
  }

  invalidate(): void {}
}
