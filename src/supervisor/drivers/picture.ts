// The picture that tmux gives of a pane: rows of text with the colours and attributes in which they are drawn.

/** Text that is drawn in one way. What is missing is as the terminal usually has it. */
export interface StyledText {
  readonly text: string
  readonly style: Style
}

interface Style {
  /** A number of the palette of 256, or `#rrggbb`. */
  readonly color?: number | string
  readonly background?: number | string
  readonly bold?: true
  readonly faint?: true
  readonly italic?: true
  readonly underline?: true
  readonly inverse?: true
  readonly strike?: true
}

/** A command for the terminal: the only control characters in a picture begin or end one. */
const escape = /\p{Cc}(?:\[([\d;:]*)([A-Za-z])|\][^\p{Cc}]*\p{Cc}\\?|[()][A-Z0-9]|.)/gu

const toLines = '\u001B(0'
const toLetters = '\u001B(B'

const usual: Style = {}

/** The rows of a picture with escape sequences, as `capture-pane -e` prints it. */
export function styledRows(picture: string): StyledText[][] {
  let style = usual
  let drawing = false
  // tmux shifts to the second set of characters and back; here both are escape sequences like the others.
  const shifted = picture.replaceAll('\u000e', toLines).replaceAll('\u000f', toLetters)
  return shifted.split('\n').map((row) => {
    const runs: StyledText[] = []
    let at = 0
    const take = (until: number) => {
      const text = row.slice(at, until)
      if (text !== '') runs.push({ text: drawing ? lineDrawing(text) : text, style })
    }
    for (const match of row.matchAll(escape)) {
      take(match.index)
      at = match.index + match[0].length
      if (match[2] === 'm') style = changed(style, match[1] ?? '')
      else if (match[0] === toLines) drawing = true
      else if (match[0] === toLetters) drawing = false
    }
    take(row.length)
    return runs
  })
}

const drawn = new Map(
  Object.entries({ j: '┘', k: '┐', l: '┌', m: '└', n: '┼', q: '─', t: '├', u: '┤', v: '┴', w: '┬', x: '│' }),
)

/** The letters that stand for lines and corners in the terminal's second set of characters. */
function lineDrawing(text: string): string {
  return text.replaceAll(/[j-nqt-x]/g, (letter) => drawn.get(letter) ?? letter)
}

type Attribute = 'bold' | 'faint' | 'italic' | 'underline' | 'inverse' | 'strike'

const attributes = new Map<number, Attribute>([
  [1, 'bold'],
  [2, 'faint'],
  [3, 'italic'],
  [4, 'underline'],
  [7, 'inverse'],
  [9, 'strike'],
])

const ends = new Map<number, readonly Attribute[]>([
  [22, ['bold', 'faint']],
  [23, ['italic']],
  [24, ['underline']],
  [27, ['inverse']],
  [29, ['strike']],
])

function changed(before: Style, codes: string): Style {
  let style: { -readonly [K in keyof Style]: Style[K] } = { ...before }
  const list = plain(codes).split(';').map(Number)
  for (let i = 0; i < list.length; i++) {
    const code = list[i]!
    const attribute = attributes.get(code)
    if (code === 0) style = {}
    else if (attribute !== undefined) style[attribute] = true
    else if (code === 38 || code === 48 || code === 58) {
      const isIndex = list[i + 1] === 5
      const value = isIndex ? list[i + 2] : hex(list.slice(i + 2, i + 5))
      i += isIndex ? 2 : 4
      if (code !== 58 && value !== undefined) style[code === 38 ? 'color' : 'background'] = value
    } else if (code >= 30 && code <= 37) style.color = code - 30
    else if (code >= 90 && code <= 97) style.color = code - 82
    else if (code === 39) delete style.color
    else if (code >= 40 && code <= 47) style.background = code - 40
    else if (code >= 100 && code <= 107) style.background = code - 92
    else if (code === 49) delete style.background
    for (const ended of ends.get(code) ?? []) delete style[ended]
  }
  return style
}

/** With semicolons only: kinds of underlines and colours may be written with colons. */
function plain(codes: string): string {
  return codes
    .replaceAll(/(?<![\d:])4:(\d)/g, (_, kind: string) => (kind === '0' ? '24' : '4'))
    .replaceAll(/([345]8):2:(?:\d*:)?(\d+):(\d+):(\d+)/g, '$1;2;$2;$3;$4')
    .replaceAll(':', ';')
}

function hex(parts: readonly number[]): string {
  return `#${parts.map((part) => (part & 255).toString(16).padStart(2, '0')).join('')}`
}
