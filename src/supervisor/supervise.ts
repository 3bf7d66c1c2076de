// The supervisor runs agents, hands over to a fresh context when theirs fills up, and brings them back when they crash. This
// file supervises one session, from its start or from where an earlier supervisor left it, until it ends.

import { BatonError, InvalidError, NotFoundError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { shellWord } from '../system/index.ts'
import { boundReached } from './session/bounds/bounds.ts'
import { asControl } from './session/records/control.ts'
import { type HealthCheck, Health } from './session/records/health.ts'
import { Journal, type Opening, type Past } from './session/records/journal.ts'
import { acquire } from './session/records/lease.ts'
import { leaseKey, type SessionRow } from './session/records/session-row.ts'
import type { AgentPlace } from './drivers/driver.ts'
import type { Ended, Notify, OpenAgent, Run } from './run.ts'
import { SessionRunner } from './session/session-runner.ts'
import { Spending } from './session/bounds/spending.ts'
import { type Bounds, type SupervisorSettings, type Timings, timingsSchema } from './settings.ts'
import { Slots } from './cycle/slots.ts'

/** What happens, as it happens. */
export type SupervisorEvent =
  | { readonly type: 'row'; readonly row: SessionRow }
  /** A step of the cycle. */
  | {
      readonly type: 'step'
      readonly name: string
      readonly cycle: number
      readonly step: string
      readonly details: string
    }
  | { readonly type: 'health'; readonly check: HealthCheck }
  | { readonly type: 'ended'; readonly name: string; readonly ended: Ended }

export interface SuperviseOptions {
  readonly store: Store
  readonly name: string
  /** What to run; undefined, or where the session has not ended: what its tape says. */
  readonly run?: Run
  /** For one without `run`: laid over those that its tape says. They count from where it was started or reopened last. */
  readonly bounds?: Bounds
  /** Where it runs already, for one that Baton did not start. */
  readonly place?: AgentPlace
  readonly openAgent: OpenAgent
  /** The session is only to be ended: where its agent is gone and cannot be started, it ends without. */
  readonly stopping?: boolean
  /** Called at every step, so that a changed configuration counts at once. */
  readonly settings: () => SupervisorSettings
  /** Tells when they have changed; see `liveSettings`. */
  readonly onSettings?: (listener: () => void) => () => void
  /** Other waits than the usual ones. */
  readonly timings?: Partial<Timings>
  readonly notify?: Notify
  /** Lets go of the session; the agent lives on. */
  readonly signal: AbortSignal
  readonly onEvent?: (event: SupervisorEvent) => void
  /** Shared by the sessions of one process. */
  readonly slots?: Slots
}

/** A `ConflictError` names who supervises the session already. */
export async function supervise(options: SuperviseOptions): Promise<Ended> {
  const { store, name, signal, onEvent } = options
  checkName(name)
  const journal = new Journal(store, name)
  const timings = timingsSchema.parse(options.timings ?? {})
  const known = await journal.load()
  if (options.run === undefined && known.run === undefined) {
    throw new NotFoundError(`There is no supervised session "${name}"`, {
      hint: 'See "baton ls", or start one with "baton run AGENT".',
    })
  }
  const lease = await acquire(store, journal.tape, leaseKey, `${name} is supervised already`)
  const done = new AbortController()
  try {
    const past = await begin(journal, options)
    const run = past.run!
    const runner = new SessionRunner({
      store,
      run,
      past,
      journal,
      openAgent: options.openAgent,
      stopping: options.stopping === true,
      settings: () => ({ ...options.settings(), ...timings }),
      health: new Health(store, run, options.notify, (check) => onEvent?.({ type: 'health', check })),
      slots: options.slots ?? new Slots(store),
      signal,
      onRow: (row) => onEvent?.({ type: 'row', row }),
      onStep: (cycle, step, details) => onEvent?.({ type: 'step', name, cycle, step, details }),
    })
    lease.keep((error) => runner.break(error))
    const unsubscribe = options.onSettings?.(() => runner.wake())
    done.signal.addEventListener('abort', () => unsubscribe?.(), { once: true })
    void follow(store, journal, runner, AbortSignal.any([signal, done.signal]))
    const ended = await runner.run()
    onEvent?.({ type: 'ended', name, ended })
    return ended
  } finally {
    done.abort()
    await lease.release()
  }
}

/** Names are parts of tapes and of folders; `~` begins those of Baton's own. */
export function checkName(name: string): void {
  if (/^[^~\s/\\.-][^/\\\p{Cc}]{0,99}$/u.test(name)) return
  throw new InvalidError(`"${name}" cannot be the name of a session`, { hint: 'Use letters, digits, - and _.' })
}

/** A session that goes on is taken up as it is; one that has ended, or is new, begins. */
async function begin(journal: Journal, { run, place, bounds }: SuperviseOptions): Promise<Past> {
  const past = await journal.load()
  const goesOn = past.run !== undefined && past.ended === undefined && !past.stopped
  if (goesOn && bounds !== undefined) await journal.write('bounds', { ...past.run?.bounds, ...bounds })
  if (goesOn) return bounds === undefined ? past : journal.load()
  const { prompt: _prompt, ...before } = past.run ?? {}
  // Once more: the agent's own session is reopened, and its first prompt is not given again.
  const session = past.whereabouts?.session
  const again = { ...(before as Run), ...(session === undefined ? {} : { session }) }
  const next = run ?? (bounds === undefined ? again : { ...again, bounds: { ...again.bounds, ...bounds } })
  const isAgain = run === undefined && past.run !== undefined
  if (isAgain) refuseSpent(next, past)
  const opening: Opening = isAgain ? { run: next, since: past.since, openMs: openMs(past) } : { run: next }
  await journal.write('run', opening)
  if (place !== undefined) {
    const known = next.session === undefined ? {} : { session: next.session }
    await journal.write('whereabouts', { place, agent: next.agent, ...known })
  }
  return journal.load()
}

/** A run that is reopened goes on counting: at a bound that it has reached already it would end at once. */
function refuseSpent(run: Run, past: Past): void {
  const { usd, turns } = new Spending(past.spending, false)
  const spent = { usd, turns, ms: openMs(past), cycles: past.cycled?.count ?? 0, changedAt: Date.now() }
  const reached = boundReached(run.bounds ?? {}, spent, Date.now())
  if (reached === undefined) return
  const flag = { usd: '--max-usd', hours: '--max-hours', cycles: '--max-cycles', turns: '--max-turns', stalled: '' }
  throw new BatonError('refused', `${run.name} has reached its bound: ${reached.details}`, {
    hint: `Give it a larger one: baton resume ${shellWord(run.name)} ${flag[reached.bound]} N`,
  })
}

/** How long the run was open until it ended. */
function openMs({ openMs, started, ended }: Past): number {
  const begun = Date.parse(started ?? '')
  const over = Date.parse(ended?.date ?? '')
  return openMs + (over > begun ? over - begun : 0)
}

/** What people want of the session, from any process. */
async function follow(store: Store, journal: Journal, runner: SessionRunner, signal: AbortSignal): Promise<void> {
  try {
    for await (const entry of store.watch(journal.tape, await journal.lastId(), signal)) {
      const control = entry.kind === 'event' ? asControl(entry) : undefined
      if (control !== undefined) runner.control(control)
    }
  } catch (error) {
    if (!signal.aborted) runner.break(error)
  }
}
