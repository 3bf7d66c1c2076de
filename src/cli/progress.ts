// How long work is going on: one line on stderr that is written over, and only on a terminal.

import type { Progress } from '../handoff/narrative.ts'
import type { Globals } from './output.ts'

export class ProgressLine {
  readonly #visible: boolean
  #drawn = false

  constructor({ quiet, json }: Globals) {
    this.#visible = process.stderr.isTTY && quiet !== true && json !== true
  }

  show({ step, part, parts, tokens, elapsedMs }: Progress): void {
    if (!this.#visible) return
    const of = part === undefined ? '' : ` part ${part} of ${parts}`
    const written = tokens > 0 ? `, ${tokens} tokens` : ''
    process.stderr.write(`\r\x1b[K${step}${of}… ${(elapsedMs / 1000).toFixed(1)} s${written} (Ctrl-C cancels)`)
    this.#drawn = true
  }

  clear(): void {
    if (this.#drawn) process.stderr.write('\r\x1b[K')
    this.#drawn = false
  }
}
