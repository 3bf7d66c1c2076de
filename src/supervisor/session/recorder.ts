// Records what happens to a session: intentions and facts on its tape, its row in the lists, and what people should know.

import { BatonError } from '../../errors.ts'
import type { Cycle } from '../cycle/cycle-state.ts'
import { adviceFor, actionFor } from './advice.ts'
import type { Check, Health } from './health.ts'
import type { Journal } from './journal.ts'
import type { Mailbox } from './mailbox.ts'
import type { SessionRow } from './session-row.ts'
import type { SessionState } from './session-state.ts'

export interface RecorderOptions {
  readonly session: SessionState
  readonly journal: Journal
  readonly health: Health
  readonly mailbox: Mailbox
  readonly onRow: (row: SessionRow) => void
  /** A step of the cycle has begun. */
  readonly onStep: (cycle: number, step: string, details: string) => void
}

/** Rows are written when they say something new, and not more often than people would notice. */
const rowMs = 2_000

export class Recorder {
  readonly #options: RecorderOptions
  #row: SessionRow | undefined
  #writing: Promise<unknown> = Promise.resolve()

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  get journal(): Journal {
    return this.#options.journal
  }

  /** Of the health of the session; a person is told where it is worse than `ok`. `advice`: see `adviceFor`. */
  async report(check: Check['check_type'], status: Check['status'], what: string, advice: string): Promise<void> {
    const { health, session } = this.#options
    const { cycle, run } = session
    await health.report({
      check_type: check,
      status,
      what,
      action_taken: status === 'ok' ? '' : actionFor(advice),
      ...(status === 'ok' ? {} : { advice: adviceFor(advice, run.name, cycle) }),
      details: cycle.at === 'watching' ? {} : { cycle: cycle.n, step: cycle.at },
    })
  }

  /** A person is told that the run has reached what it was to reach. */
  finished(body: string, advice: string): void {
    this.#options.health.tell({ level: 'info', what: 'It is finished', body, advice, key: `finished ${Date.now()}` })
  }

  /** Tells again what still needs a person; returns when the next reminder is due. */
  remind(now: number): number | undefined {
    const { health, session } = this.#options
    const everyMs = session.settings().remindMinutes * 60_000
    health.remind(everyMs, now)
    return health.nextReminder(everyMs)
  }

  step(cycle: Exclude<Cycle, { at: 'watching' }>, details: string): void {
    this.#options.onStep(cycle.n, cycle.at, details)
  }

  async spending(): Promise<void> {
    await this.journal.write('spending', this.#options.session.spending).catch(tolerateDisk)
  }

  /** Shows the session as it is now. Nobody waits for the row: it is written after those before it. */
  show(shown: { readonly state?: SessionRow['state']; readonly ended?: string } = {}): void {
    const { session, onRow, mailbox } = this.#options
    const row = session.row(Date.now(), shown)
    onRow(row)
    const kept = this.#row
    const sudden = kept === undefined || suddenly(kept) !== suddenly(row)
    const slow = Date.parse(row.last_check) - Date.parse(kept?.last_check ?? row.last_check) >= rowMs
    if (!sudden && !(slow && gradually(kept) !== gradually(row))) return
    this.#row = row
    this.#writing = this.#writing
      .then(() => this.journal.write('row', row))
      .catch(tolerateDisk)
      .catch((error: unknown) => mailbox.post({ type: 'broken', error }))
  }

  /** Resolves when all rows are written. */
  async flush(): Promise<void> {
    await this.#writing
  }
}

/** Tolerates a failure to write what can be observed again; a conflict is never tolerated, because somebody else writes. */
export function tolerateDisk(error: unknown): void {
  if (!BatonError.is(error) || error.code === 'conflict') throw error
}

/** What a person wants to know at once. */
function suddenly({ state, step, until, session, cycles, agent, ended, place }: SessionRow): string {
  return JSON.stringify([state, step, until, session, cycles, agent, ended, place])
}

function gradually({ context_usage, threshold, usd }: SessionRow): string {
  return JSON.stringify([Math.round((context_usage ?? -1) * 100), threshold, usd])
}
