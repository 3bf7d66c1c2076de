// Which tape came from which: forks, handoffs, imports and continuations as a graph, newest families first.

import { useMemo, useState } from 'react'
import { PageFrame, Panel } from '../../parts/page.tsx'
import { type AnswerOf, useOperation } from '../../data/queries.ts'
import { useTitles } from '../../data/titles.ts'
import { Graph, type GraphBox, type GraphLine } from '../../parts/graph.tsx'
import { countText } from '../../parts/numbers.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { Link, setQuery, tapeAddress, usePlace } from '../../shell/router.tsx'

type Edge = AnswerOf<'lineageShow'>['edges'][number]

export default function Lineage() {
  const lineage = useOperation('lineageShow', {})
  return (
    <PageFrame title="Lineage" about="Where each tape came from, and what became of it.">
      <Answer query={lineage}>
        {({ edges, lost }) => (
          <>
            {lost > 0 && (
              <p className="panel panel-body" role="alert">
                {countText(lost)} entries of the lineage were lost to damage: more tapes may be related.
              </p>
            )}
            {edges.length === 0 ? (
              <Panel>
                <Empty icon="lineage" title="No tape came from another yet">
                  Forks, handoffs, imports and continuations appear here.
                </Empty>
              </Panel>
            ) : (
              <Families edges={edges} />
            )}
          </>
        )}
      </Answer>
    </PageFrame>
  )
}

function Families({ edges }: { edges: readonly Edge[] }) {
  const titleOf = useTitles()
  const { query } = usePlace()
  const wanted = query.get('find') ?? ''
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set())
  const { boxes, lines, hits } = useMemo(() => layOut(edges, folded, wanted, titleOf), [edges, folded, wanted, titleOf])
  const toggle = (tape: string) => {
    const next = new Set(folded)
    if (!next.delete(tape)) next.add(tape)
    setFolded(next)
  }
  const drawn: GraphBox[] = boxes.map(({ tape, column, row, hidden, children, date, isHit, imported }) => ({
    id: tape,
    column,
    row,
    isMarked: isHit,
    content: (
      <>
        <Link className="cut" to={tapeAddress(tape)}>
          <Text max={80}>{titleOf(tape)}</Text>
        </Link>
        <span className="row tiny muted">
          <Ago date={date} />
          {imported && <span>imported</span>}
          {children > 0 && (
            <button type="button" className="lineage-fold" aria-expanded={hidden === 0} onClick={() => toggle(tape)}>
              {hidden === 0 ? 'fold' : `${countText(hidden)} folded`}
            </button>
          )}
        </span>
      </>
    ),
  }))
  return (
    <Panel label="Graph">
      <div className="panel-head">
        <label className="row small">
          <span className="muted">Find</span>
          <input
            className="input"
            type="search"
            placeholder="Name of a tape"
            value={wanted}
            onChange={({ target }) => setQuery({ find: target.value })}
          />
        </label>
        <span className="muted small number">
          {wanted === '' ? `${countText(boxes.length)} tapes` : `${countText(hits)} found`}
        </span>
      </div>
      <Graph key={wanted} boxes={drawn} lines={lines} label="Lineage of the tapes" />
    </Panel>
  )
}

interface Placed {
  readonly tape: string
  readonly column: number
  readonly row: number
  readonly date: string
  readonly children: number
  /** How many tapes below it are not drawn. */
  readonly hidden: number
  readonly isHit: boolean
  /** From the files of another agent. */
  readonly imported: boolean
}

/** Parents left of their children; each leaf has a row of its own. */
function layOut(all: readonly Edge[], folded: ReadonlySet<string>, wanted: string, titleOf: (tape: string) => string) {
  // An import has no tape as its parent but a file: that is said in the box.
  const edges = all.filter(({ how }) => how !== 'import')
  const imported = new Set(all.filter(({ how }) => how === 'import').map(({ child }) => child))
  const children = new Map<string, Edge[]>()
  const parents = new Map<string, Edge>()
  const dates = new Map<string, string>()
  for (const edge of edges) {
    if (edge.how === 'merge') continue
    children.set(edge.parent, [...(children.get(edge.parent) ?? []), edge])
    if (!parents.has(edge.child)) parents.set(edge.child, edge)
    dates.set(edge.child, edge.date)
    if (!dates.has(edge.parent)) dates.set(edge.parent, edge.date)
  }
  for (const { how, child, date } of all) if (how === 'import' && !dates.has(child)) dates.set(child, date)
  const word = wanted.toLowerCase()
  const isHit = (tape: string) => word !== '' && `${tape} ${titleOf(tape)}`.toLowerCase().includes(word)
  const below = (tape: string, seen: Set<string>): number => {
    let count = 0
    for (const { child } of children.get(tape) ?? []) {
      if (seen.has(child)) continue
      seen.add(child)
      count += 1 + below(child, seen)
    }
    return count
  }
  const holdsHit = (tape: string, seen: Set<string>): boolean =>
    isHit(tape) ||
    (children.get(tape) ?? []).some(({ child }) => !seen.has(child) && seen.add(child) && holdsHit(child, seen))
  const roots = [...dates.keys()]
    .filter((tape) => !parents.has(tape))
    .filter((root) => word === '' || holdsHit(root, new Set([root])))
    .toSorted((a, b) => dates.get(b)!.localeCompare(dates.get(a)!))
  const boxes: Placed[] = []
  const drawn = new Set<string>()
  let row = 0
  const place = (tape: string, column: number): void => {
    if (drawn.has(tape)) return
    drawn.add(tape)
    // With a search, only the ways to what was found are drawn.
    const own = (children.get(tape) ?? []).filter(
      ({ child }) => word === '' || isHit(tape) || holdsHit(child, new Set([child])),
    )
    const first = row
    const isFolded = folded.has(tape) && own.length > 0
    if (!isFolded) for (const { child } of own) place(child, column + 1)
    if (row === first) row += 1
    boxes.push({
      tape,
      column,
      row: first,
      date: dates.get(tape)!,
      children: own.length,
      hidden: isFolded ? below(tape, new Set([tape])) : 0,
      isHit: isHit(tape),
      imported: imported.has(tape),
    })
  }
  for (const root of roots) place(root, 0)
  const lines: GraphLine[] = edges
    .filter(({ parent, child }) => drawn.has(parent) && drawn.has(child))
    .map(({ parent, child, how, anchor }) => ({
      from: parent,
      to: child,
      label: anchor === undefined ? how : `${how} at ${anchor.length > 24 ? `${anchor.slice(0, 24)}…` : anchor}`,
    }))
  return { boxes, lines: unique(lines), hits: boxes.filter((box) => box.isHit).length }
}

function unique(lines: readonly GraphLine[]): GraphLine[] {
  return [...new Map(lines.map((line) => [`${line.from}\n${line.to}`, line])).values()]
}
