// Records what happens to a session: intentions and facts on its tape, its row in the lists, and what people should know.

import { BatonError } from '../../../errors.ts'
import { shortResumeText } from '../../../handoff/index.ts'
import { shellWord } from '../../../system/index.ts'
import type { Cycle } from '../../cycle/cycle-state.ts'
import type { Run } from '../../run.ts'
import type { Check, Health } from './health.ts'
import type { Journal } from './journal.ts'
import type { Mailbox } from '../mailbox.ts'
import type { SessionRow } from './session-row.ts'
import type { SessionState } from '../session-state.ts'

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
  #late: NodeJS.Timeout | undefined

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  get journal(): Journal {
    return this.#options.journal
  }

  /** Of the health of the session; a person is told where it is worse than `ok`. `advice`: see `adviceFor`; empty: none are told. */
  async report(check: Check['check_type'], status: Check['status'], what: string, advice: string): Promise<void> {
    const { health, session } = this.#options
    const { cycle, run } = session
    await health.report({
      check_type: check,
      status,
      what,
      action_taken: status === 'ok' ? '' : actionFor(advice),
      ...(status === 'ok' || advice === '' ? {} : { advice: adviceFor(advice, run, cycle) }),
      details: cycle.at === 'watching' ? {} : { cycle: cycle.n, step: cycle.at },
    })
  }

  /** A person is told that the run has reached what it was to reach. */
  finished(what: string, advice: string): void {
    const action = 'Baton has ended the agent'
    this.#options.health.tell({ level: 'info', what, action, advice, key: `finished ${Date.now()}` })
  }

  /** The agent has quit by itself, or somebody has quit it; `early`: before the run had reached what it was to reach. */
  exited(early: boolean): void {
    const what = `The agent has quit${early ? ' before the --until command succeeded' : ''}`
    const advice = adviceFor('restart', this.#options.session.run, { at: 'watching' })
    const [level, action] = [early ? 'warning' : 'info', actionFor('restart')] as const
    this.#options.health.tell({ level, what, action, advice, key: `exited ${Date.now()}` })
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
    if (!sudden && gradually(kept) === gradually(row)) return
    const sinceMs = Date.parse(row.last_check) - Date.parse(kept?.last_check ?? row.last_check)
    if (!sudden && sinceMs < rowMs) {
      // Nothing more may happen for hours, and lists are to show the last reading.
      this.#late ??= setTimeout(() => {
        this.#late = undefined
        this.show(shown)
      }, rowMs - sinceMs).unref()
      return
    }
    clearTimeout(this.#late)
    this.#late = undefined
    this.#row = row
    this.#writing = this.#writing
      .then(() => this.journal.write('row', row))
      .catch(tolerateDisk)
      .catch((error: unknown) => mailbox.post({ type: 'broken', error }))
  }

  /** Resolves when all rows are written. */
  async flush(): Promise<void> {
    clearTimeout(this.#late)
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

/** What a person should do, as a command to type where there is one. */
export function adviceFor(word: string, { name, driver, cwd }: Run, cycle: Cycle): string {
  const attach = `baton attach ${shellWord(name)}`
  const log = `baton log ${shellWord(name)}`
  if (driver === 'headless') {
    if (word === 'attach') return `See what it did: ${log}`
    if (word === 'error') return `Nothing to do if it passes. To see what it did: ${log}`
    if (word === 'clear' || word === 'resume')
      return `See what it did: ${log}. To hand it over once more: baton cycle ${shellWord(name)}`
  }
  const document = 'document' in cycle ? cycle.document : undefined
  const prompt = document === undefined ? '' : shortResumeText(document.path)
  switch (word) {
    case 'attach':
      return `Look at its screen: ${attach}`
    case 'clear':
      return `Run ${attach}, clear the context there, then type: ${prompt}`
    case 'resume':
      return `Run ${attach}, then type: ${prompt}`
    case 'answer':
      return `Answer it: ${attach}`
    case 'limit':
      return `Nothing to do. To continue right away in another agent: baton stop ${shellWord(name)}; cd ${shellWord(cwd)}; baton continue --in AGENT`
    case 'error':
      return `Nothing to do if it passes. To look at its screen: ${attach}`
    case 'disk':
      return 'Free some disk space, or put the workspace back where it was; Baton then continues by itself.'
    case 'tmux':
      return `Look at it: tmux list-panes -a, and on Baton's own server: tmux -L baton list-panes -a. Then: ${log}`
    case 'project':
      return `Put the folder back and Baton continues; or end the session: baton stop ${shellWord(name)}`
    case 'cycle':
      return `Raise supervisor.threshold in baton.config.json, or force a cycle: baton cycle ${shellWord(name)}`
    case 'breaker':
      return `See what it repeats: ${log}. To hand it over all the same: baton cycle ${shellWord(name)}`
    case 'over-stalled':
      return `To let it try again: baton resume ${shellWord(name)}`
    case 'over-usd':
    case 'over-hours':
    case 'over-cycles':
    case 'over-turns':
      return `To continue with a larger bound: baton resume ${shellWord(name)} ${word.replace('over', '--max')} N`
    case 'restart':
      return `Start it again: baton resume ${shellWord(name)}`
    default:
      return `See what happened: ${log}`
  }
}

/** What Baton itself does meanwhile, for the record. */
function actionFor(word: string): string {
  const actions: Readonly<Record<string, string>> = {
    answer: 'Baton types nothing while the question is open',
    attach: 'Baton is waiting for you',
    clear: 'Baton is waiting for you',
    resume: 'Baton is waiting for you',
    error: 'Baton will ask it to continue in a while',
    limit: 'Baton waits and then has it resume',
    disk: 'Baton leaves the session as it is and keeps retrying',
    tmux: 'Baton leaves the session as it is and keeps retrying',
    project: 'Baton leaves the session alone',
    cycle: 'Baton does not cycle it',
    breaker: 'Baton does not cycle it',
    restart: 'Baton does not start it again',
  }
  if (word.startsWith('over-')) return 'Baton has ended the agent'
  return actions[word] ?? 'Baton carries on by itself'
}
