// When the limit of a plan ends, from the message that Claude Code shows: "You've hit your limit · resets 8:54pm (UTC)", or the
// older "Claude AI usage limit reached|1760000000".

import { limitEnd } from '../limit-end.ts'

export function limitIn(words: string, at: string | undefined): { until?: string } | undefined {
  const stamped = /limit reached\|(\d{9,11})/.exec(words)?.[1]
  if (stamped !== undefined) return { until: new Date(Number(stamped) * 1000).toISOString() }
  if (!/\blimit\b/i.test(words)) return undefined
  const until = limitEnd(words, at)
  return until === undefined ? {} : { until }
}
