// Values as people type them: quotes of either kind, and JSON in which keys and plain words need no quotes, as in
// `{goal: "Build API", tables: 5, next: Routes}`.

import { InvalidError } from '../../errors.ts'
import type { Json } from '../../store/index.ts'

export type { Json }

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }
const plain = /[^\s,:{}[\]"']+/y
const bare = /\S+/y
const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/
const literals = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['null', null],
])
/** Nobody types a state that is nested deeper than this. */
const deepest = 100

export class RelaxedJsonReader {
  at: number
  readonly #text: string

  constructor(text: string, at = 0) {
    this.#text = text
    this.at = at
  }

  get done(): boolean {
    return this.at >= this.#text.length
  }

  skipSpace(): void {
    while (!this.done && /\s/.test(this.#text[this.at]!)) this.at++
  }

  /** Quoted text, or the text up to the next space. */
  word(): string {
    const quoted = this.#isQuote()
    const text = quoted ? this.#quoted() : this.#match(bare)
    if (quoted && !this.done && !/\s/.test(this.#text[this.at]!)) throw this.#wrong('a space after the quote')
    return text
  }

  /** The value behind `key=`. */
  argument(): Json {
    const first = this.#text[this.at]
    if (first !== '{' && first !== '[') return first === undefined || /\s/.test(first) ? '' : this.word()
    const value = this.#value(0)
    if (!this.done && !/\s/.test(this.#text[this.at]!)) throw this.#wrong('a space')
    return value
  }

  #value(depth: number): Json {
    if (depth > deepest) throw this.#wrong('less nesting')
    this.skipSpace()
    if (this.#take('{')) return this.#object(depth)
    if (this.#take('[')) return this.#list(depth)
    if (this.#isQuote()) return this.#quoted()
    const text = this.#match(plain)
    if (number.test(text)) return Number(text)
    return literals.has(text) ? literals.get(text)! : text
  }

  #object(depth: number): Json {
    const found: Record<string, Json> = {}
    while (!this.#closes('}')) {
      const name = this.#isQuote() ? this.#quoted() : this.#match(plain)
      this.skipSpace()
      if (!this.#take(':')) throw this.#wrong(`":" after ${name}`)
      Object.defineProperty(found, name, {
        value: this.#value(depth + 1),
        enumerable: true,
        configurable: true,
        writable: true,
      })
      this.#separates('}')
    }
    return found
  }

  #list(depth: number): Json {
    const found: Json[] = []
    while (!this.#closes(']')) {
      found.push(this.#value(depth + 1))
      this.#separates(']')
    }
    return found
  }

  #closes(bracket: string): boolean {
    this.skipSpace()
    return this.#take(bracket)
  }

  #separates(bracket: string): void {
    this.skipSpace()
    if (!this.#take(',') && this.#text[this.at] !== bracket) throw this.#wrong(`"," or "${bracket}"`)
  }

  #isQuote(): boolean {
    return this.#text[this.at] === '"' || this.#text[this.at] === "'"
  }

  #quoted(): string {
    const start = this.at
    const quote = this.#text[this.at++]
    let text = ''
    for (;;) {
      const character = this.#text[this.at++]
      if (character === undefined) {
        throw new InvalidError(`The quote at character ${start + 1} never ends`, { hint: `Close it with ${quote}` })
      }
      if (character === quote) return text
      text += character === '\\' ? this.#escaped() : character
    }
  }

  /** A backslash that begins no escape is kept, so that patterns need no double backslashes. */
  #escaped(): string {
    const character = this.#text[this.at++]
    if (character === undefined) return '\\'
    if (character === '"' || character === "'" || character === '\\' || character === '/') return character
    const code = character === 'u' ? /^[0-9a-fA-F]{4}/.exec(this.#text.slice(this.at, this.at + 4))?.[0] : undefined
    if (code !== undefined) {
      this.at += 4
      return String.fromCharCode(Number.parseInt(code, 16))
    }
    return escapes[character] ?? `\\${character}`
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.#text)?.[0]
    if (found === undefined) throw this.#wrong('a value')
    this.at += found.length
    return found
  }

  #take(character: string): boolean {
    if (this.#text[this.at] !== character) return false
    this.at++
    return true
  }

  #wrong(expected: string): InvalidError {
    const found = this.done ? 'the end' : `"${this.#text[this.at]}"`
    return new InvalidError(`Expected ${expected} at character ${this.at + 1}, found ${found}`)
  }
}
