// Text that somebody else wrote: agents, tools, users, web pages. It is shown as what it is: markup stays letters, marks that
// would turn or hide other text become visible, colours of terminals are left out, and the length is bounded.

import { Fragment, type ReactNode, useState } from 'react'
import { bytesText } from './numbers.ts'

/** Colours and other attributes of terminals. */
// oxlint-disable-next-line no-control-regex
const attributes = /\u001B\[[\d;:]*m/g
/** Control characters, marks of direction, and characters without a width. Joiners within emoji and scripts stay. */
const hidden =
  // oxlint-disable-next-line no-control-regex
  /[\0-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF\u{E0000}-\u{E007F}]/u

export interface TextProps {
  readonly children: string
  /** How many characters are shown. */
  readonly max?: number
  readonly className?: string
}

/** A short text in a line. */
export function Text({ children, max = 2_000, className }: TextProps) {
  const cut = children.length > max
  return (
    <bdi className={className === undefined ? 'text' : `text ${className}`}>
      {visible(cut ? children.slice(0, max) : children)}
      {cut && '…'}
    </bdi>
  )
}

const firstCharacters = 4_000
const mostCharacters = 400_000

interface TextBlockProps extends TextProps {
  readonly mono?: boolean
  /** What stands between backticks is code. */
  readonly hasCode?: boolean
}

/** A longer text, with its lines. Only its beginning is drawn until more is asked for. */
export function TextBlock({ children, mono = false, hasCode = false, max = firstCharacters }: TextBlockProps) {
  const [shown, setShown] = useState(max)
  const rest = children.length - shown
  const text = rest > 0 ? children.slice(0, shown) : children
  return (
    <div className="text-block">
      <div className={mono ? 'text-lines mono' : 'text-lines'} dir="auto">
        {hasCode ? withCode(text) : visible(text)}
      </div>
      {rest > 0 && (
        <p className="text-more">
          {shown < mostCharacters ? (
            <button type="button" className="button" onClick={() => setShown(Math.min(shown * 10, mostCharacters))}>
              Show more
            </button>
          ) : (
            'Too long to show whole.'
          )}{' '}
          <span className="muted">{bytesText(rest)} not shown</span>
        </p>
      )}
    </div>
  )
}

function withCode(text: string): ReactNode {
  return text.split(/(`[^`\n]+`)/).map((part, at) => {
    if (at % 2 === 0) return <Fragment key={at}>{visible(part)}</Fragment>
    return (
      <code key={at} className="text-code">
        {visible(part.slice(1, -1))}
      </code>
    )
  })
}

/** The text with its hidden characters made visible. */
function visible(text: string): ReactNode {
  const plain = text.includes('\u001B') ? text.replaceAll(attributes, '') : text
  const clean = plain.includes('\r') ? plain.replaceAll(/\r+\n/g, '\n') : plain
  if (!hidden.test(clean)) return clean
  const parts: ReactNode[] = []
  let from = 0
  let at = 0
  for (const character of clean) {
    if (hidden.test(character)) {
      if (at > from) parts.push(<Fragment key={from}>{clean.slice(from, at)}</Fragment>)
      parts.push(<Mark key={`m${at}`} code={character.codePointAt(0)!} />)
      from = at + character.length
    }
    at += character.length
  }
  parts.push(<Fragment key={from}>{clean.slice(from)}</Fragment>)
  return parts
}

function Mark({ code }: { code: number }) {
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  // The pictures of control characters.
  const picture = code < 0x20 ? String.fromCodePoint(0x2400 + code) : code === 0x7f ? '␡' : name
  return (
    <span className="text-mark" title={name}>
      {picture}
    </span>
  )
}
