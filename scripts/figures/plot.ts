// A table of figures as a picture: horizontal bars, one for each figure, as SVG that reads well on light and dark pages.

export interface Table {
  readonly title: string
  readonly note: string
  readonly columns: readonly string[]
  readonly rows: readonly { name: string; unit: string; values: readonly (number | null | undefined)[] }[]
}

const width = 760
const labels = 290
const barHeight = 14
const step = 18
const figures = 90
const colours = ['#3b82f6', '#f59e0b', '#10b981', '#a855f7', '#ef4444', '#64748b']

/** Undefined for what is no comparison: one figure, or rows in different units. */
export function plot({ title, columns, rows }: Table): string | undefined {
  const units = new Set(rows.map(({ unit }) => unit))
  const values = rows.flatMap((row) => row.values).filter((value) => typeof value === 'number')
  if (units.size !== 1 || values.length < 2 || Math.max(...values) <= 0) return undefined
  const most = Math.max(...values)
  const least = Math.min(...values.filter((value) => value > 0))
  // Where the largest would leave nothing of the smallest, each step of the scale is ten times the one before.
  const isLogarithmic = most / least > 50
  const room = width - labels - figures
  const length = (value: number) => {
    if (value <= 0) return 0
    const share = isLogarithmic ? (Math.log10(value / least) + 0.3) / (Math.log10(most / least) + 0.3) : value / most
    return Math.max(1, Math.round(share * room))
  }
  const body: string[] = []
  let y = 34
  for (const { name, unit, values } of rows) {
    body.push(text(labels - 8, y + barHeight - 3, name.trim(), 'class="name" text-anchor="end"'))
    for (const [i, value] of values.entries()) {
      if (typeof value !== 'number') continue
      const fill = colours[i % colours.length]!
      body.push(`<rect x="${labels}" y="${y}" width="${length(value)}" height="${barHeight}" rx="2" fill="${fill}"/>`)
      body.push(text(labels + length(value) + 5, y + barHeight - 3, figure(value, unit), 'class="value"'))
      y += step
    }
    y += 6
  }
  const legend = columns.length < 2 ? [] : columns.flatMap((column, i) => legendOf(column, i, y + 6))
  const height = y + (legend.length > 0 ? Math.ceil(columns.length / 4) * 18 + 10 : 4)
  const scale = isLogarithmic ? ' (logarithmic scale)' : ''
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    '<style>text{font:12px system-ui,sans-serif;fill:#64748b}.title{font-weight:600;font-size:13px}</style>',
    text(0, 16, `${title}${scale}`, 'class="title"'),
    ...body,
    ...legend,
    '</svg>',
    '',
  ].join('\n')
}

function legendOf(column: string, i: number, top: number): string[] {
  const x = labels + (i % 4) * 115
  const y = top + Math.floor(i / 4) * 18
  return [
    `<rect x="${x}" y="${y}" width="10" height="10" rx="2" fill="${colours[i % colours.length]!}"/>`,
    text(x + 14, y + 9, column, 'class="name"'),
  ]
}

function text(x: number, y: number, words: string, attributes: string): string {
  return `<text x="${x}" y="${y}" ${attributes}>${escaped(words)}</text>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

/** With as many digits as mean something. */
export function figure(value: number | null | undefined, unit: string): string {
  if (typeof value !== 'number') return ''
  if (unit === '×') return `${value.toFixed(2)} ×`
  const digits = value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
  return `${digits} ${unit}`.trim()
}
