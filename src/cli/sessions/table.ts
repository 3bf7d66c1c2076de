// Sessions as rows for people: as many columns as the terminal has room for.

import path from 'node:path'
import type { Meter, Session, State } from '../../transcripts/index.ts'
import { age, brief, type Output, width } from '../base/output.ts'

export interface Shape {
  /** The width of the terminal. */
  readonly columns: number
  readonly now: number
}

interface Column {
  readonly title: string
  readonly cell: (session: Session) => string
  /** The same in fewer characters, for a narrow terminal. */
  readonly short?: (session: Session) => string
  readonly style?: (session: Session) => Parameters<Output['style']>[0] | undefined
  readonly right?: boolean
  /** Where there is no room, the column with the lowest rank is left out first. */
  readonly rank: number
}

const titleWidth = 16

/** Below so many columns, cells are shortened before columns are left out. */
const narrow = 100

export function sessionRows(sessions: readonly Session[], out: Output, shape: Shape): string[] {
  const ids = shortIds(sessions.map((session) => session.id))
  const projects = projectNames(sessions)
  const all: Column[] = [
    { title: 'SESSION', cell: (session) => ids.get(session.id)!, rank: 9 },
    { title: 'AGENT', cell: (session) => session.agent, rank: 7 },
    {
      title: 'PROJECT',
      cell: (session) => cut(projects.get(session.cwd ?? '') ?? '', 20),
      short: (session) => cut(projects.get(session.cwd ?? '') ?? '', 14),
      rank: 7,
    },
    { title: 'BRANCH', cell: (session) => cut(branchOf(session), 16), rank: 1 },
    { title: 'TITLE', cell: (session) => session.unread ?? session.title ?? '', rank: 8 },
    {
      title: 'STATE',
      cell: (session) => stateText(session.state, shape.now),
      short: ({ state }) => stateName(state),
      style: ({ state }) => stateStyles[stateName(state)],
      rank: 8,
    },
    {
      title: 'CONTEXT',
      cell: ({ meter }) => gauge(meter),
      short: ({ meter }) => shareOf(meter),
      style: ({ meter }) => gaugeStyle(meter),
      rank: 8,
    },
    { title: 'LEFT', cell: ({ meter }) => turnsText(meter), rank: 0, right: true },
    { title: 'QUOTA', cell: ({ meter }) => quotaText(meter), rank: 2 },
    { title: 'COST', cell: ({ meter }) => costText(meter), rank: 3, right: true },
    { title: 'AGE', cell: (session) => age(session.updated, shape.now), rank: 6, right: true },
  ]
  const isNarrow = shape.columns < narrow
  const shown = isNarrow ? all.map((column) => ({ ...column, cell: column.short ?? column.cell })) : all
  const filled = shown.flatMap((column) => fill(column, sessions))
  return layOut(fitted(filled, shape.columns), sessions, out, shape.columns)
}

/** Measures each cell once, for there may be thousands. An empty column is left out. */
function fill(column: Column, sessions: readonly Session[]): Filled[] {
  const cells: string[] = []
  const widths: number[] = []
  let widest = 0
  for (const session of sessions) {
    const cell = column.cell(session)
    const taken = cell === '' ? 0 : widthOf(cell)
    if (taken > widest) widest = taken
    cells.push(cell)
    widths.push(taken)
  }
  if (column.title === 'TITLE') return [{ ...column, cells, widths, width: titleWidth }]
  return widest === 0 ? [] : [{ ...column, cells, widths, width: Math.max(widest, column.title.length) }]
}

interface Filled extends Column {
  readonly cells: readonly string[]
  /** The width of each cell. */
  readonly widths: readonly number[]
  readonly width: number
}

/** Drops columns until the title has room. */
function fitted(columns: readonly Filled[], room: number): readonly Filled[] {
  const needed = columns.reduce((sum, { width }) => sum + width + 2, -2)
  if (needed <= room || columns.length <= 3) return columns
  const least = columns.reduce((low, column) => (column.rank < low.rank ? column : low))
  return fitted(
    columns.filter((column) => column !== least),
    room,
  )
}

function layOut(columns: readonly Filled[], sessions: readonly Session[], out: Output, room: number): string[] {
  const taken = columns.reduce((sum, { width }) => sum + width + 2, -2)
  const spare = Math.max(0, Math.min(room - taken, 60))
  const rooms = columns.map(({ title, width }) => (title === 'TITLE' ? width + spare : width))
  const head = columns.map(({ title, right }, i) => pad(title, title.length, rooms[i]!, right)).join('  ')
  const lines = [out.style('dim', head.trimEnd())]
  for (const [row, session] of sessions.entries()) {
    let text = ''
    for (let i = 0; i < columns.length; i++) {
      const { cells, widths, style, right } = columns[i]!
      const cell = pad(cells[row]!, widths[row]!, rooms[i]!, right)
      const named = style?.(session)
      text += (i === 0 ? '' : '  ') + (named === undefined ? cell : out.style(named, cell))
    }
    lines.push(text.trimEnd())
  }
  return lines
}

function pad(text: string, taken: number, room: number, right: boolean | undefined): string {
  // The common case: each character takes one column.
  if (taken === text.length && taken <= room) return right ? text.padStart(room) : text.padEnd(room)
  const short = cut(text, room)
  const space = ' '.repeat(Math.max(0, room - widthOf(short)))
  return right ? space + short : short + space
}

