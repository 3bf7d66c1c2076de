// How many tapes a process has open: those at work, and the idle ones used most recently. A process may have few
// descriptors (256 by default on macOS) and a workspace many tapes.

/** How many tapes may be open; each takes up to three descriptors. */
const most = 48
const mostAtWork = 32

export interface OpenFiles {
  /** Closes the files; they are opened again when needed. */
  close(): void
}

export class FileLimit {
  /** Least recently used first. */
  readonly #idle = new Set<OpenFiles>()
  readonly #waiting: (() => void)[] = []
  #atWork = 0

  /** To be called before files are opened for work. Returns undefined when that can begin at once. */
  enter(files: OpenFiles): Promise<void> | undefined {
    if (this.#atWork >= mostAtWork)
      return new Promise<void>((resolve) => this.#waiting.push(resolve)).then(() => this.#start(files))
    this.#atWork++
    this.#start(files)
    return undefined
  }

  leave(files: OpenFiles): void {
    this.#idle.add(files)
    const next = this.#waiting.shift()
    if (next === undefined) this.#atWork--
    else next()
    this.#trim()
  }

  get isCrowded(): boolean {
    return this.#waiting.length > 0
  }

  /** For files that are only read: they stay open until others have been used more recently. */
  touch(files: OpenFiles): void {
    this.#idle.delete(files)
    this.#idle.add(files)
    this.#trim()
  }

  forget(files: OpenFiles): void {
    this.#idle.delete(files)
  }

  #start(files: OpenFiles): void {
    this.#idle.delete(files)
    this.#trim()
  }

  #trim(): void {
    for (const files of this.#idle) {
      if (this.#idle.size + this.#atWork <= most) return
      this.#idle.delete(files)
      files.close()
    }
  }
}
