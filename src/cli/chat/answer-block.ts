// What the model writes, as it grows. Only the end of a long answer changes, so only its end is read and wrapped again.

import { type Component, Markdown } from '@earendil-works/pi-tui'
import { fitted } from './blocks.ts'
import { neutral } from './neutral.ts'
import type { Theme } from './theme.ts'

/** Past this many characters, whole paragraphs are set aside. */
const longEnough = 4_000

export class AnswerBlock implements Component {
  readonly #theme: Theme
  #done: Part[] = []
  #end: Part
  #text = ''

  constructor(theme: Theme) {
    this.#theme = theme
    this.#end = new Part(theme)
  }

  append(delta: string): void {
    this.#text += delta
    const at = this.#text.length < longEnough ? 0 : lastParagraph(this.#text)
    if (at > 0) {
      this.#end.set(this.#text.slice(0, at))
      this.#done.push(this.#end)
      this.#end = new Part(this.#theme)
      this.#text = this.#text.slice(at)
    }
    this.#end.set(this.#text)
  }

  render(width: number): string[] {
    return [...this.#done, this.#end].flatMap((part) => part.render(width))
  }

  invalidate(): void {
    for (const part of [...this.#done, this.#end]) part.invalidate()
  }
}

/** Paragraphs with a blank line in front. */
class Part {
  readonly #markdown: Markdown
  #text: string | undefined
  #drawn: { from: string[]; lines: string[] } | undefined

  constructor(theme: Theme) {
    this.#markdown = new Markdown('', 0, 0, theme.markdown)
  }

  set(text: string): void {
    this.#text = text
  }

  render(width: number): string[] {
    if (this.#text !== undefined) this.#markdown.setText(neutral(this.#text).trim())
    this.#text = undefined
    const from = this.#markdown.render(width)
    if (this.#drawn?.from !== from) {
      // Filled up with spaces, which nobody wants to copy.
      const lines = fitted(from, width).map((line) => line.replace(/ +$/, ''))
      this.#drawn = { from, lines: lines.length === 0 ? [] : ['', ...lines] }
    }
    return this.#drawn.lines
  }

  invalidate(): void {
    this.#markdown.invalidate()
  }
}

/** Where the last paragraph begins that nothing before it can change: outside of code, lists, quotes and tables. */
function lastParagraph(text: string): number {
  let [at, found] = [0, 0]
  let fence: string | undefined
  let isBlank = false
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence === undefined && isBlank && /^[^\s>|*+\-\d]/.test(line)) found = at
    if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence) === true) fence = undefined
    isBlank = line.trim() === ''
    at += line.length + 1
  }
  return found
}
