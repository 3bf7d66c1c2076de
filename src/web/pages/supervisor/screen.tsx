// The screen of an agent, live and read-only: lines of text with the styles of the terminal. Typing is for `baton attach`.

import { useEffect, useState } from 'react'
import { Panel } from '../../parts/page.tsx'
import { client, problemText } from '../../data/queries.ts'
import { Loading } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'

type Screens = ReturnType<typeof client.supervisedScreen>
type Picture = Screens extends AsyncIterable<infer P> ? P : never
type Style = Picture['rows'][number][number]['style']

/** Tells each picture, and why no more come. */
async function follow(name: string, signal: AbortSignal, tell: (shown?: Picture, wrong?: string) => void) {
  try {
    for await (const shown of client.supervisedScreen({ name }, { signal })) tell(shown)
  } catch (error) {
    if (signal.aborted) return
    const { what, hint } = problemText(error)
    tell(undefined, hint === undefined ? what : `${what}. ${hint}`)
  }
}

export function Screen({ name, isOver }: { name: string; isOver: boolean }) {
  const [picture, setPicture] = useState<Picture>()
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    if (isOver) return undefined
    const gone = new AbortController()
    void follow(name, gone.signal, (shown, wrong) => {
      if (shown !== undefined) setPicture(shown)
      setProblem(wrong)
    })
    return () => gone.abort()
  }, [name, isOver])
  return (
    <Panel
      title="Screen"
      aside={<span className="muted small">{picture !== undefined && <Text max={100}>{picture.title}</Text>}</span>}
      className="supervisor-screen"
    >
      {picture !== undefined ? (
        // A region that scrolls has to be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <pre className="supervisor-picture" tabIndex={0} aria-label="What the agent shows">
          {picture.rows.map((spans, at) => (
            <span key={at} className="supervisor-row">
              {spans.map(({ text, style }, place) => (
                <span key={place} className={classOf(style)} style={coloursOf(style)}>
                  <Text max={1_000}>{text}</Text>
                </span>
              ))}
              {'\n'}
            </span>
          ))}
        </pre>
      ) : (
        <div className="panel-body muted">
          {isOver ? 'The agent is not running.' : problem === undefined ? <Loading rows={6} /> : <Text>{problem}</Text>}
        </div>
      )}
    </Panel>
  )
}

function classOf(style: Style): string {
  const on = (['bold', 'faint', 'italic', 'underline', 'strike'] as const).filter((name) => style[name] === true)
  return on.map((name) => `cell-${name}`).join(' ')
}

function coloursOf({ color, background, inverse }: Style): { color?: string; backgroundColor?: string } {
  const [ink, ground] = inverse === true ? [background ?? 'ground', color ?? 'ink'] : [color, background]
  return {
    ...(ink === undefined ? {} : { color: cssColour(ink) }),
    ...(ground === undefined ? {} : { backgroundColor: cssColour(ground) }),
  }
}

const sixteen = [
  '#1d2326',
  '#e06c6c',
  '#7fc98f',
  '#d9b76a',
  '#6ea8e6',
  '#c08be0',
  '#5cc4c4',
  '#d5dadc',
  '#5c676d',
  '#ff8a80',
  '#9be0a8',
  '#f0d28a',
  '#90c1ff',
  '#d7adf2',
  '#86e0e0',
  '#ffffff',
]

/** The usual palette of 256: sixteen names, a cube of colours, a ramp of greys. */
function cssColour(color: number | string): string {
  if (color === 'ink') return '#e9edee'
  if (color === 'ground') return '#0c0f10'
  if (typeof color === 'string') return /^#[\da-f]{6}$/i.test(color) ? color : 'inherit'
  if (color < 16) return sixteen[color] ?? 'inherit'
  if (color > 231) {
    const grey = 8 + (color - 232) * 10
    return `rgb(${grey} ${grey} ${grey})`
  }
  const level = (part: number) => (part === 0 ? 0 : 55 + part * 40)
  const at = color - 16
  return `rgb(${level(Math.floor(at / 36))} ${level(Math.floor(at / 6) % 6)} ${level(at % 6)})`
}
