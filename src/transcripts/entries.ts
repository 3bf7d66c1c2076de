// A session's entries as an import would write them, without a tape: for whoever only wants to look.

import type { Entry } from '../store/index.ts'
import type { SessionFile } from './agent.ts'
import { agentNamed } from './agents.ts'
import type { Fact } from './fact.ts'
import { Reading } from './reading.ts'
import { Scribe } from './scribe.ts'

export interface EntriesOptions {
  /** Only what came at that date or later. */
  readonly since?: string | undefined
  /** Sees every fact, whenever it was. */
  readonly onFact?: (fact: Fact) => void
}

export function* sessionEntries(file: SessionFile, { since, onFact }: EntriesOptions = {}): Generator<Entry> {
  const reading = new Reading(agentNamed(file.agent), file)
  const scribe = new Scribe(1)
  let date = new Date(file.changed).toISOString()
  try {
    for (const { facts } of reading.steps()) {
      for (const fact of facts) {
        onFact?.(fact)
        const first = scribe.next
        for (const [i, draft] of [...scribe.drafts(fact)].entries()) {
          date = draft.date ?? date
          if (
            since === undefined ||
            Date.parse(date) >= Date.parse(since) ||
            draft.payload === undefined ||
            isPlace(draft.payload)
          )
            yield { ...draft, id: first + i, meta: draft.meta ?? {}, date }
        }
      }
    }
  } finally {
    reading.close()
  }
}

/** Where the session works is worth knowing whenever it was said. */
function isPlace(payload: unknown): boolean {
  return (payload as { name?: unknown }).name === 'session'
}
