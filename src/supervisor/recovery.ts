// What to do about an agent that is no longer there. A crash is repaired; what ended by itself or by a person stays ended.

import type { Ending } from './driver.ts'
import type { Ended } from './run.ts'
import type { SupervisorSettings } from './settings.ts'

export type Recovery =
  | { readonly do: 'end'; readonly ended: Ended }
  /** Reopens the session in the agent's own way. */
  | { readonly do: 'resume'; readonly session: string; readonly afterMs: number }
  /** A fresh start with a document. */
  | { readonly do: 'launch'; readonly afterMs: number }

export interface Loss {
  /** Undefined: nobody knows, as after a reboot. */
  readonly ending: Ending | undefined
  readonly settings: SupervisorSettings
  /** When it was restarted before, in milliseconds. */
  readonly restarts: readonly number[]
  readonly session: string | undefined
  readonly canResume: boolean
  /** Over the threshold, or in the middle of a cycle: the old context is not worth reopening. */
  readonly full: boolean
  readonly now: number
}

const hour = 3_600_000
/** Somebody asked it to end. */
const asked: readonly string[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

export function recover(loss: Loss): Recovery {
  const { ending, settings, restarts, session, now } = loss
  if (ending !== undefined && (ending.code === 0 || (ending.signal !== undefined && asked.includes(ending.signal)))) {
    return { do: 'end', ended: { why: 'exited' } }
  }
  const recent = restarts.filter((at) => now - at < hour).length
  if (recent >= settings.restarts) {
    const details = `it ended ${recent + 1} times within an hour, ${endingText(ending)}`
    return { do: 'end', ended: { why: 'crashed', details } }
  }
  const afterMs = restarts.length === 0 ? 0 : settings.restartSeconds * 1000 * 2 ** Math.max(0, recent - 1)
  if (session !== undefined && loss.canResume && !loss.full) return { do: 'resume', session, afterMs }
  return { do: 'launch', afterMs }
}

export function endingText(ending: Ending | undefined): string {
  if (ending === undefined) return 'for unknown reasons'
  if (ending.error !== undefined) return `saying "${ending.error.slice(0, 200)}"`
  return ending.signal === undefined ? `with exit code ${ending.code ?? 'unknown'}` : `by ${ending.signal}`
}
