// The two lines around the editor: above it what the chat is doing, for how long, and how to stop it; below it the state of the session.

import { type Component, truncateToWidth, type TUI, visibleWidth } from '@earendil-works/pi-tui'
import type { Theme } from './theme.ts'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 120

export class StatusLines implements Component {
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

  /** The clock keeps running while the text changes, until it is hidden. */
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

export interface SessionStatus {
  model?: string | undefined
  tape?: string | undefined
  anchor?: string | undefined
  context?: { tokens: number; window?: number | undefined; estimated: boolean } | undefined
  /** Every call is allowed. */
  yes?: boolean
}

const gaugeCells = 8

export class Footer implements Component {
  readonly #theme: Theme
  #status: SessionStatus = {}

  constructor(theme: Theme) {
    this.#theme = theme
  }

  set(status: SessionStatus): void {
    this.#status = { ...this.#status, ...status }
  }

  get status(): SessionStatus {
    return this.#status
  }

  render(width: number): string[] {
    const { model, tape, anchor, yes } = this.#status
    const { dim, warn } = this.#theme
    const gauge = this.#gauge(width)
    // The last parts are cut first on a narrow screen.
    const names = [tape, anchor === undefined ? undefined : `⚓ ${anchor}`, model ?? 'no model']
    const left = names.filter((name) => name !== undefined).join(' · ')
    const flag = yes === true ? warn(' · --yes') : ''
    const room = width - visibleWidth(gauge) - visibleWidth(flag) - 1
    const shown = dim(truncateToWidth(left, Math.max(1, room), '…')) + flag
    const gap = ' '.repeat(Math.max(1, width - visibleWidth(shown) - visibleWidth(gauge)))
    return [truncateToWidth(shown + gap + gauge, width, '')]
  }

  invalidate(): void {}

  #gauge(width: number): string {
    const { context } = this.#status
    const { dim, good, warn, bad } = this.#theme
    if (context === undefined) return ''
    const { tokens, window, estimated } = context
    const count = `${estimated ? '~' : ''}${short(tokens)}`
    if (window === undefined) return dim(`${count} tokens`)
    const share = Math.min(1, tokens / window)
    const percent = `${Math.round(share * 100)}%`
    if (width < 60) return dim(`${count} ${percent}`)
    const full = Math.round(share * gaugeCells)
    const paint = share < 0.6 ? good : share < 0.85 ? warn : bad
    return `${paint('█'.repeat(full))}${dim('░'.repeat(gaugeCells - full))} ${dim(`${percent} of ${short(window)}`)}`
  }
}

function short(tokens: number): string {
  if (tokens < 1_000) return String(tokens)
  return tokens < 1_000_000 ? `${Math.round(tokens / 1_000)}k` : `${(tokens / 1_000_000).toFixed(1)}M`
}
