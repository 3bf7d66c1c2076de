// Which tapes a process has open: those at work, and the idle ones used most recently. A process may have few descriptors (256 by
// default on macOS) and a workspace many tapes.

const mostDescriptors = 144
/** How many tapes may be written at the same time. */
const mostAtWork = 32
/** What a tape that is written takes: the tape, its lock, and the tape again for reading. */
export const writerDescriptors = 3
export const readerDescriptors = 1

export interface OpenFiles {
  readonly descriptors: number
  /** Closes the files; they are opened again when needed. */
  close(): void
}

export class FileLimit {
  /** Least recently used first. */
  readonly #idle = new Set<OpenFiles>()
  #idleDescriptors = 0
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
    this.#add(files)
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
    this.forget(files)
    this.#add(files)
    this.#trim()
  }

  forget(files: OpenFiles): void {
    if (this.#idle.delete(files)) this.#idleDescriptors -= files.descriptors
  }

  #add(files: OpenFiles): void {
    if (!this.#idle.has(files)) this.#idleDescriptors += files.descriptors
    this.#idle.add(files)
  }

  #start(files: OpenFiles): void {
    this.forget(files)
    this.#trim()
  }

  #trim(): void {
    for (const files of this.#idle) {
      if (this.#idleDescriptors + this.#atWork * writerDescriptors <= mostDescriptors) return
      this.forget(files)
      files.close()
    }
  }
}
