// An item as lines of Markdown. Whatever a text holds, its lines stay within the item: they are indented or quoted, and
// guarded where they start or end like something of ours. Tool text is code that it cannot close.

import { codeSpan, fenceFor } from '../safety/fence.ts'
import type { Item, SectionKey, Status } from './document.ts'
import { guardEnd, guardStart, refMark } from './marks.ts'

export interface Hoisted {
  /** Said once, in the heading. */
  readonly status: Status | undefined
  readonly refs: boolean
}

/** Starts a heading, a quote, a fence, a checkbox, or the count of what was left out. */
const specialFirst = /^(?:#{1,6}\s|>|```|~~~|\[[ xX]\] |… and \d)/
const specialFile = /^(?:created|edited|renamed|deleted|read) /
const specialLater = /^\s*(?:#{1,6}\s|>|`|~~~|why: |ruled out: )/
const specialQuoted = /^User\b/

export function itemLines(
  item: Item,
  at: { key: SectionKey; number: number; tape: string | undefined; hoisted: Hoisted },
): string {
  const refs = at.hoisted.refs ? '' : refMark(item.refs, at.tape)
  const status = at.hoisted.status === undefined && item.status === 'claimed' ? ' (claimed)' : ''
  const [first = '', ...later] = item.text.split('\n')
  if (item.by === 'user') {
    const lines = later.map((line) => (line === '' ? '>' : `> ${guardStart(line, specialQuoted)}`))
    return [`> User${refs}${status}: ${first}`, ...lines].join('\n')
  }
  const bullet = at.key === 'next' ? `${at.number}. ` : '- '
  const box = item.checked === undefined ? '' : item.checked ? '[x] ' : '[ ] '
  let text = guardStart(first, specialFirst)
  if (text === first && at.key === 'files') text = guardStart(first, specialFile)
  return [
    bullet + box + guardEnd(text) + refs + status,
    ...later.map((line) => `  ${guardStart(line, specialLater)}`),
    ...(item.why === undefined ? [] : [`  why: ${item.why}`]),
    ...(item.ruledOut === undefined ? [] : [`  ruled out: ${item.ruledOut}`]),
    ...(item.data === undefined ? [] : dataLines(item.data)),
  ].join('\n')
}

function dataLines(data: string): string[] {
  if (!data.includes('\n')) return [`  ${codeSpan(data)}`]
  const fence = `  ${fenceFor(data, 3)}`
  return [fence, ...data.split('\n').map((line) => (line === '' ? '' : `  ${line}`)), fence]
}
