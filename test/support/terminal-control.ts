// What a tmux client in control mode hears: blocks that answer commands, in order, and the output of the pane.

export class ControlReader {
  readonly #onOutput: (bytes: Uint8Array) => void
  readonly #asked: { resolve: (lines: string[]) => void; reject: (error: Error) => void }[] = []
  #rest = ''
  #block: string[] | undefined
  /** The first block answers the command that started the client. */
  #greeted = false

  constructor(onOutput: (bytes: Uint8Array) => void) {
    this.#onOutput = onOutput
  }

  /** The answer to the command that is sent next. */
  answer(): Promise<string[]> {
    return new Promise((resolve, reject) => this.#asked.push({ resolve, reject }))
  }

  read(chunk: Buffer): void {
    // Bytes as characters: a character may be cut between two pieces.
    const lines = (this.#rest + chunk.toString('latin1')).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#line(line)
  }

  #line(line: string): void {
    if (this.#block !== undefined && /^%(end|error) \d+ \d+ \d+$/.test(line))
      return this.#end(line.startsWith('%error'))
    if (this.#block !== undefined) this.#block.push(Buffer.from(line, 'latin1').toString('utf8'))
    else if (line.startsWith('%begin ')) this.#block = []
    else if (line.startsWith('%output ')) this.#onOutput(unescaped(line.slice(line.indexOf(' ', 8) + 1)))
  }

  #end(failed: boolean): void {
    const lines = this.#block!
    this.#block = undefined
    if (!this.#greeted) {
      this.#greeted = true
      return
    }
    const asked = this.#asked.shift()
    if (failed) asked?.reject(new Error(`tmux: ${lines.join('\n')}`))
    else asked?.resolve(lines)
  }
}

/** Control characters and the backslash come as three octal digits. */
function unescaped(text: string): Uint8Array {
  return Buffer.from(
    text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    'latin1',
  )
}
