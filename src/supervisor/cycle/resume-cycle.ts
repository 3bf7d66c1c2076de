// Takes up a cycle that an earlier supervisor left unfinished.

import { restAfter } from './cycle.ts'
import type { Cycle, Prompt, StepResult } from './cycle-state.ts'
import { again } from './prompt-delivery.ts'

/**
 * The state as a new supervisor takes it up. What was under way may or may not have been done: a prompt is looked for before
 * it is typed again; a clear, a snapshot and a document can be repeated without harm.
 */
export function resumeCycle(cycle: Cycle, now: number): StepResult {
  const unsure = (prompt: Prompt): Prompt =>
    prompt.state === 'typing' ? { ...prompt, state: 'typed', at: now } : prompt
  switch (cycle.at) {
    case 'watching': {
      const { say } = cycle
      return waiting(say === undefined ? cycle : { ...cycle, say: unsure(say) }, 'the threshold', now)
    }
    case 'asked': {
      const { storing: _storing, ...rest } = cycle
      return waiting({ ...rest, since: now, prompt: unsure(cycle.prompt) }, 'the document', now)
    }
    case 'documented': {
      const { storing: _storing, ...rest } = cycle
      if (cycle.snapshot) return waiting({ ...rest, since: now }, 'a chance to clear', now)
      return { cycle: { ...rest, since: now }, effects: [{ do: 'snapshot' }] }
    }
    case 'clearing':
      return waiting({ ...cycle, state: 'refused', since: now }, 'a fresh context', now + again)
    case 'resuming':
      return waiting({ ...cycle, since: now, prompt: unsure(cycle.prompt) }, 'a fresh context', now)
    case 'verifying':
      return waiting({ ...cycle, since: now }, 'it to read the document', now)
    case 'done':
    case 'failed':
      return waiting(restAfter(cycle), 'the threshold', now)
  }
}

function waiting(cycle: Cycle, what: string, until: number): StepResult {
  return { cycle, effects: [], waits: { for: what, until } }
}
