// What a document is measured against: the end of the conversation, and the best that anybody could write who knows the
// truth, each within the same budget.

import type { Entry } from '../../src/store/index.ts'
import type { CountTokens } from '../../src/tape/tokens.ts'
import { bareCommand, type Fact, type Reading, readMarkdown, tells } from './facts.ts'
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

const titles = { request: 'Goal', next: 'Next Steps', constraint: 'Constraints & Preferences', failure: 'Open Failures' }
const order = ['request', 'next', 'constraint', 'failure', 'todo', 'file', 'decision'] as const

/** Facts by priority, one short line each, under short headings; files of a folder share a line. */
export function oracle(truth: Truth, facts: readonly Fact[], budget: number, count: CountTokens): string {
  let best = ''
  const kept: Fact[] = []
  // What was read as fitting needs no second look: a first guess by halving, then one by one.
  let low = 0
  let high = facts.length
  const ordered = order.flatMap((kind) => facts.filter((fact) => fact.kind === kind))
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (count(written(ordered.slice(0, middle), truth)) <= budget) low = middle
    else high = middle - 1
  }
  kept.push(...ordered.slice(0, low))
  best = written(kept, truth)
  let misses = 0
  for (const fact of ordered.slice(low)) {
    const tried = written([...kept, fact], truth)
    if (count(tried) <= budget) {
      kept.push(fact)
      best = tried
    } else if (++misses > 20) break
  }
  return best
}

function written(facts: readonly Fact[], truth: Truth): string {
  const lines: string[] = []
  for (const kind of order) {
    const own = facts.filter((fact) => fact.kind === kind)
    if (own.length === 0) continue
    if (kind === 'file') lines.push('## Files', ...fileLines(own.map(({ change }) => change!)))
    else if (kind === 'failure') lines.push('## Open Failures', ...own.map(({ needles }) => `- ${bareCommand(needles[0]!)}`))
    else lines.push(`## ${kind in titles ? titles[kind as keyof typeof titles] : kind === 'todo' ? 'Pending' : 'Decisions'}`)
    if (kind === 'file' || kind === 'failure') continue
    // A todo that is the next step has been said.
    const said = readMarkdown(lines.join('\n'))
    lines.push(...own.filter((fact) => kind === 'next' || !tells(said, fact, truth)).map(({ needles }) => needles.join('; ')))
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

export type { Reading }
