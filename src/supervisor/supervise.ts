// One session, from its start or from wherever a supervisor before left it, until it ends.

import { InvalidError, NotFoundError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { asControl } from './control.ts'
import { type HealthCheck, Health } from './health.ts'
import { Journal, type Opening, type Past } from './journal.ts'
import { acquire } from './lease.ts'
import { leaseKey, type SessionRow } from './rows.ts'
import type { Place } from './driver.ts'
import type { Ended, Notify, OpenHands, Run } from './run.ts'
import { Runner } from './runner.ts'
import type { Bounds, SupervisorSettings } from './settings.ts'
import { Slots } from './slots.ts'

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
  readonly place?: Place
  readonly hands: OpenHands
  /** Asked anew at every step, so that a changed configuration counts at once. */
  readonly settings: () => SupervisorSettings
  /** Tells when they have changed; see `liveSettings`. */
  readonly onSettings?: (listener: () => void) => () => void
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
  const known = await journal.load()
  if (options.run === undefined && known.run === undefined) {
    throw new NotFoundError(`There is no supervised session "${name}"`, { hint: 'Start one with "baton run AGENT".' })
  }
  const lease = await acquire(store, journal.tape, leaseKey, `${name} is supervised already`)
  const done = new AbortController()
  try {
    const past = await begin(journal, options)
    const run = past.run!
    const runner = new Runner({
      store,
      run,
      past,
      journal,
      hands: options.hands,
      settings: options.settings,
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
  const opening: Opening =
    run !== undefined || past.run === undefined
      ? { run: next }
      : { run: next, since: past.since, cycles: past.cycled?.count ?? 0, usd: past.cycled?.usd ?? 0 }
  await journal.write('run', opening)
  if (place !== undefined) {
    const known = next.session === undefined ? {} : { session: next.session }
    await journal.write('whereabouts', { place, agent: next.agent, ...known })
  }
  return journal.load()
}

/** What people want of the session, from any process. */
async function follow(store: Store, journal: Journal, runner: Runner, signal: AbortSignal): Promise<void> {
  try {
    for await (const entry of store.watch(journal.tape, await journal.lastId(), signal)) {
      const control = entry.kind === 'event' ? asControl(entry) : undefined
      if (control !== undefined) runner.control(control)
    }
  } catch (error) {
    if (!signal.aborted) runner.break(error)
  }
}
