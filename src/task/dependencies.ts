// Dependencies between tasks. They may name tasks that do not exist yet, so that a plan can be entered in any order; a circle is
// refused when its last dependency is added.

import { InvalidError } from '../errors.ts'
import type { TaskState } from './schema.ts'

/** Task: the tasks that must be completed before it. */
export type Graph = ReadonlyMap<string, readonly string[]>

export function checkAcyclic(graph: Graph, added: string): void {
  const circle = circleThrough(graph, added)
  if (circle === undefined) return
  throw new InvalidError(`The dependencies of ${added} form a circle: ${circle.join(' → ')}`, {
    path: 'spec.dependencies',
    hint: 'No task of a circle could ever start.',
  })
}

/** A path from a task back to itself, both ends included. */
function circleThrough(graph: Graph, start: string): string[] | undefined {
  const seen = new Set<string>()
  const way: string[] = []
  const visit = (task: string): boolean => {
    way.push(task)
    for (const next of graph.get(task) ?? []) {
      if (next === start) return way.push(start) > 0
      if (!seen.has(next)) {
        seen.add(next)
        if (visit(next)) return true
      }
    }
    way.pop()
    return false
  }
  return visit(start) ? way : undefined
}

export interface Readiness {
  readonly ready: readonly TaskState[]
  readonly waiting: readonly { readonly task: TaskState; readonly on: readonly string[] }[]
}

/** The open tasks: those whose dependencies are all completed, and those that wait. */
export function readiness(tasks: readonly TaskState[]): Readiness {
  const done = new Set(tasks.filter(({ phase }) => phase === 'completed').map(({ task_id }) => task_id))
  const ready: TaskState[] = []
  const waiting: { task: TaskState; on: string[] }[] = []
  for (const task of tasks) {
    if (task.phase === 'completed') continue
    const on = (task.spec?.dependencies ?? []).filter((each) => !done.has(each))
    if (on.length === 0) ready.push(task)
    else waiting.push({ task, on })
  }
  return { ready, waiting }
}
