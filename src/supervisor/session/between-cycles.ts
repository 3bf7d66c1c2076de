// Watches a run between its cycles: runs the command of `until` after each turn, continues after a limit has ended, and
// retries after an error has cut off a turn.

import { type CheckResult, runCheck } from './bounds.ts'
import type { Observation } from '../observe/observation.ts'
import { errorText, limitText, untilText } from '../../handoff/index.ts'
import type { Ended, Run } from '../run.ts'
import { projectStamp } from './progress.ts'

export interface BetweenCyclesCalls {
  /** Asks for a prompt to be delivered to the agent. */
  readonly say: (text: string) => void
  readonly end: (ended: Ended) => void
  /** Reports that an error has cut off a turn, so many times in a row; undefined: the next turn went well. */
  readonly trouble: (trouble: Trouble | undefined) => void
}

/** What `watch` goes by. */
interface BetweenCyclesRules {
  readonly until?: string | undefined
  readonly errorMs: number
  /** So many equal failures of the check with no progress in between end the run. */
  readonly stallChecks: number
  /** The folder of the handoff documents, which are not progress. */
  readonly documents: string
}

export interface Trouble {
  readonly what: string
  readonly times: number
  /** Whether Baton will tell the agent to continue. */
  readonly goesOn: boolean
}

interface FailedTurn {
  readonly turn: string
  readonly error: string
  readonly hasWorked: boolean
}

/** Words about a key or a login, without which no agent works. */
const hopeless =
  /invalid (x-)?api[- ]key|authentication[_ ](error|failed)|unauthori[sz]ed|\b401\b|please run \/login|not logged in|no api key|incorrect api key/i
/** The longest wait before the agent is told to continue after an error; the first is short, each further one longer. */
const longestErrorMs = 1_800_000

export class BetweenCycles {
  readonly #run: Run
  readonly #signal: AbortSignal
  readonly #calls: BetweenCyclesCalls
  /** The turn whose end was checked last. */
  #checked: string | undefined
  #checking = false
  /** The last failure of the check: what it printed, how the project stood, and how often it failed like that. */
  #failure: { readonly stamp: string; readonly times: number } | undefined
  #work: ReadonlySet<string> = new Set()
  #limited: { until: number; session: string | undefined } | undefined
  #error: { turn: string; at: number } | undefined
  #errors = 0

  constructor(run: Run, signal: AbortSignal, calls: BetweenCyclesCalls) {
    this.#run = run
    this.#signal = signal
    this.#calls = calls
  }

  /** `saying`: a prompt is being delivered already. */
  watch(
    observation: Observation,
    { until, errorMs, stallChecks, documents }: BetweenCyclesRules,
    saying: boolean,
    now: number,
  ): void {
    const { state, session, limit } = observation
    if (state.state === 'limited') this.#limited = { until: Date.parse(state.until ?? '') || now + errorMs, session }
    // It has gone on by itself.
    else if (limit === undefined) this.#limited = undefined
    if (saying || observation.turn !== 'idle' || observation.dialog !== undefined) return
    if (this.#limited !== undefined) return this.#lifted(observation)
    const turn = `${observation.session} ${observation.turns} ${observation.turnSince}`
    if (observation.error !== undefined) {
      const { turns, error, fresh, work } = observation
      const hasWorked = turns > 1 || fresh !== undefined || work.size > 0
      return this.#failed({ turn, error, hasWorked }, errorMs, now)
    }
    if (this.#errors > 0) this.#calls.trouble(undefined)
    this.#error = undefined
    this.#errors = 0
    if (until === undefined || turn === this.#checked || this.#checking) return
    this.#checked = turn
    void this.#check(until, observation.work, stallChecks, documents)
  }

  async #check(command: string, work: ReadonlySet<string>, stallChecks: number, documents: string): Promise<void> {
    this.#checking = true
    const outcome = await runCheck(command, this.#run.cwd, this.#signal)
    const stamp = outcome.code === 0 ? undefined : await projectStamp(this.#run.cwd, documents, this.#signal)
    this.#checking = false
    if (this.#signal.aborted) return
    const isNewWork = [...work].some((each) => !this.#work.has(each))
    this.#work = new Set([...this.#work, ...work])
    this.#judgeCheck(command, outcome, { stamp: `${outcome.code} ${outcome.output} ${stamp}`, isNewWork }, stallChecks)
  }

  get isChecking(): boolean {
    return this.#checking
  }

  /** When `watch` should be called again, if nothing happens before. */
  get next(): number | undefined {
    return this.#limited?.until ?? this.#error?.at
  }

  #lifted(observation: Observation): void {
    if (observation.state.state === 'limited') return
    const { session } = this.#limited!
    this.#limited = undefined
    // A fresh context has nothing to continue.
    if (session === observation.session) this.#calls.say(limitText())
  }

  /** Only a run with a task is told to continue after an error: nobody watches it. */
  #failed({ turn, error, hasWorked }: FailedTurn, errorMs: number, now: number): void {
    // A first turn that failed for want of a key or a login, before the model ever answered, fails the next time too.
    if (!hasWorked && hopeless.test(error)) {
      return this.#calls.end({ why: 'crashed', details: `It did not start: ${error.slice(0, 300)}` })
    }
    const goesOn = this.#run.prompt !== undefined
    if (this.#error?.turn !== turn) {
      this.#error = { turn, at: goesOn ? now + Math.min(errorMs * 2 ** this.#errors, longestErrorMs) : Infinity }
      this.#calls.trouble({ what: troubleText(error), times: ++this.#errors, goesOn })
    }
    if (now < this.#error.at) return
    this.#error = { turn, at: Infinity }
    this.#calls.say(errorText(error))
  }

  #judgeCheck(
    command: string,
    { code, output }: CheckResult,
    { stamp, isNewWork }: { stamp: string; isNewWork: boolean },
    stallChecks: number,
  ): void {
    if (code === 0) return this.#calls.end({ why: 'finished' })
    const before = this.#failure
    const times = before !== undefined && stamp === before.stamp && !isNewWork ? before.times + 1 : 1
    this.#failure = { stamp, times }
    if (times >= stallChecks) {
      const details = `"${command}" has failed ${times} times in the same way, and nothing has changed in between`
      return this.#calls.end({ why: 'bound', bound: 'stalled', details })
    }
    this.#calls.say(untilText(command, code, output))
  }
}

/** Removes request ids, which differ each time, so that a person is notified of the same error only once. */
function troubleText(error: string): string {
  const plain = error.replaceAll(/\s+/g, ' ').replaceAll(/(request id: |\b)(?:req_\w+|[0-9a-f-]{16,})/g, '…')
  return `An error has cut off its turn: ${plain.slice(0, 200)}`
}
