// From a method and a path to the route that serves it.

import { HttpError } from './problem.ts'

interface Node<T> {
  readonly fixed: Map<string, Node<T>>
  /** For a segment that can be anything. */
  any: Node<T> | undefined
  /** Method: what serves it, and the names of the segments that can be anything, in their order. */
  readonly routes: Map<string, { readonly route: T; readonly names: readonly string[] }>
}

export interface Matched<T> {
  readonly route: T
  /** The variable segments by name; throws where they are not well-formed. */
  readonly params: () => Readonly<Record<string, string>>
}

export class Router<T> {
  readonly #root: Node<T> = node()

  /** `path` has the names of its variable segments in braces. */
  add(method: string, path: string, route: T): void {
    const names: string[] = []
    let at = this.#root
    for (const segment of path.split('/').slice(1)) {
      if (segment.startsWith('{')) {
        names.push(segment.slice(1, -1))
        at = at.any ??= node()
      } else {
        const next = at.fixed.get(segment) ?? node()
        at.fixed.set(segment, next)
        at = next
      }
    }
    at.routes.set(method, { route, names })
  }

  /** Undefined where nothing is served at that path by that method. */
  match(method: string, path: string): Matched<T> | undefined {
    const values: string[] = []
    const found = this.#find(path, values)?.routes.get(method)
    if (found === undefined) return undefined
    const { route, names } = found
    let params: Record<string, string> | undefined
    return { route, params: () => (params ??= Object.fromEntries(names.map((name, i) => [name, decoded(values[i]!)]))) }
  }

  /** The methods that are served at a path. */
  methods(path: string): string[] {
    return [...(this.#find(path, [])?.routes.keys() ?? [])]
  }

  #find(path: string, values: string[]): Node<T> | undefined {
    let at: Node<T> | undefined = this.#root
    for (const segment of path.split('/').slice(1)) {
      const fixed: Node<T> | undefined = at.fixed.get(segment)
      if (fixed === undefined) {
        if (segment === '') return undefined
        values.push(segment)
      }
      at = fixed ?? at.any
      if (at === undefined) return undefined
    }
    return at
  }
}

function node<T>(): Node<T> {
  return { fixed: new Map(), any: undefined, routes: new Map() }
}

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new HttpError('invalid', 'The address is not well-formed', { hint: 'Percent-encode names as UTF-8.' })
  }
}
