// How a session's context and cost went over time: the meter after each reply, and where the context was emptied.

import { agentNamed, type Fact, type SessionFile } from '../agents/index.ts'
import type { Models } from '../config/index.ts'
import { meterOf } from './meter.ts'
import { addFact, emptyStats } from './session-stats.ts'
import { TranscriptReader } from './transcript-reader.ts'

export interface MeterPoint {
  readonly date: string
  /** How large the context is; missing while nobody knows. */
  readonly tokens?: number | undefined
  readonly window?: number | undefined
  /** What it has cost so far. */
  readonly usd?: number | undefined
  /** What emptied the context here. */
  readonly event?: 'compacted' | 'cleared' | 'rewound' | 'cycle' | undefined
}

/** How much of a transcript is read before others have their turn. */
const pieceBytes = 1024 * 1024

export async function meterHistory(file: SessionFile, models: Models = {}): Promise<MeterPoint[]> {
  const reader = new TranscriptReader(agentNamed(file.agent), file)
  const stats = emptyStats()
  const points: MeterPoint[] = []
  let reply: string | undefined
  let bytes = 0
  try {
    for (const step of reader.steps()) {
      for (const fact of step.facts) {
        addFact(stats, fact)
        if (!isMetered(fact) || fact.date === undefined) continue
        // Agents report the usage of a reply again when they know more.
        if (fact.type === 'used' && fact.reply !== undefined && fact.reply === reply) points.pop()
        reply = fact.type === 'used' ? fact.reply : undefined
        const { tokens, window, cost } = meterOf(file.agent, stats, models)
        const event = fact.type === 'used' ? undefined : fact.type
        points.push({ date: fact.date, tokens, window, usd: cost?.usd, event })
      }
      bytes += step.bytes
      if (bytes < pieceBytes) continue
      bytes = 0
      await new Promise((resolve) => setImmediate(resolve))
    }
  } finally {
    reader.close()
  }
  return points
}

function isMetered(fact: Fact): fact is Extract<Fact, { type: 'used' | 'compacted' | 'cleared' | 'rewound' }> {
  if (fact.type === 'used') return fact.aside !== true
  return fact.type === 'compacted' || fact.type === 'cleared' || fact.type === 'rewound'
}
