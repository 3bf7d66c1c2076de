// A session as each agent leaves it on a tape: its names of tools and arguments, and what its tools answer.

import type { Entry } from '../../src/store/index.ts'
import { type Dialect, speak, Writer } from './dialect.ts'
import { baton } from './dialects/baton.ts'
import { claude } from './dialects/claude.ts'
import { codex } from './dialects/codex.ts'
import { gemini } from './dialects/gemini.ts'
import { opencode } from './dialects/opencode.ts'
import { pi } from './dialects/pi.ts'
import type { Session } from './session.ts'

const known = { claude, codex, pi, gemini, opencode, baton } satisfies Record<string, Dialect>
export type DialectName = keyof typeof known
export const dialects = Object.keys(known) as DialectName[]

export function asTape(session: Session, dialect: DialectName, variant: number): Entry[] {
  const writer = new Writer(session, variant)
  known[dialect].begin(writer)
  for (const step of session.steps) speak(known[dialect], writer, step)
  // The session ends now: what is on disk was changed while it ran.
  const began = Date.parse(session.started)
  const apart = (Date.now() - began) / writer.entries.length
  return writer.entries.map((entry) => ({ ...entry, date: new Date(began + entry.id * apart).toISOString() }))
}
