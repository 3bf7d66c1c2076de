// What the model writes, as it grows. Only the end of a long answer changes, so only its end is read and wrapped again.

import { type Component, Markdown } from '@earendil-works/pi-tui'
import { fitted } from './blocks.ts'
import { sanitise } from './sanitise.ts'
import type { Theme } from './theme.ts'

/** Past this many characters, whole paragraphs are set aside. */
const longEnough = 4_000
/** Past this many, whatever there is. */
const tooLong = 12_000

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
    if (this.#text.length >= longEnough) this.#setAside()
    this.#end.set(this.#text)
  }

  #setAside(): void {
    const { at, fence } = lastParagraph(this.#text)
    if (at > 0) return this.#cut(this.#text.slice(0, at), this.#text.slice(at), true)
    if (this.#text.length < tooLong) return
    // One paragraph, list or block of code without an end: it is cut at a line, or at a blank, and its code continues as code.
    const last = this.#text.slice(0, -200)
    const end = Math.max(last.lastIndexOf('\n') + 1, fence === undefined ? last.lastIndexOf(' ') + 1 : 0) || last.length
    const close = fence === undefined ? '' : `\n${fence}`
    const open = fence === undefined ? '' : `${fence}\n`
    const isCode = fence !== undefined
    if (isCode) this.#end.goesOn = true
    this.#cut(this.#text.slice(0, end).trimEnd() + close, open + this.#text.slice(end), false)
    this.#end.isRest = isCode
  }

  #cut(done: string, rest: string, isParagraph: boolean): void {
    this.#end.set(done)
    this.#done.push(this.#end)
    this.#end = new Part(this.#theme, isParagraph)
    this.#text = rest
  }

  render(width: number): string[] {
    return [...this.#done, this.#end].flatMap((part) => part.render(width))
  }

  invalidate(): void {
    for (const part of [...this.#done, this.#end]) part.invalidate()
  }
}

/** Paragraphs with a blank line in front, unless it continues what the part before it began. */
class Part {
  readonly #markdown: Markdown
  readonly #isParagraph: boolean
  /** Its block of code was opened in an earlier part, or is closed in a later one: the fence at that end was added here, and is hidden. */
  isRest = false
  goesOn = false
  #text: string | undefined
  #drawn: { from: string[]; lines: string[] } | undefined

  constructor(theme: Theme, isParagraph = true) {
    this.#isParagraph = isParagraph
    this.#markdown = new Markdown('', 0, 0, theme.markdown)
  }

  set(text: string): void {
    this.#text = text
  }

  render(width: number): string[] {
    if (this.#text !== undefined) this.#markdown.setText(sanitise(this.#text).trim())
    this.#text = undefined
    const from = this.#markdown.render(width)
    if (this.#drawn?.from !== from) {
      // Filled up with spaces, which nobody wants to copy.
      const all = fitted(from, width).map((line) => line.replace(/ +$/, ''))
      const lines = all.slice(this.isRest ? 1 : 0, this.goesOn ? -1 : undefined)
      this.#drawn = { from, lines: lines.length === 0 ? [] : this.#isParagraph ? ['', ...lines] : lines }
    }
    return this.#drawn.lines
  }

  invalidate(): void {
    this.#markdown.invalidate()
  }
}

/** Where the last paragraph begins that nothing before it can change: outside of code, lists, quotes and tables; and the fence that is open at the end. */
function lastParagraph(text: string): { at: number; fence: string | undefined } {
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
  return { at: found, fence }
}
