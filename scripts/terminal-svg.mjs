// Pictures of a terminal as one SVG: frames lie below each other, and the view jumps from one to the next. A line that appears in many
// frames is drawn once.

const cell = { width: 8.43, height: 18 }
const margin = 14
const background = '#11151c'
const foreground = '#d5dbe5'
const palette = ['#3b4252', '#f2777a', '#8fc98f', '#e6c07b', '#7aa9e6', '#c58fe0', '#6cc5c9', '#d5dbe5']
const bright = ['#6b7689', '#ff9a9c', '#b1e2b1', '#ffdb9c', '#a3c7f7', '#dcb1f0', '#93dee1', '#ffffff']

/**
 * @param {{ lines: string[], ms: number }[]} frames lines with their SGR escapes, and how long the frame stays
 * @param {{ columns: number, rows: number }} size
 */
export function animation(frames, { columns, rows }) {
  const width = Math.ceil(columns * cell.width + 2 * margin)
  const height = rows * cell.height + 2 * margin
  /** @type {Map<string, number>} */
  const known = new Map()
  const pictures = frames.map(({ lines }, at) => {
    const drawn = lines.slice(0, rows).flatMap((line, row) => {
      if (line.trim() === '') return []
      const id = known.get(line) ?? known.size
      known.set(line, id)
      return [`<use href="#l${id}" y="${(row + 1) * cell.height - 4}"/>`]
    })
    return `<g transform="translate(0 ${at * height})">${drawn.join('')}</g>`
  })
  const total = frames.reduce((sum, { ms }) => sum + ms, 0)
  let passed = 0
  const steps = frames.map(({ ms }, at) => {
    const share = ((passed / total) * 100).toFixed(3)
    passed += ms
    return `${share}%{transform:translateY(${-at * height}px)}`
  })
  const definitions = [...known].map(([line, id]) => `<text id="l${id}" x="${margin}">${spans(line)}</text>`)
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    '<title>Baton in a terminal: the sessions of this machine, a handoff document, and a supervised agent that hands over to itself</title>',
    `<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:${foreground};white-space:pre}`,
    `.play{animation:play ${(total / 1000).toFixed(2)}s steps(1,end) infinite}`,
    `@keyframes play{${steps.join('')}}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${background}"/>`,
    `<defs>${definitions.join('\n')}</defs>`,
    `<svg y="${margin}" width="${width}" height="${height - 2 * margin}"><g class="play">`,
    ...pictures,
    '</g></svg></svg>',
  ].join('\n')}\n`
}

/** The parts of a line, each where its first column is. @param {string} line */
function spans(line) {
  /** @type {string[]} */
  const parts = []
  let column = 0
  let style = ''
  // oxlint-disable-next-line no-control-regex -- escapes are what it reads
  for (const piece of line.split(/(\x1b\[[0-9;]*m)/)) {
    // oxlint-disable-next-line no-control-regex -- escapes are what it reads
    const codes = /^\x1b\[([0-9;]*)m$/.exec(piece)
    if (codes !== null) style = styleOf(codes[1] ?? '', style)
    else if (piece !== '') {
      const x = (margin + column * cell.width).toFixed(1)
      if (piece.trim() !== '') parts.push(`<tspan x="${x}"${style}>${escaped(piece)}</tspan>`)
      column += Array.from(piece).length
    }
  }
  return parts.join('')
}

/** @param {string} codes @param {string} before */
function styleOf(codes, before) {
  let style = before
  for (const code of codes.split(';').map(Number)) {
    if (code === 0) style = ''
    else if (code === 1) style += ' font-weight="700"'
    else if (code === 2) style += ' opacity="0.6"'
    else if (code >= 30 && code <= 37) style = coloured(style, palette[code - 30])
    else if (code >= 90 && code <= 97) style = coloured(style, bright[code - 90])
    else if (code === 39) style = coloured(style, undefined)
    else if (code === 22) style = style.replaceAll(/ (?:font-weight|opacity)="[^"]*"/g, '')
  }
  return style
}

/** @param {string} style @param {string | undefined} colour */
function coloured(style, colour) {
  const without = style.replaceAll(/ fill="[^"]*"/g, '')
  return colour === undefined ? without : `${without} fill="${colour}"`
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll(' ', '\u00a0')
}
