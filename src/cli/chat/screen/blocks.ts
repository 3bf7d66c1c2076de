// The blocks of the chat's log: each shows something that was said or done, drawn to the width of the screen.

import { type Component, Markdown, truncateToWidth, visibleWidth, wrapTextWithAnsi } from '@earendil-works/pi-tui'
import { sanitise } from './sanitise.ts'
import type { Theme } from './theme.ts'

/** What folds and unfolds with one key. */
export interface Folding {
  folded: boolean
}

/** A block keeps its lines until something about it changes. */
export abstract class Block implements Component {
  #lines: { width: number; folded: boolean; lines: string[] } | undefined
  readonly #folding: Folding | undefined

  constructor(folding?: Folding) {
    this.#folding = folding
  }

  render(width: number): string[] {
    const folded = this.#folding?.folded ?? false
    if (this.#lines?.width !== width || this.#lines.folded !== folded) {
      this.#lines = { width, folded, lines: fitted(this.draw(Math.max(4, width), folded), width) }
    }
    return this.#lines.lines
  }

  invalidate(): void {
    this.#lines = undefined
  }

  protected abstract draw(width: number, folded: boolean): string[]
}

/** Lines of a pasted text that stay in sight while it is folded. */
const pasteLines = 20

export class UserBlock extends Block {
  /** As it was typed. */
  readonly text: string
  readonly #theme: Theme
  #waiting = false

  constructor(text: string, folding: Folding, theme: Theme) {
    super(folding)
    this.text = text
    this.#theme = theme
  }

  /** Whether the message still waits to be delivered to the model. */
  wait(waiting: boolean): void {
    this.#waiting = waiting
    this.invalidate()
  }

  protected draw(width: number, folded: boolean): string[] {
    const { accent, bold, dim } = this.#theme
    const all = hanging(sanitise(this.text), accent('› '), width, bold)
    const more = folded ? all.length - pasteLines : 0
    const note = (text: string) => dim(truncateToWidth(`  ${text}`, width, '…'))
    const lines = more > 1 ? [...all.slice(0, pasteLines), note(`… ${more} more lines (ctrl+o unfolds)`)] : all
    if (this.#waiting) lines.push(note('queued: the model gets it before its next step'))
    return ['', ...lines]
  }
}

export class ReasoningBlock extends Block {
  readonly #theme: Theme
  #text = ''

  constructor(folding: Folding, theme: Theme) {
    super(folding)
    this.#theme = theme
  }

  append(delta: string): void {
    this.#text += delta
    this.invalidate()
  }

  protected draw(width: number, folded: boolean): string[] {
    const { dim } = this.#theme
    const text = sanitise(this.#text).trim()
    if (!folded) return ['', ...hanging(text, dim('┆ '), width, dim, dim('┆ '))]
    return ['', dim(truncateToWidth(`┆ ${text.replaceAll(/\s+/g, ' ')}`, width, '…'))]
  }
}

export type Tone = 'plain' | 'good' | 'bad' | 'warn'

/** Something that Baton says, beside the conversation. */
export class NoticeBlock extends Block {
  readonly #text: string
  readonly #tone: Tone
  readonly #theme: Theme

  constructor(text: string, tone: Tone, theme: Theme) {
    super()
    this.#text = sanitise(text)
    this.#tone = tone
    this.#theme = theme
  }

  protected draw(width: number): string[] {
    const paint = this.#tone === 'plain' ? this.#theme.dim : this.#theme[this.#tone]
    const mark = { plain: '· ', good: '✓ ', bad: '✗ ', warn: '! ' }[this.#tone]
    return ['', ...hanging(this.#text, paint(mark), width, paint)]
  }
}

/** The output of a command, line by line as it was laid out. */
export class OutputBlock extends Block {
  readonly #text: string
  readonly #paint: (text: string) => string

  constructor(text: string, paint: (text: string) => string) {
    super()
    this.#text = sanitise(text).trimEnd()
    this.#paint = paint
  }

  protected draw(width: number): string[] {
    return ['', ...hanging(this.#text, '  ', width, this.#paint)]
  }
}

/** A document that opens a session: long, and already known to whoever wrote it. */
export class DocumentBlock extends Block {
  readonly #markdown: Markdown
  readonly #lines: number
  readonly #theme: Theme

  constructor(text: string, folding: Folding, theme: Theme) {
    super(folding)
    const clean = sanitise(text).trim()
    this.#markdown = new Markdown(clean, 2, 0, theme.markdown)
    this.#lines = clean.split('\n').length
    this.#theme = theme
  }

  protected draw(width: number, folded: boolean): string[] {
    const title = `▤ Handoff document, ${this.#lines} lines${folded ? ' (ctrl+o unfolds)' : ''}`
    const head = this.#theme.accent(truncateToWidth(title, width, '…'))
    return folded ? ['', head] : ['', head, ...this.#markdown.render(width)]
  }
}

/** Text under a mark: further lines stand below its first. */
export function hanging(
  text: string,
  mark: string,
  width: number,
  paint: (text: string) => string,
  next = '  ',
): string[] {
  const lines = text.split('\n').flatMap((line) => wrapTextWithAnsi(line, Math.max(1, width - 2)))
  return lines.map((line, i) => `${i === 0 ? mark : next}${paint(line)}`)
}

/** No line is ever wider than the screen, whatever a block makes of a narrow one: the renderer would give up. */
export function fitted(lines: readonly string[], width: number): string[] {
  return lines.map((line) => (visibleWidth(line) > width ? truncateToWidth(line, width, '') : line))
}
