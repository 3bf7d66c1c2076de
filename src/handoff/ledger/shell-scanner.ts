// The words of a shell script: quotes, variables, redirections and here-documents. It never throws: what it cannot read
// becomes a word without a value.

/** A word is made of text and variables; anything else that the shell would fill in makes it opaque. */
export interface Word {
  readonly parts: readonly (string | { readonly name: string })[]
  readonly opaque: boolean
  /** Has an unquoted `*`, `?`, `[` or `{`. */
  readonly glob: boolean
}

export interface Redirect {
  readonly op: '<' | '>' | '>>' | '<<' | '<<<' | '>&' | '<&'
  readonly target: Word
  /** Of a here-document. */
  readonly body?: string
}

export interface Assign {
  readonly name: string
  readonly value: Word
}

const nothing: Word = { parts: [], opaque: false, glob: false }

export class ShellScanner {
  protected at = 0
  protected readonly text: string
  private readonly heredocs: { delimiter: string; dashed: boolean; redirect: { body?: string } }[] = []
  private peekedAt = -1
  private peeked = ''

  constructor(text: string) {
    this.text = text
  }

  protected assign(): Assign | undefined {
    ASSIGN.lastIndex = this.at
    const match = ASSIGN.exec(this.text)
    if (!match?.[1]) return undefined
    this.at += match[0].length
    if (this.text[this.at] === '(') {
      const end = this.text.indexOf(')', this.at)
      this.at = end < 0 ? this.text.length : end + 1
      return { name: match[1], value: { parts: [], opaque: true, glob: false } }
    }
    const value = this.word() ?? nothing
    return { name: match[1], value: match[0].includes('+') ? { ...value, opaque: true } : value }
  }

  protected redirect(): Redirect | undefined {
    const first = this.text.charCodeAt(this.at)
    if (!(first < 128) || KIND[first] !== STARTS_REDIRECT) return undefined
    REDIRECT.lastIndex = this.at
    const match = REDIRECT.exec(this.text)
    if (!match?.[1]) return undefined
    // `<(…)` and `>(…)` are words.
    if ((match[1] === '<' || match[1] === '>') && this.text[this.at + match[0].length] === '(') return undefined
    this.at += match[0].length
    this.skipBlank(false)
    const token = match[1]
    if (token === '<<' || token === '<<-') {
      const from = this.at
      const target = this.word() ?? nothing
      const redirect: { op: '<<'; target: Word; body?: string } = { op: '<<', target }
      const delimiter = target.parts.map((part) => (typeof part === 'string' ? part : `$${part.name}`)).join('')
      if (this.at > from) this.heredocs.push({ delimiter, dashed: token === '<<-', redirect })
      return redirect
    }
    const target = this.word() ?? nothing
    if (token === '>|' || token === '&>' || token === '<>') return { op: '>', target }
    if (token === '&>>') return { op: '>>', target }
    return { op: token as Redirect['op'], target }
  }

  protected accept(word: string): void {
    this.skipBlank(true)
    if (this.text.startsWith(word, this.at)) this.at += word.length
  }

  /** The raw word that comes next, for keywords; nothing is consumed. */
  protected peekWord(): string {
    if (this.peekedAt === this.at) return this.peeked
    const char = this.text[this.at] ?? ''
    KEYWORD.lastIndex = this.at
    this.peekedAt = this.at
    this.peeked = char === '(' || char === ')' ? char : (KEYWORD.exec(this.text)?.[0] ?? '')
    return this.peeked
  }
  /** Blanks, comments, escaped line ends, and with `lines` also line ends, behind which here-documents stand. */
  protected skipBlank(lines: boolean): void {
    for (;;) {
      const char = this.text[this.at]
      if (char === ' ' || char === '\t' || char === '\r') this.at += 1
      else if (char === '\\' && this.text[this.at + 1] === '\n') this.at += 2
      else if (char === '#' && (this.at === 0 || /[\s;&|()]/.test(this.text[this.at - 1] ?? ''))) {
        const end = this.text.indexOf('\n', this.at)
        this.at = end < 0 ? this.text.length : end
      } else if (char === '\n' && (lines || this.heredocs.length > 0)) {
        this.at += 1
        const before = this.heredocs.length
        this.bodies()
        if (before > 0 && !lines) {
          // The line end also ends the command; stay in front of one.
          if (this.text[this.at - 1] === '\n') this.at -= 1
          return
        }
      } else return
    }
  }

  private bodies(): void {
    for (const { delimiter, dashed, redirect } of this.heredocs.splice(0)) {
      const start = this.at
      for (;;) {
        const lineEnd = this.text.indexOf('\n', this.at)
        const end = lineEnd < 0 ? this.text.length : lineEnd
        const line = this.text.slice(this.at, end)
        if ((dashed ? line.replace(/^\t+/, '') : line) === delimiter) {
          redirect.body = this.text.slice(start, this.at)
          this.at = lineEnd < 0 ? end : end + 1
          break
        }
        if (lineEnd < 0) {
          redirect.body = this.text.slice(start)
          this.at = end
          break
        }
        this.at = end + 1
      }
    }
  }

