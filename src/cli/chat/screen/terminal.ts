// The terminal of the chat. The library redraws by clearing the screen with its scrollback and printing the whole conversation; here the
// scrollback is the person's, also what was in it before the chat: only the chat's own rows are drawn again.

import { CURSOR_MARKER, ProcessTerminal, visibleWidth } from '@earendil-works/pi-tui'

/** What the library writes before it draws everything again. */
const clearAll = '\x1b[2J\x1b[H\x1b[3J'

/** What was drawn: the lines, and where in them the cursor is. */
interface Frame {
  readonly lines: readonly string[]
  readonly columns: number
  readonly rows: number
}

const nothing: Frame = { lines: [], columns: 0, rows: 0 }

/** Nobody types a line feed by hand so soon after coming back. */
const lateKeysMs = 200
/** On a busy machine the keys may be read this much before the signal that the process runs again. */
const lateSignalMs = 150

export class ScrollbackTerminal extends ProcessTerminal {
  #before = nothing
  #frame = nothing
  /** Until shortly after the first frame, keys come that were typed before the terminal was the chat's again. */
  #isComingBack = false
  #held: (() => void)[] = []
  #releasing: NodeJS.Timeout | undefined

  /** Called with every frame before it is written. */
  drawing(lines: readonly string[]): void {
    this.#before = this.#frame
    this.#frame = { lines, columns: this.columns, rows: this.rows }
    // A busy machine may deliver what was typed meanwhile only after this frame.
    if (this.#isComingBack) setTimeout(() => (this.#isComingBack = false), lateKeysMs).unref()
  }

  /** The screen is somebody else's from here on: the next frame begins where the cursor is. */
  forget(): void {
    this.#before = this.#frame = nothing
  }

  /** The process was stopped and runs again. */
  comeBack(): void {
    this.#isComingBack = true
    this.#release()
  }

  override start(onInput: (data: string) => void, onResize: () => void): void {
    super.start((key) => this.#take(key, onInput), onResize)
  }

  /**
   * The terminal of a shell turns Enter into a line feed, which the editor takes for a new line. A line feed is held until the signal that the
   * process runs again would have been heard, which may come behind the keys that were typed meanwhile.
   */
  #take(key: string, onInput: (data: string) => void): void {
    if (key !== '\n' && this.#held.length === 0) return onInput(key)
    this.#held.push(() => onInput(key === '\n' && this.#isComingBack ? '\r' : key))
    if (this.#isComingBack) this.#release()
    else this.#releasing ??= setTimeout(() => this.#release(), lateSignalMs)
  }

  #release(): void {
    clearTimeout(this.#releasing)
    this.#releasing = undefined
    for (const give of this.#held.splice(0)) give()
  }

  override write(data: string): void {
    const at = data.indexOf(clearAll)
    if (at < 0) return super.write(data)
    const lines = data.slice(at + clearAll.length).split('\r\n')
    const up = rowsAboveCursor(this.#before, this.columns, this.rows)
    const start = `${up > 0 ? `\x1b[${up}A` : ''}\r\x1b[J`
    super.write(data.slice(0, at) + start + lines.slice(firstToDraw(this.#before, this.#frame)).join('\r\n'))
  }
}

/**
 * How far above the cursor the frame begins, or the screen if that is nearer. A terminal that has become narrower has wrapped the lines that
 * were too wide for it.
 */
function rowsAboveCursor({ lines }: Frame, columns: number, rows: number): number {
  const marked = lines.findLastIndex((line) => line.includes(CURSOR_MARKER))
  const cursor = marked < 0 ? lines.length - 1 : marked
  const before = marked < 0 ? '' : lines[marked]!.slice(0, lines[marked]!.indexOf(CURSOR_MARKER))
  let above = Math.floor(visibleWidth(before) / columns)
  for (let i = cursor - 1; i >= 0 && above < rows; i--)
    above += Math.max(1, Math.ceil(visibleWidth(lines[i]!) / columns))
  return Math.min(above, rows)
}

/**
 * What fits the screen is always drawn. Lines above it are in the scrollback already, at the width that they were drawn for, unless they
 * have changed themselves, as when they are unfolded.
 */
function firstToDraw(before: Frame, frame: Frame): number {
  const visible = Math.max(0, frame.lines.length - frame.rows)
  if (before === nothing || before.columns !== frame.columns) return visible
  const changed = frame.lines.findIndex((line, i) => line !== before.lines[i])
  return changed < 0 ? visible : Math.min(visible, changed)
}
