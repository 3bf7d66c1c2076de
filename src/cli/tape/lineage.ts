// `baton lineage`: draws which tape came from which.

import { lineageShow } from '../../operations/index.ts'
import type { Edge } from '../../tape/index.ts'
import { age, count, type Globals } from '../base/output.ts'
import { withWorkspace } from '../base/workspace.ts'

interface LineageOptions extends Globals {
  format: 'tree' | 'mermaid'
}

export async function lineage(options: LineageOptions, tape?: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const { edges, lost } = await run(lineageShow, { tape })
    if (lost > 0) {
      out.warn(
        `baton: ${count(lost)} ${lost === 1 ? 'entry' : 'entries'} of the lineage was lost to damage, so more tapes may be related`,
      )
    }
    if (out.json) for (const edge of edges) out.data(edge)
    else if (options.format === 'mermaid') out.line(mermaid(edges))
    else if (edges.length > 0) for (const line of tree(edges)) out.line(line)
    else
      out.note(
        tape === undefined ? 'No tape came from another yet.' : `${tape} came from no other tape, and none from it.`,
      )
  })
}

/** Draws one line per tape, children below their parent. A merge is a remark on the line of its child. */
export function tree(edges: readonly Edge[]): string[] {
  const lines: string[] = []
  const drawn = new Set<string>()
  const merges = edges.filter((edge) => edge.how === 'merge')
  const descent = edges.filter((edge) => edge.how !== 'merge')
  const draw = (tape: string, edge: Edge | undefined, indent: string, branch: string) => {
    const from =
      edge === undefined
        ? ''
        : `  ${edge.how}${edge.anchor === undefined ? '' : ` at ${edge.anchor}`}, ${age(edge.date)}`
    const back = merges.filter((each) => each.parent === tape).map((each) => `, merged into ${each.child}`)
    const again = drawn.has(tape) ? ' (see above)' : ''
    lines.push(`${indent}${branch}${tape}${from}${[...new Set(back)].join('')}${again}`)
    if (drawn.has(tape)) return
    drawn.add(tape)
    const children = descent.filter((each) => each.parent === tape)
    const below = branch === '' ? indent : indent + (branch === '└─ ' ? '   ' : '│  ')
    children.forEach((each, i) => draw(each.child, each, below, i === children.length - 1 ? '└─ ' : '├─ '))
  }
  const isChild = new Set(descent.map((edge) => edge.child))
  const tapes = new Set(edges.flatMap((edge) => [edge.parent, edge.child]))
  for (const tape of tapes) if (!isChild.has(tape)) draw(tape, undefined, '', '')
  for (const tape of tapes) if (!drawn.has(tape)) draw(tape, undefined, '', '')
  return lines
}

export function mermaid(edges: readonly Edge[]): string {
  const names = new Map<string, string>()
  const node = (tape: string) => {
    const known = names.get(tape)
    if (known !== undefined) return known
    const id = `t${names.size + 1}`
    names.set(tape, id)
    return `${id}["${tape.replaceAll('"', '#quot;')}"]`
  }
  const lines = edges.map((edge) => {
    const label = edge.anchor === undefined ? edge.how : `${edge.how} ${edge.anchor}`
    const arrow = edge.how === 'merge' ? '-.->' : '-->'
    return `  ${node(edge.parent)} ${arrow}|"${label.replaceAll('"', '#quot;')}"| ${node(edge.child)}`
  })
  return ['graph TD', ...lines].join('\n')
}