  protected word(): Word | undefined {
    const parts: (string | { name: string })[] = []
    let literal = ''
    let opaque = false
    let glob = false
    const start = this.at
    const text = this.text
    while (this.at < text.length) {
      let end = this.at
      while (end < text.length && isPlain(text.charCodeAt(end))) end += 1
      if (end > this.at) {
        literal += text.slice(this.at, end)
        this.at = end
        continue
      }
      const char = text[this.at]
      if (char === "'") {
        const end = text.indexOf("'", this.at + 1)
        literal += text.slice(this.at + 1, end < 0 ? text.length : end)
        this.at = end < 0 ? text.length : end + 1
      } else if (char === '"') {
        this.at += 1
        for (;;) {
          QUOTED.lastIndex = this.at
          const run = QUOTED.exec(text)?.[0]
          if (run) {
            literal += run
            this.at += run.length
          }
          const inside = text[this.at]
          if (inside === undefined) break
          if (inside === '"') {
            this.at += 1
            break
          }
          if (inside === '\\') {
            const escaped = text[this.at + 1] ?? ''
            if (escaped !== '\n') literal += '$`"\\'.includes(escaped) ? escaped : `\\${escaped}`
            this.at += 2
          } else {
            const name = this.expansion()
            if (name === undefined) opaque = true
            else {
              parts.push(literal, { name })
              literal = ''
            }
          }
        }
      } else if (char === '\\') {
        if (text[this.at + 1] !== '\n') literal += text[this.at + 1] ?? ''
        this.at += 2
      } else if (char === '$' && text[this.at + 1] === "'") {
        const end = closingQuote(text, this.at + 2)
        literal += unescapeAnsi(text.slice(this.at + 2, end))
        this.at = end + 1
      } else if (char === '$' || char === '`') {
        const name = this.expansion()
        if (name === undefined) opaque = true
        else {
          parts.push(literal, { name })
          literal = ''
        }
      } else if ((char === '<' || char === '>') && text[this.at + 1] === '(') {
        this.at += 1
        this.skipParens()
        opaque = true
      } else if (char === '*' || char === '?' || char === '[' || char === '{' || char === '}') {
        if (char !== '}') glob = true
        literal += char
        this.at += 1
      } else break
    }
    if (this.at === start) return undefined
    if (this.at > text.length) this.at = text.length
    parts.push(literal)
    return { parts, opaque, glob: glob && !(parts.length === 1 && literal === '{') }
  }

  /** Reads what `$` or a backquote begins; the name of a plain variable, undefined for anything else. */
  private expansion(): string | undefined {
    if (this.text[this.at] === '`') {
      const end = this.text.indexOf('`', this.at + 1)
      this.at = end < 0 ? this.text.length : end + 1
      return undefined
    }
    this.at += 1
    const char = this.text[this.at]
    if (char === '(') {
      this.skipParens()
      return undefined
    }
    if (char === '{') {
      const end = this.text.indexOf('}', this.at)
      const inner = this.text.slice(this.at + 1, end < 0 ? this.text.length : end)
      this.at = end < 0 ? this.text.length : end + 1
      return /^\w+$/.test(inner) ? inner : undefined
    }
    NAME.lastIndex = this.at
    const name = NAME.exec(this.text)?.[0]
    if (name) {
      this.at += name.length
      return name
    }
    if (char !== undefined && '?$!#@*-0123456789'.includes(char)) this.at += 1
    return undefined
  }

  /** A here-document inside `$(…)`, as in `git commit -m "$(cat <<'EOF' …`: its text may hold any quote or bracket. */
  private skipHeredoc(): void {
    HEREDOC.lastIndex = this.at
    const match = HEREDOC.exec(this.text)
    if (!match) {
      this.at += 1
      return
    }
    for (let start = this.at + match[0].length; start < this.text.length;) {
      const lineEnd = this.text.indexOf('\n', start)
      const end = lineEnd < 0 ? this.text.length : lineEnd
      if (this.text.slice(start, end).trim() === match[2]) {
        this.at = end - 1
        return
      }
      start = end + 1
    }
    this.at = this.text.length
  }

  /** Steps over a balanced `(…)`, minding quotes. */
  private skipParens(): void {
    let depth = 0
    while (this.at < this.text.length) {
      const char = this.text[this.at]
      if (char === '(') depth += 1
      else if (char === ')') depth -= 1
      else if (char === '\\') this.at += 1
      else if (char === '<' && this.text[this.at + 1] === '<') this.skipHeredoc()
      else if (char === "'" || char === '"') {
        const end = char === "'" ? this.text.indexOf("'", this.at + 1) : closingQuote(this.text, this.at + 1, '"')
        this.at = end < 0 ? this.text.length : end
      }
      this.at += 1
      if (depth === 0) return
    }
  }
}

const HEREDOC = /<<-?\s*(['"]?)([\w.-]+)\1[^\n]*\n/y
const ASSIGN = /([A-Za-z_]\w*)(?:\[[^\]\n]*\])?\+?=/y
const REDIRECT = /(?:\d+|\{\w+\})?(<<<|<<-?|&>>|&>|>>|>&|>\||<&|<>|<|>)/y
const KEYWORD = /[^\s;&|()<>"'$`\\]+/y
const QUOTED = /[^"\\$`]+/y
const NAME = /[A-Za-z_]\w*/y

/** Letters of a word that mean themselves, and those that may begin a redirection. */
const PLAIN = 1
const STARTS_REDIRECT = 2
const KIND = new Uint8Array(128).fill(PLAIN)
for (const char of ' \t\n\r\v\f;|()"\'$`\\*?[}') KIND[char.charCodeAt(0)] = 0
for (const char of '<>&{0123456789') KIND[char.charCodeAt(0)] = STARTS_REDIRECT

function isPlain(code: number): boolean {
  // Digits are plain inside a word; wide blanks are not worth a thought.
  return code > 127 || KIND[code] === PLAIN || (code >= 48 && code <= 57)
}

function closingQuote(text: string, from: number, quote = "'"): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1
    else if (text[at] === quote) return at
  }
  return text.length
}

function unescapeAnsi(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, char: string) => ({ n: '\n', t: '\t', r: '\r' })[char] ?? char)
}

export function textOf(word: Word | undefined): string | undefined {
  return word && !word.opaque && word.parts.every((part) => typeof part === 'string') ? word.parts.join('') : undefined
}
