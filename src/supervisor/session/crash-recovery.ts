// Continues a session whose agent crashed or has reached a limit: by reopening it, or by a fresh start with a document, which
// is durable before the old context is given up. An agent that ended by itself, or that a person ended, stays ended.

import type { Cycle, Resuming, Stored, Trigger } from '../cycle/cycle-state.ts'
import { pending } from '../cycle/prompt-delivery.ts'
import { restartText, resumeText } from '../../handoff/index.ts'
import type { Ending } from '../drivers/driver.ts'
import type { Observation } from '../observe/observation.ts'
import type { AgentHandle, Ended } from '../run.ts'
import type { SessionSettings } from '../settings.ts'
import { type AgentLifecycle, type OpenedAgent, resumingWith } from './agent-lifecycle.ts'

export interface LostAgent {
  readonly handle: AgentHandle
  readonly observation: Observation | undefined
  readonly cycle: Cycle
  readonly restarts: readonly number[]
  readonly settings: SessionSettings
  /** Whether its context is past the threshold. */
  readonly full: boolean
  /** The number of the next cycle. */
  readonly n: number
  readonly firstPrompt: string | undefined
  /** How long it was supervised since it was started, in milliseconds. */
  readonly upMs: number
  /** Whether it showed a question before it ended. */
  readonly wasAsking: boolean
  readonly now: number
}

/** What to do and how the agent was lost, in words; `act` carries it out. */
export type RecoveryPlan =
  | { readonly do: 'end'; readonly ended: Ended; readonly how: string }
  | { readonly do: 'go on'; readonly afterMs: number; readonly how: string; readonly act: () => Promise<OpenedAgent> }

export async function planRecovery(lifecycle: AgentLifecycle, lost: LostAgent): Promise<RecoveryPlan> {
  const { handle, observation, cycle, restarts, settings, now } = lost
  const ending = await handle.driver.ended()
  const how = `The agent ended ${endingText(ending)}`
  const decision = decideRecovery({
    ending,
    settings,
    restarts,
    session: observation?.session,
    canResume: handle.adapter.resume !== undefined || handle.adapter.turn !== undefined,
    // Whoever says no to its question at the start, such as whether it may trust the folder, is not asked again and again.
    neverWorked: observation?.file === undefined && (lost.upMs < startMs || lost.wasAsking),
    full: lost.full || cycle.at !== 'watching',
    now,
  })
  if (decision.do === 'end') return { do: 'end', ended: decision.ended, how }
  if (decision.do === 'resume') {
    const { session, afterMs } = decision
    const next = reopened(cycle, observation, now)
    const act = async () => {
      await lifecycle.intend(next)
      return { handle: await lifecycle.reopen(session), cycle: next }
    }
    return { do: 'go on', afterMs, how, act }
  }
  const trigger: Trigger = { ...percentOf(observation), why: 'crash', at: now }
  return { do: 'go on', afterMs: decision.afterMs, how, act: () => startAfresh(lifecycle, lost, trigger) }
}

/** An agent that was working is told to continue; otherwise a prompt that the lost process never heard is delivered again. */
function reopened(cycle: Cycle, observation: Observation | undefined, now: number): Cycle {
  const unheard = cycle.at === 'watching' ? cycle.say?.text : undefined
  const wasAtWork = observation?.turn === 'asked' || observation?.turn === 'working'
  const text = wasAtWork ? restartText(observation.doing) : unheard
  return text === undefined ? { at: 'watching' } : { at: 'watching', say: pending(text, now) }
}

/** Starts a new session with the document of the unfinished cycle, or with one from the ledger. */
async function startAfresh(
  lifecycle: AgentLifecycle,
  { observation, cycle, n, firstPrompt }: LostAgent,
  trigger: Trigger,
  agent?: string,
): Promise<OpenedAgent> {
  // There is no transcript yet, so there is nothing to hand over.
  if (observation?.file === undefined && cycle.at === 'watching') {
    return lifecycle.begin(firstPrompt, agent)
  }
  const stored: Stored | undefined = 'document' in cycle ? cycle.document : undefined
  // Later work is only in the ledger. Turns can be compared only within the context that the document describes.
  const isSame = 'from' in cycle && cycle.from === observation?.session
  const current = stored !== undefined && (!isSame || stored.turns >= (observation?.turns ?? 0)) ? stored : undefined
  const document = current ?? (await lifecycle.documentOf(observation, trigger))
  const next = resumingWith(document, 'n' in cycle ? cycle.n : n, observation?.session, trigger, Date.now())
  await lifecycle.intend(next)
  const handle = await lifecycle.launchWith(resumeText(document.path), agent)
  return { handle, cycle: toldTo(handle, next) }
}

