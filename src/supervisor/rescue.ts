// What is done when the agent of a session can no longer go on: it crashed, or a limit holds it. The document is durable
// before the old context is given up.

import type { Cycle, Stored, Trigger } from './cycle-state.ts'
import type { Observation } from './eyes.ts'
import { type Life, type Opened, startedWith } from './life.ts'
import { restartText, resumeText } from './prompts.ts'
import { endingText, recover } from './recovery.ts'
import type { Ended, Hands } from './run.ts'
import type { SupervisorSettings } from './settings.ts'

export interface Plight {
  readonly hands: Hands
  readonly look: Observation | undefined
  readonly cycle: Cycle
  readonly restarts: readonly number[]
  readonly settings: SupervisorSettings
  /** Whether its context is past the threshold. */
  readonly full: boolean
  /** The number of the next cycle. */
  readonly n: number
  readonly firstPrompt: string | undefined
  readonly now: number
}

/** What to do, with words for a person; `act` does it. */
export type Rescue =
  | { readonly do: 'end'; readonly ended: Ended; readonly how: string }
  | { readonly do: 'go on'; readonly afterMs: number; readonly how: string; readonly act: () => Promise<Rescued> }

export interface Rescued extends Opened {
  /** To be told to the agent. */
  readonly say?: string
}

export async function afterLoss(life: Life, plight: Plight, meant: (cycle: Cycle) => Promise<void>): Promise<Rescue> {
  const { hands, look, cycle, restarts, settings, now } = plight
  const ending = await hands.driver.ended()
  const how = `The agent ended ${endingText(ending)}`
  const decision = recover({
    ending,
    settings,
    restarts,
    session: look?.session,
    canResume: hands.adapter.resume !== undefined || hands.adapter.turn !== undefined,
    full: plight.full || cycle.at !== 'watching',
    now,
  })
  if (decision.do === 'end') return { do: 'end', ended: decision.ended, how }
  if (decision.do === 'resume') {
    const { session, afterMs } = decision
    const wasAtWork = look?.turn === 'asked' || look?.turn === 'working'
    const say = wasAtWork ? { say: restartText(look.doing) } : {}
    const act = async () => ({ hands: await life.reopen(session), cycle: { at: 'watching' as const }, ...say })
    return { do: 'go on', afterMs, how, act }
  }
  const trigger: Trigger = { ...percentOf(look), why: 'crash', at: now }
  return { do: 'go on', afterMs: decision.afterMs, how, act: () => afresh(life, plight, trigger, meant) }
}

/** Starts afresh, with the document of the cycle that was under way, or one by the ledger. */
async function afresh(
  life: Life,
  { look, cycle, n, firstPrompt }: Plight,
  trigger: Trigger,
  meant: (cycle: Cycle) => Promise<void>,
  agent?: string,
): Promise<Rescued> {
  // Nothing was said yet, so that there is nothing to hand over.
  if (look?.file === undefined && cycle.at === 'watching') {
    return life.begin(firstPrompt, agent)
  }
  const stored: Stored | undefined = 'document' in cycle ? cycle.document : undefined
  // Work that went on since is in the ledger only.
  const current = stored !== undefined && stored.turns >= (look?.turns ?? 0) ? stored : undefined
  const document = current ?? (await life.documentOf(look, trigger))
  const next = startedWith(document, 'n' in cycle ? cycle.n : n, look?.session, trigger, Date.now())
  await meant(next)
  const hands = await life.launchWith(resumeText(document.path), agent)
  return { hands, cycle: { ...next, prompt: { ...next.prompt, state: 'typed', at: Date.now() } } }
}

/** A limit holds the agent, and another is to go on. */
export async function inAnotherAgent(
  life: Life,
  plight: Plight,
  agent: string,
  meant: (cycle: Cycle) => Promise<void>,
): Promise<Rescued> {
  const trigger: Trigger = { ...percentOf(plight.look), why: 'limit', at: plight.now }
  // Durable before the old agent is let go.
  const document = await life.documentOf(plight.look, trigger)
  await plight.hands.driver.stop()
  const next = startedWith(document, plight.n, plight.look?.session, trigger, Date.now())
  await meant(next)
  const hands = await life.launchWith(resumeText(document.path), agent)
  return { hands, cycle: { ...next, prompt: { ...next.prompt, state: 'typed', at: Date.now() } } }
}

function percentOf(look: Observation | undefined): { percent?: number } {
  return look?.meter.percent === undefined ? {} : { percent: look.meter.percent }
}
