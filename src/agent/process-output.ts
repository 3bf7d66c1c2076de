// The output of a command, however long: all of it up to a bound, beyond that its beginning and its end.

/** Half of it from the beginning, half from the end. */
const keptBytes = 64 * 1024 * 1024

export class Output {
  readonly #head: Buffer[] = []
  readonly #tail: Buffer[] = []
  readonly #half: number
  #headBytes = 0
  #tailBytes = 0
  /** Of all that came. */
  bytes = 0

  constructor(kept = keptBytes) {
    this.#half = kept / 2
  }

  add(chunk: Buffer): void {
    this.bytes += chunk.length
    const room = this.#half - this.#headBytes
    if (room > 0) {
      this.#head.push(chunk.subarray(0, room))
      this.#headBytes += Math.min(room, chunk.length)
    }
    const rest = chunk.subarray(Math.max(0, room))
    if (rest.length === 0) return
    this.#tail.push(rest)
    this.#tailBytes += rest.length
    while (this.#tailBytes - this.#tail[0]!.length >= this.#half) this.#tailBytes -= this.#tail.shift()!.length
  }

  /** How many bytes between the beginning and the end are gone. */
  get missing(): number {
    return this.bytes - this.#headBytes - this.#tailBytes
  }

  /** What was kept, with a line that says what is missing where something is. */
  whole(): Buffer {
    const gap = this.missing === 0 ? [] : [Buffer.from(`\n[${this.missing} bytes were not kept]\n`)]
    return Buffer.concat([...this.#head, ...gap, ...this.#tail])
  }
}