/** Lets another agent continue while this one has reached a limit. */
export async function continueInAnotherAgent(
  lifecycle: AgentLifecycle,
  lost: LostAgent,
  agent: string,
): Promise<OpenedAgent> {
  const trigger: Trigger = { ...percentOf(lost.observation), why: 'limit', at: lost.now }
  // The document must be durable before the old agent is stopped.
  const document = await lifecycle.documentOf(lost.observation, trigger)
  await lost.handle.driver.stop()
  const next = resumingWith(document, lost.n, lost.observation?.session, trigger, Date.now())
  await lifecycle.intend(next)
  const handle = await lifecycle.launchWith(resumeText(document.path), agent)
  return { handle, cycle: toldTo(handle, next) }
}

/** A prompt that is too long to be started with is typed when the agent is ready for it. */
function toldTo({ driver }: AgentHandle, cycle: Resuming): Cycle {
  if (driver.sent.length === 0) return { ...cycle, prompt: pending(cycle.prompt.text, Date.now()) }
  return { ...cycle, prompt: { ...cycle.prompt, state: 'typed', at: Date.now() } }
}

function percentOf(observation: Observation | undefined): { percent?: number } {
  return observation?.meter.percent === undefined ? {} : { percent: observation.meter.percent }
}

export type Recovery =
  | { readonly do: 'end'; readonly ended: Ended }
  /** Reopens the session in the agent's own way. */
  | { readonly do: 'resume'; readonly session: string; readonly afterMs: number }
  /** A fresh start with a document. */
  | { readonly do: 'launch'; readonly afterMs: number }

export interface Loss {
  /** How the agent ended; undefined where nobody knows, for example after a reboot. */
  readonly ending: Ending | undefined
  readonly settings: SessionSettings
  /** When it was restarted before, in milliseconds. */
  readonly restarts: readonly number[]
  readonly session: string | undefined
  /** It ended soon after its start or at its first question, and has written nothing. */
  readonly neverWorked?: boolean
  readonly canResume: boolean
  /** Over the threshold, or in the middle of a cycle: the old context is not worth reopening. */
  readonly full: boolean
  readonly now: number
}

const hour = 3_600_000
/** An agent that ends sooner than this and has written nothing did not start. */
const startMs = 30_000
/** Signals by which somebody asks a process to end. */
const asked: readonly string[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

export function decideRecovery(loss: Loss): Recovery {
  const { ending, settings, restarts, session, now } = loss
  if (ending !== undefined && (ending.code === 0 || (ending.signal !== undefined && asked.includes(ending.signal)))) {
    return { do: 'end', ended: { why: 'exited' } }
  }
  // What is wrong with its start would be wrong the next time too.
  if (loss.neverWorked === true && restarts.length === 0 && (ending?.code ?? 0) !== 0) {
    return { do: 'end', ended: { why: 'crashed', details: `It did not start: it ended ${endingText(ending)}` } }
  }
  const recent = restarts.filter((at) => now - at < hour).length
  if (recent >= settings.restarts) {
    const details = `It ended ${recent + 1} times within an hour, ${endingText(ending)}`
    return { do: 'end', ended: { why: 'crashed', details } }
  }
  const afterMs = restarts.length === 0 ? 0 : settings.restartSeconds * 1000 * 2 ** Math.max(0, recent - 1)
  if (session !== undefined && loss.canResume && !loss.full) return { do: 'resume', session, afterMs }
  return { do: 'launch', afterMs }
}

function endingText(ending: Ending | undefined): string {
  if (ending === undefined) return 'for unknown reasons'
  if (ending.error !== undefined) {
    const code = ending.code === undefined ? '' : `with exit code ${ending.code}, `
    return `${code}saying "${ending.error.slice(-300)}"`
  }
  return ending.signal === undefined
    ? ending.code === undefined
      ? 'without an exit code, as when its terminal is closed'
      : `with exit code ${ending.code}`
    : `because it got ${ending.signal}`
}
