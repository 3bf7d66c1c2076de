// The lines below the editor: who answers, on which tape, since which anchor, and how full the context is.

import { type Component, truncateToWidth, visibleWidth } from '@earendil-works/pi-tui'
import type { Theme } from './theme.ts'

export interface Standing {
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
  #standing: Standing = {}

  constructor(theme: Theme) {
    this.#theme = theme
  }

  set(standing: Standing): void {
    this.#standing = { ...this.#standing, ...standing }
  }

  get standing(): Standing {
    return this.#standing
  }

  render(width: number): string[] {
    const { model, tape, anchor, yes } = this.#standing
    const { dim, warn } = this.#theme
    const gauge = this.#gauge(width)
    // What is cut first on a narrow screen stands last.
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
    const { context } = this.#standing
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
