// Which tape came from which. Edges are events on the lineage tape; ancestors and trees are computed from them.

import { type Entry, isLost, lineageTape, type Store } from '../../store/index.ts'

export type How = 'fork' | 'merge' | 'handoff' | 'import' | 'continue'

export interface Edge {
  /** A tape, or for an import the outside source. */
  readonly parent: string
  readonly child: string
  readonly how: How
  readonly anchor?: string
  /** The file with the document that the child was started with. */
  readonly document?: string
  readonly date: string
}

/** Records an edge; an equal one that is there already is not recorded again. */
export async function recordEdge(store: Store, edge: Omit<Edge, 'date'>): Promise<void> {
  const key = `${edge.how}:${edge.child}`
  const data = { ...edge }
  const idempotency = `${key}<${edge.parent}@${edge.anchor ?? ''}`
  await store.append(lineageTape, [
    { kind: 'event', payload: { name: 'lineage', data }, meta: { key, idempotency, context: false } },
  ])
}

/** A document that a command was printed for: whoever is started with it came from the tape. No tape came of it yet. */
export type GivenDocument = Required<Pick<Edge, 'parent' | 'anchor' | 'document'>>

const given = (document: string) => `given:${document}`

export async function recordGiven(store: Store, data: GivenDocument): Promise<void> {
  const key = given(data.document)
  const meta = { key, idempotency: `${key}<${data.parent}@${data.anchor}`, context: false }
  await store.append(lineageTape, [{ kind: 'event', payload: { name: 'given', data }, meta }])
}

/** The document for which a command was printed, and the tape that it belongs to. */
export async function givenDocument(store: Store, document: string): Promise<GivenDocument | undefined> {
  const entry = await store.latest(lineageTape, given(document))
  return entry && (entry.payload as { data: GivenDocument }).data
}

/** The newest edge of that kind which leads to the tape. */
export async function edgeTo(store: Store, child: string, how: How): Promise<Edge | undefined> {
  const entry = await store.latest(lineageTape, `${how}:${child}`)
  return entry && asEdge(entry)
}

/** Every edge, oldest first. Each one that was lost with a damaged entry is reported to `onLost`. */
export async function readEdges(store: Store, onLost: () => void = () => {}): Promise<Edge[]> {
  const edges: Edge[] = []
  for await (const entry of store.read(lineageTape, { kinds: ['event', 'error'], archived: true })) {
    if (isLost(entry)) onLost()
    const edge = asEdge(entry)
    if (edge !== undefined) edges.push(edge)
  }
  return edges
}

function asEdge(entry: Entry): Edge | undefined {
  const { name, data } = entry.payload as { name?: string; data: Omit<Edge, 'date'> }
  return name === 'lineage' ? { ...data, date: entry.date } : undefined
}

/** A merge leads back to where its child came from: it does not make the parent a descendant. */
function descends(edge: Edge): boolean {
  return edge.how !== 'merge'
}

/** The tapes that this one came from, nearest first. */
export function ancestors(edges: readonly Edge[], tape: string): string[] {
  return reach(tape, (at) => edges.filter((edge) => descends(edge) && edge.child === at).map((edge) => edge.parent))
}

/** The tapes that came from this one, nearest first. */
export function descendants(edges: readonly Edge[], tape: string): string[] {
  return reach(tape, (at) => edges.filter((edge) => descends(edge) && edge.parent === at).map((edge) => edge.child))
}

function reach(start: string, next: (at: string) => string[]): string[] {
  const seen = new Set([start])
  const found: string[] = []
  for (let row = [start]; row.length > 0;) {
    row = row.flatMap(next).filter((each) => !seen.has(each) && seen.add(each))
    found.push(...row)
  }
  return found
}

/** The edges of the family that a tape belongs to. */
export function familyOf(edges: readonly Edge[], tape: string): Edge[] {
  const up = [tape, ...ancestors(edges, tape)]
  const family = new Set(up.flatMap((each) => [each, ...descendants(edges, each)]))
  return edges.filter((edge) => family.has(edge.child) && family.has(edge.parent))
}
