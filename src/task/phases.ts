// Which phase may follow which. A declared graph, with staying where one is always allowed.

import { InvalidError } from '../errors.ts'
import type { Phase } from './schema.ts'

export type PhaseGraph = Readonly<Record<Phase, readonly Phase[]>>

/** Forwards one step at a time, and back to where a fault is mended. */
export const defaultGraph: PhaseGraph = {
  planning: ['implementing'],
  implementing: ['testing', 'planning'],
  testing: ['reviewing', 'implementing'],
  reviewing: ['completed', 'implementing', 'testing'],
  completed: [],
}

export function checkTransition(graph: PhaseGraph, from: Phase, to: Phase): void {
  if (from === to || graph[from].includes(to)) return
  const allowed = graph[from].length === 0 ? `${from} is final` : `${from} leads to ${graph[from].join(' or ')}`
  throw new InvalidError(`A task cannot go from ${from} to ${to}: ${allowed}`, {
    path: 'phase',
    hint: 'Other ways can be declared in baton.config.json, under task.phases.',
  })
}
