// Computes the rules of one session at one moment from settings and history: the threshold, and whether a cycle may begin.

import type { Adapter } from '../../agents/index.ts'
import type { Meter } from '../../transcripts/index.ts'
import type { Run } from '../run.ts'
import type { SessionSettings } from '../settings.ts'
import type { Policy } from './cycle-state.ts'

/** What later cycles are judged by of one that is over. */
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
  /** When a person last gave a command, which closes the breaker again. */
  readonly overriddenAt?: number
}

export interface Circumstances {
  readonly run: Pick<Run, 'name' | 'agent' | 'cwd' | 'driver'>
  readonly adapter: Pick<
    Adapter,
    'callsShowLate' | 'clearShows' | 'compactsAt' | 'interruptForgets' | 'takesWordsInTurn'
  >
  readonly meter: Meter
  readonly model?: string | undefined
  readonly session: string | undefined
  readonly history: History
  readonly now: number
}

/** How many cycles of the past are kept to judge by. */
export const remembered = 10
const hour = 3_600_000
/** The part of the margin that a request for a document and its answer need. */
const roomToWrite = 0.4

/** Where the threshold lies, 0 to 1. */
export function thresholdOf(settings: SessionSettings, at: Circumstances): number {
  const { run, history, now } = at
  const own = settings.thresholds[run.name] ?? settings.thresholds[run.agent] ?? settings.threshold
  const raised = isRaised(settings, history, now) ? own + settings.raise : own
  return Math.min(raised, Math.max(0.05, compactionOf(at) - settings.margin))
}

/** More than one cycle within an hour: its context grows faster than the cycle is worth. */
export function isRaised(settings: SessionSettings, { cycles }: History, now: number): boolean {
  const done = cycles.filter(({ outcome }) => outcome === 'done')
  const [before, last] = done.slice(-2)
  if (before === undefined || last === undefined) return false
  return last.at - before.at < hour && now - last.at < settings.raiseMinutes * 60_000
}

/** The part of the window at which the agent compacts by itself; 1 where it does not, or nobody knows. */
function compactionOf({ run, adapter, meter, model }: Circumstances): number {
  const tokens = adapter.compactsAt({ ...meter, model, cwd: run.cwd })
  return tokens === undefined || meter.window === undefined ? 1 : Math.min(1, tokens / meter.window)
}

/** Why no cycle may begin now. */
export interface Hold {
  readonly why: 'breaker' | 'futile' | 'cooldown' | 'others' | 'check'
  /** What it waits for. */
  readonly what: string
  /** Why only a person can help. */
  readonly because?: string
}

export function holdOf(settings: SessionSettings, at: Circumstances): Hold | undefined {
  const { history, session, now } = at
  const last = history.cycles.at(-1)
  if (isBroken(settings, history)) {
    return { why: 'breaker', what: 'a person', because: `${settings.breaker} cycles in a row brought nothing` }
  }
  const { baseline } = history
  const threshold = thresholdOf(settings, at)
  if (baseline !== undefined && baseline.session === session && baseline.share >= threshold) {
    const fresh = Math.round(baseline.share * 100)
    return {
      why: 'futile',
      what: 'a person',
      because: `a fresh one is ${fresh}% full already: a cycle would gain nothing`,
    }
  }
  const until = (last?.at ?? 0) + settings.cooldownSeconds * 1000
  if (last !== undefined && now < until) return { why: 'cooldown', what: 'the end of the pause between two cycles' }
  return undefined
}

/** Whether so many cycles in a row failed or replaced a context in which nothing was done. */
function isBroken({ breaker }: SessionSettings, { cycles, overriddenAt = 0 }: History): boolean {
  const last = cycles.slice(-breaker)
  return (
    last.length === breaker &&
    last.every(({ progress, outcome, at }) => (!progress || outcome === 'failed') && at > overriddenAt)
  )
}

/** Whether the last cycle failed and nobody has said anything to the agent since: then only a person knows what is right. */
export function awaitsPerson({ cycles, overriddenAt = 0 }: History, prompted: string | undefined): boolean {
  const last = cycles.at(-1)
  if (last?.outcome !== 'failed' || last.at <= overriddenAt) return false
  return !(Date.parse(prompted ?? '') > last.at)
}

export interface Choices {
  readonly wanted: boolean
  readonly hold: string | undefined
  readonly path: string
  readonly project: string
}

export function policyFor(settings: SessionSettings, at: Circumstances, { hold, ...choices }: Choices): Policy {
  return {
    ...choices,
    ...(hold === undefined ? {} : { hold }),
    threshold: thresholdOf(settings, at),
    brink: compactionOf(at) - settings.margin * roomToWrite,
    asksInTurn: at.run.driver === 'tmux' && at.adapter.takesWordsInTurn === true,
    cutsTurns: at.run.driver !== 'tmux' || at.adapter.interruptForgets !== true,
    callsShow: at.adapter.callsShowLate !== true,
    predict: settings.predict,
    n: at.history.count + 1,
    clearShows: at.adapter.clearShows ?? false,
    onSilence: settings.onSilence,
    turnMs: settings.turnSeconds * 1000,
    backgroundMs: settings.backgroundSeconds * 1000,
    documentMs: settings.documentSeconds * 1000,
    // Without a screen, a turn is a process: nothing comes from one that has ended.
    graceMs: Math.min(settings.graceSeconds, at.run.driver === 'headless' ? 1 : Infinity) * 1000,
    clearMs: settings.clearSeconds * 1000,
    submitMs: settings.submitSeconds * 1000,
    verifyMs: settings.verifySeconds * 1000,
  }
}
