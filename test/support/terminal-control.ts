// What a tmux client in control mode hears: blocks that answer commands, in order, and the output of the pane.

export class ControlReader {
  readonly #onOutput: (bytes: Uint8Array) => void
  readonly #asked: { resolve: (lines: string[]) => void; reject: (error: Error) => void }[] = []
  #rest = ''
  #block: string[] | undefined

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
    const end = this.#block === undefined ? null : /^%(end|error) \d+ \d+ (\d+)$/.exec(line)
    if (end !== null) return this.#end(end[1] === 'error', end[2] === '1')
    if (this.#block !== undefined) this.#block.push(Buffer.from(line, 'latin1').toString('utf8'))
    else if (line.startsWith('%begin ')) this.#block = []
    else if (line.startsWith('%output ')) this.#onOutput(unescaped(line.slice(line.indexOf(' ', 8) + 1)))
  }

  #end(failed: boolean, asked: boolean): void {
    const lines = this.#block!
    this.#block = undefined
    // Other blocks answer the commands that the client was started with.
    const waiting = asked ? this.#asked.shift() : undefined
    if (failed) waiting?.reject(new Error(`tmux: ${lines.join('\n')}`))
    else waiting?.resolve(lines)
  }
}

/** Control characters and the backslash come as three octal digits. */
function unescaped(text: string): Uint8Array {
  return Buffer.from(
    text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    'latin1',
  )
}