/** Most cells hold only characters of one column, so that they need not be measured one by one. */
const plain = /^[ -~▰▱…]*$/

function widthOf(text: string): number {
  return plain.test(text) ? text.length : width(text)
}

function cut(text: string, columns: number): string {
  if (!plain.test(text)) return width(text) > columns ? brief(text, columns) : text
  return text.length > columns ? `${text.slice(0, columns - 1)}…` : text
}

/** Maps each id to its shortest unique beginning, of eight characters at least. */
export function shortIds(ids: readonly string[]): Map<string, string> {
  const sorted = [...new Set(ids)].sort()
  const shared = (a: string, b = '') => {
    let n = 0
    while (n < a.length && a[n] === b[n]) n++
    return n
  }
  return new Map(
    sorted.map((id, i) => {
      const length = Math.max(shared(id, sorted[i - 1]), shared(id, sorted[i + 1])) + 1
      return [id, id.slice(0, Math.max(8, length))]
    }),
  )
}

/** Names each folder by its last part, and by its last two where two folders share the last. */
function projectNames(sessions: readonly Session[]): Map<string, string> {
  const folders = [...new Set(sessions.flatMap(({ cwd }) => (cwd === undefined ? [] : [cwd])))]
  const times = new Map<string, number>()
  for (const folder of folders) times.set(path.basename(folder), (times.get(path.basename(folder)) ?? 0) + 1)
  return new Map(
    folders.map((folder) => {
      const name = path.basename(folder)
      return [folder, times.get(name)! > 1 ? path.join(path.basename(path.dirname(folder)), name) : name || '/']
    }),
  )
}

function branchOf({ branch }: Session): string {
  return branch === undefined || branch === 'HEAD' ? '' : branch
}

const stateStyles = { working: 'green', waiting: 'yellow', idle: 'yellow', limited: 'red', ended: 'dim' } as const

/** Where nothing says that the agent still runs, it waits for nobody. */
function stateName(state: State): keyof typeof stateStyles {
  return state.state === 'waiting' && state.guessed === true ? 'idle' : state.state
}

function stateText(state: State, now: number): string {
  if (state.state !== 'limited') return stateName(state) === 'waiting' ? 'waiting for you' : stateName(state)
  return state.until === undefined ? 'limited' : `limited until ${clock(state.until, now)}`
}

/** The time of day, with the day if that is not today's, and the date if it is longer ago. */
export function clock(date: string, now: number): string {
  const when = new Date(date)
  const time = `${String(when.getHours()).padStart(2, '0')}:${String(when.getMinutes()).padStart(2, '0')}`
  if (when.toDateString() === new Date(now).toDateString()) return time
  if (now - when.getTime() > 6 * 86_400_000) {
    const day = [when.getFullYear(), when.getMonth() + 1, when.getDate()].map((part) => String(part).padStart(2, '0'))
    return `${day.join('-')} ${time}`
  }
  return `${when.toLocaleDateString('en-US', { weekday: 'short' })} ${time}`
}

const cells = 8

export function gauge({ tokens, percent }: Meter): string {
  if (tokens === undefined) return '?'
  if (percent === undefined) return thousands(tokens)
  const shown = Math.round(percent)
  const known = gauges.get(shown)
  if (known !== undefined) return known
  const full = Math.min(cells, Math.round((percent / 100) * cells))
  const drawn = `${'▰'.repeat(full)}${'▱'.repeat(cells - full)} ${`${shown}%`.padStart(4)}`
  gauges.set(shown, drawn)
  return drawn
}

/** Gauges by percent: a list of thousands draws the same few. */
const gauges = new Map<number, string>()

/** How full the context is, without the drawing. */
function shareOf({ tokens, percent }: Meter): string {
  if (tokens === undefined) return '?'
  return percent === undefined ? thousands(tokens) : `${Math.round(percent)}%`
}

function gaugeStyle({ percent }: Meter): 'dim' | 'green' | 'yellow' | 'red' {
  if (percent === undefined) return 'dim'
  return percent >= 85 ? 'red' : percent >= 60 ? 'yellow' : 'green'
}

export function thousands(tokens: number): string {
  if (tokens < 1_000) return String(tokens)
  return tokens < 999_500 ? `${(tokens / 1_000).toFixed(tokens < 9_950 ? 1 : 0)}k` : `${(tokens / 1e6).toFixed(1)}M`
}

function turnsText({ turnsLeft }: Meter): string {
  return turnsLeft === undefined || turnsLeft > 99 ? '' : `~${turnsLeft} turn${turnsLeft === 1 ? '' : 's'}`
}

function quotaText({ quotas }: Meter): string {
  return quotas.map((quota) => `${spanOf(quota)} ${Math.round(quota.usedPercent)}%`).join(' ')
}

function spanOf({ name, windowMinutes }: Meter['quotas'][number]): string {
  if (windowMinutes === undefined) return name
  return windowMinutes % 1_440 === 0 ? `${windowMinutes / 1_440}d` : `${Math.round(windowMinutes / 60)}h`
}

export function costText({ cost }: Meter): string {
  if (cost === undefined) return ''
  const digits = cost.usd >= 100 ? 0 : 2
  return `${cost.lacks === undefined ? '' : '>'}$${cost.usd.toFixed(digits)}`
}
