// How many tapes a process has open: those at work, and the idle ones used most recently. A process may have few
// descriptors (256 by default on macOS) and a workspace many tapes.

/** At most; each takes up to three descriptors. */
const most = 48
const mostAtWork = 32

export interface Opening {
  /** Closes the files; they are opened again when needed. */
  close(): void
}

export class Openings {
  /** Least recently used first. */
  readonly #idle = new Set<Opening>()
  readonly #waiting: (() => void)[] = []
  #atWork = 0

  /** Before files are opened to work on: undefined when that can begin at once. */
  enter(opening: Opening): Promise<void> | undefined {
    if (this.#atWork >= mostAtWork)
      return new Promise<void>((resolve) => this.#waiting.push(resolve)).then(() => this.#start(opening))
    this.#atWork++
    this.#start(opening)
    return undefined
  }

  leave(opening: Opening): void {
    this.#idle.add(opening)
    const next = this.#waiting.shift()
    if (next === undefined) this.#atWork--
    else next()
    this.#trim()
  }

  get isCrowded(): boolean {
    return this.#waiting.length > 0
  }

  /** For what is only looked at: open from now until others have been used more recently. */
  touch(opening: Opening): void {
    this.#idle.delete(opening)
    this.#idle.add(opening)
    this.#trim()
  }

  forget(opening: Opening): void {
    this.#idle.delete(opening)
  }

  #start(opening: Opening): void {
    this.#idle.delete(opening)
    this.#trim()
  }

  #trim(): void {
    for (const opening of this.#idle) {
      if (this.#idle.size + this.#atWork <= most) return
      this.#idle.delete(opening)
      opening.close()
    }
  }
}
