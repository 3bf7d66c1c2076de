// What a document is measured against: the end of the conversation, and the best that anybody could write who knows the
// truth, each within the same budget.

import type { Entry } from '../../src/store/index.ts'
import type { CountTokens } from '../../src/tape/tokens.ts'
import { bareCommand, type Fact, type Kind, plain } from './facts.ts'
import type { Change, Truth } from './session.ts'

/** The last messages as text, the oldest of them cut. */
export function lastMessages(entries: readonly Entry[], budget: number, count: CountTokens): string {
  const kept: string[] = []
  let left = budget
  for (let at = entries.length - 1; at >= 0 && left > 0; at--) {
    const text = `${entries[at]!.kind}: ${JSON.stringify(entries[at]!.payload)}\n`
    const tokens = count(text)
    kept.push(tokens <= left ? text : text.slice(-Math.floor((text.length * left) / tokens)))
    left -= tokens
  }
  return kept.reverse().join('')
}

const order: readonly Kind[] = ['request', 'next', 'constraint', 'failure', 'todo', 'file', 'decision']

/** What any document of this kind must have, whatever it tells. */
const head = `# Session handoff (verified unless marked claimed)
Created: 2026-01-01T12:00:00.000Z | Context Usage: unknown | Project: shop | Tape: main | Look up: baton show main#1..999`
const frame: readonly (readonly [title: string, kind?: Kind])[] = [
  ['## Goal', 'request'],
  ['## Constraints & Preferences', 'constraint'],
  ['## Progress'],
  ['### Done'],
  ['### In Progress'],
  ['### Pending', 'todo'],
  ['## Key Decisions', 'decision'],
  ['## Critical Context'],
  ['## Next Steps', 'next'],
  ['## Open Failures', 'failure'],
  ['## Files', 'file'],
]

/**
 * As many facts as fit, by priority: the bare words, a line each, files of a folder on one line. With `framed`, by the rules
 * of a document: under the headings that it must have, the user's words marked as such, and what was left out counted.
 */
export function oracle(
  truth: Truth,
  facts: readonly Fact[],
  budget: number,
  count: CountTokens,
  framed = true,
): string {
  const ordered = order.flatMap((kind) => facts.filter((fact) => fact.kind === kind))
  const kept: Fact[] = []
  let best = written([], facts, truth, framed)
  let misses = 0
  for (const fact of ordered) {
    const tried = written([...kept, fact], facts, truth, framed)
    if (count(tried) <= budget) {
      kept.push(fact)
      best = tried
      // Later ones may be shorter.
    } else if (++misses > 20) break
  }
  return best
}

function written(kept: readonly Fact[], facts: readonly Fact[], truth: Truth, framed: boolean): string {
  const next = plain(truth.next[0] ?? '')
  const done = truth.todos.filter(({ status }) => status === 'completed').length
  const lines = framed ? [head] : []
  for (const [title, kind] of frame) {
    const own = kept.filter((fact) => fact.kind === kind)
    const mark = framed && (kind === 'request' || kind === 'constraint') ? '> User: ' : ''
    if (own.length > 0 || framed) lines.push(title)
    if (kind === 'file') lines.push(...fileLines(own.map(({ change }) => change!)))
    else if (kind === 'failure') lines.push(...own.map(({ needles }) => `- ${bareCommand(needles[0]!)}`))
    // A todo that is the next step is said there.
    else {
      const texts = own.map(({ needles }) => (kind === 'next' ? needles[0]! : needles.join('; ')))
      lines.push(...texts.filter((text) => kind !== 'todo' || plain(text) !== next).map((text) => mark + text))
    }
    const left = title.endsWith('Done') ? done : facts.filter((fact) => fact.kind === kind).length - own.length
    if (framed && left > 0) lines.push(`- … and ${left} more`)
  }
  return lines.join('\n')
}

function fileLines(changes: readonly Change[]): string[] {
  const groups = new Map<string, string[]>()
  for (const { path, action, from } of changes) {
    const cut = /[\s"]/.test(path) ? 0 : path.lastIndexOf('/') + 1
    const key = `${action} ${cut === 0 ? '' : `${path.slice(0, cut)}: `}`
    const name = /[\s"]/.test(path) ? JSON.stringify(path) : path.slice(cut)
    groups.set(key, [...(groups.get(key) ?? []), from === undefined ? name : `${from} → ${name}`])
  }
  return [...groups].map(([key, names]) => `- ${key}${names.join(', ')}`)
}
