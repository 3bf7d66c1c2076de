// Follows what a pane shows, for people who look from elsewhere. It only looks: nothing is typed, resized or brought to the front.

import { pause } from '../../system/index.ts'
import { type StyledText, styledRows } from './picture.ts'
import { TmuxLine } from './tmux-line.ts'
import { TmuxError, TmuxServer } from './tmux-server.ts'

/** What a pane shows at one moment. */
export interface PanePicture {
  readonly columns: number
  readonly rows: readonly (readonly StyledText[])[]
  /** Counted from the upper left, from 0; missing where it is hidden. */
  readonly cursor?: { readonly column: number; readonly row: number }
  readonly title: string
}

/** Twenty pictures a second are as many as people tell apart. */
const betweenMs = 50
/** How often it is looked at where nothing tells that something was drawn, and where something does. */
const pollMs = 500
const atMost = 2_000

/** A picture at once, and another whenever it has changed. Ends with the signal, and when the pane is gone. */
export async function* watchPane(
  { socket, pane }: { readonly socket: string; readonly pane: string },
  signal: AbortSignal,
): AsyncGenerator<PanePicture> {
  const line = new TmuxLine(new TmuxServer(socket), pane)
  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  let last = ''
  try {
    while (!signal.aborted) {
      await line.open()
      // Taken before looking, so that what is drawn meanwhile counts.
      const news = line.drawn(atMost, pollMs)
      const told = await capture(line, pane)
      if (told === undefined) return
      if (told !== last) yield pictureOf(told)
      last = told
      await Promise.race([news, aborted])
      await pause(betweenMs, signal)
    }
  } finally {
    line.close()
  }
}

async function capture(line: TmuxLine, pane: string): Promise<string | undefined> {
  const format = '#{pane_width} #{cursor_x} #{cursor_y} #{cursor_flag} #{pane_title}'
  try {
    return await line.all([
      ['display-message', '-p', '-t', pane, format],
      ['capture-pane', '-p', '-e', '-N', '-t', pane],
    ])
  } catch (error) {
    if (error instanceof TmuxError && error.gone) return undefined
    throw error
  }
}

function pictureOf(told: string): PanePicture {
  const end = told.indexOf('\n')
  const [columns, column, row, isShown, ...title] = told.slice(0, end).split(' ')
  const rows = styledRows(told.slice(end + 1).replace(/\n$/, '')).map(withoutBlankEnd)
  const cursor = isShown === '1' ? { cursor: { column: Number(column), row: Number(row) } } : {}
  return { columns: Number(columns), rows, ...cursor, title: title.join(' ') }
}

/** Blanks at the end of a row count only where they are drawn in a colour of their own. */
function withoutBlankEnd(runs: readonly StyledText[]): readonly StyledText[] {
  const last = runs.at(-1)
  if (last === undefined || last.style.background !== undefined || last.style.inverse === true) return runs
  const text = last.text.trimEnd()
  if (text === last.text) return runs
  const rest = runs.slice(0, -1)
  return text === '' ? withoutBlankEnd(rest) : [...rest, { ...last, text }]
}
