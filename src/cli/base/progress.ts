// How far work has come: one line on stderr that is written over, and only on a terminal.

import type { OutputStream } from './io.ts'
import type { Globals } from './output.ts'

interface Pace {
  /** Work that is done sooner shows nothing. */
  readonly afterMs?: number
  /** How long a line stays at least. */
  readonly everyMs?: number
}

export class ProgressLine {
  readonly #stderr: OutputStream
  readonly #visible: boolean
  readonly #everyMs: number
  #next: number
  #drawn = false

  constructor({ io, quiet, json }: Globals, { afterMs = 0, everyMs = 0 }: Pace = {}) {
    this.#stderr = io.stderr
    this.#visible = this.#stderr.isTTY === true && quiet !== true && json !== true
    this.#everyMs = everyMs
    this.#next = performance.now() + afterMs
  }

  show(text: string): void {
    const now = performance.now()
    if (!this.#visible || now < this.#next) return
    this.#next = now + this.#everyMs
    this.#stderr.write(`\r\x1b[K${text}`)
    this.#drawn = true
  }

  clear(): void {
    if (this.#drawn) this.#stderr.write('\r\x1b[K')
    this.#drawn = false
  }
}
