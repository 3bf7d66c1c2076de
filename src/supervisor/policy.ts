// What the settings come to for one session at one moment: where its threshold lies, and whether a cycle may begin.

import type { Meter } from '../transcripts/index.ts'
import type { Adapter } from './adapter.ts'
import type { Policy } from './cycle-state.ts'
import type { Run } from './run.ts'
import type { SupervisorSettings } from './settings.ts'

/** A cycle that is over, as much of it as later ones are judged by. */
export interface PastCycle {
  readonly n: number
  readonly outcome: 'done' | 'failed'
  /** When it was over, in milliseconds. */
  readonly at: number
  /** Whether anything was changed or run in the context that it replaced. */
  readonly progress: boolean
}

export interface History {
  /** The last ones, oldest first. */
  readonly cycles: readonly PastCycle[]
  readonly count: number
  /** How full the context was when it was fresh, 0 to 1; undefined: nobody saw it fresh. */
  readonly baseline?: { readonly session: string; readonly share: number }
  /** When a person last wanted something: the breaker is closed again by it. */
  readonly wishedAt?: number
}

export interface Circumstances {
  readonly run: Pick<Run, 'name' | 'agent'>
  readonly adapter: Pick<Adapter, 'compactsAt' | 'transcript' | 'clearShows'>
  readonly meter: Meter
  readonly session: string | undefined
  readonly history: History
  readonly now: number
}

/** How many cycles of the past are kept to judge by. */
export const remembered = 10
const hour = 3_600_000

/** Where the threshold lies, 0 to 1. */
export function thresholdOf(settings: SupervisorSettings, at: Circumstances): number {
  const { run, history, now } = at
  const own = settings.thresholds[run.name] ?? settings.thresholds[run.agent] ?? settings.threshold
  const raised = isRaised(settings, history, now) ? own + settings.raise : own
  return Math.min(raised, Math.max(0.05, compactionOf(at) - settings.margin))
}

/** More than one cycle within an hour: its context grows faster than the cycle is worth. */
export function isRaised(settings: SupervisorSettings, { cycles }: History, now: number): boolean {
  const done = cycles.filter(({ outcome }) => outcome === 'done')
  const [before, last] = done.slice(-2)
  if (before === undefined || last === undefined) return false
  return last.at - before.at < hour && now - last.at < settings.raiseMinutes * 60_000
}

/** The part of the window at which the agent compacts by itself; 1 where it does not, or nobody knows. */
function compactionOf({ adapter, meter }: Circumstances): number {
  const tokens = adapter.compactsAt(meter)
  return tokens === undefined || meter.window === undefined ? 1 : Math.min(1, tokens / meter.window)
}

/** Why no cycle may begin now, and whether a person has to do with it. */
export interface Hold {
  readonly why: 'breaker' | 'futile' | 'cooldown' | 'others' | 'check'
  readonly what: string
}

export function holdOf(settings: SupervisorSettings, at: Circumstances): Hold | undefined {
  const { history, session, now } = at
  const last = history.cycles.at(-1)
  if (isBroken(settings, history)) {
    return { why: 'breaker', what: `a person: ${settings.breaker} cycles in a row brought nothing` }
  }
  const { baseline } = history
  const threshold = thresholdOf(settings, at)
  if (baseline !== undefined && baseline.session === session && baseline.share >= threshold) {
    const fresh = Math.round(baseline.share * 100)
    return { why: 'futile', what: `a person: a fresh context is ${fresh}% full already, so that a cycle gains nothing` }
  }
  const until = (last?.at ?? 0) + settings.cooldownSeconds * 1000
  if (last !== undefined && now < until) return { why: 'cooldown', what: 'the end of the pause between two cycles' }
  return undefined
}

/** So many cycles in a row that failed, or replaced a context in which nothing was done. */
function isBroken({ breaker }: SupervisorSettings, { cycles, wishedAt = 0 }: History): boolean {
  const last = cycles.slice(-breaker)
  return (
    last.length === breaker &&
    last.every(({ progress, outcome, at }) => (!progress || outcome === 'failed') && at > wishedAt)
  )
}

export interface Choices {
  readonly wanted: boolean
  readonly hold: string | undefined
  readonly path: string
  readonly project: string
}

export function policyFor(settings: SupervisorSettings, at: Circumstances, { hold, ...choices }: Choices): Policy {
  return {
    ...choices,
    ...(hold === undefined ? {} : { hold }),
    threshold: thresholdOf(settings, at),
    brink: compactionOf(at) - settings.margin / 5,
    predict: settings.predict,
    n: at.history.count + 1,
    clearShows: at.adapter.clearShows ?? at.adapter.transcript === 'claude',
    onSilence: settings.onSilence,
    turnMs: settings.turnSeconds * 1000,
    backgroundMs: settings.backgroundSeconds * 1000,
    documentMs: settings.documentSeconds * 1000,
    graceMs: settings.graceSeconds * 1000,
    clearMs: settings.clearSeconds * 1000,
    submitMs: settings.submitSeconds * 1000,
    verifyMs: settings.verifySeconds * 1000,
  }
}
