// The beginning of a transcript says whose it may be: in which folder it was begun, and when. It never changes, so that it
// is read once for all who look.

import { agentNamed } from '../../transcripts/agents.ts'
import { Reading } from '../../transcripts/reading.ts'
import type { SessionFile } from '../../transcripts/index.ts'
import { count, emptyTally } from '../../transcripts/tally.ts'

export interface Head {
  readonly cwd: string | undefined
  /** In milliseconds. */
  readonly begun: number
  readonly isSubagent: boolean
}

const most = 256 << 10
const remembered = 20_000
const heads = new Map<string, Head>()

export function headOf(file: SessionFile): Head {
  const key = keyOf(file)
  const known = heads.get(key)
  if (known !== undefined) return known
  const agent = agentNamed(file.agent)
  const tally = emptyTally()
  const reading = new Reading(agent, file, undefined, most)
  try {
    for (const { facts } of reading.steps()) {
      for (const fact of facts) count(tally, fact)
      if (tally.cwd !== undefined && tally.first !== undefined) break
    }
  } finally {
    reading.close()
  }
  const cwd = tally.cwd ?? agent.hints?.(file).cwd
  const begun = Date.parse(tally.first ?? '') || file.changed
  const head = { cwd, begun, isSubagent: tally.kind === 'subagent' || file.parent !== undefined }
  // One that is only being begun may say more the next time.
  if (tally.first !== undefined && cwd !== undefined) {
    if (heads.size >= remembered) heads.delete(heads.keys().next().value!)
    heads.set(key, head)
  }
  return head
}

/** A session is a file, or a row in one. */
export function keyOf({ path, id }: { readonly path: string; readonly id: string }): string {
  return `${path}#${id}`
}
