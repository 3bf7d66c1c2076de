// Decides what a run needs between its cycles: the command of `until` after each turn, a word to continue after a limit has
// ended, and another try after an error has cut off a turn.

import type { Observation } from '../observe/observation.ts'
import { errorText, limitText, untilText } from '../../handoff/index.ts'
import type { Ended, Run } from '../run.ts'
import { type CheckResult, projectStamp, runCheck } from './bounds/progress.ts'

/** What is to be done. */
export type Need =
  /** The agent is to be told something. */
  | { readonly do: 'say'; readonly text: string }
  | { readonly do: 'end'; readonly ended: Ended }
  /** An error has cut off a turn, so many times in a row; undefined: the next turn went well. */
  | { readonly do: 'tell'; readonly trouble: Trouble | undefined }
  /** The command of `until` is to be run. */
  | { readonly do: 'check'; readonly command: string; readonly work: ReadonlySet<string> }

/** What came of the command of `until`. */
export interface Check {
  readonly command: string
  readonly result: CheckResult
  /** How the project stood; undefined where it cannot be told, or does not matter. */
  readonly stamp: string | undefined
  /** What the agent had done in its context by then. */
  readonly work: ReadonlySet<string>
}

/** What `needs` goes by. */
interface BetweenCyclesRules {
  readonly until?: string | undefined
  readonly errorMs: number
  /** Whether the command of `until` runs already. */
  readonly isChecking: boolean
  /** Whether a prompt is being delivered already. */
  readonly isSaying: boolean
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
  /** It has written a transcript. */
  readonly isWritten: boolean
}

/** Words about a key or a login, without which no agent works. */
const hopeless =
  /invalid (x-)?api[- ]key|authentication[_ ](error|failed)|unauthori[sz]ed|\b401\b|please run \/login|not logged in|no api key|incorrect api key/i
/** Words about how its program was called. */
const miscalled = /\b(unknown|unexpected|unrecogni[sz]ed|invalid) (option|argument|flag|command|value)\b/i
/** An agent that tries again by itself, or compacts its context and then does, is at work again by then: nobody is notified. */
const ownRetryMs = 3_000
/** The longest wait before the agent is told to continue after an error; the first is short, each further one longer. */
const longestErrorMs = 1_800_000

export class BetweenCycles {
  readonly #hasTask: boolean
  /** The turn whose end was checked last. */
  #checked: string | undefined
  /** The last failure of the check: what it printed, how the project stood, and how often it failed like that. */
  #failure: { readonly stamp: string; readonly times: number } | undefined
  #work: ReadonlySet<string> = new Set()
  #limited: { until: number; session: string | undefined } | undefined
  /** The turn that an error has cut off: since when, whether people know, and when the agent is told to continue. */
  #error: { readonly turn: string; readonly since: number; readonly isTold: boolean; readonly at: number } | undefined
  #errors = 0
  /** False at first: an earlier supervisor may have reported an error. */
  #isWell = false

  constructor({ prompt }: Run) {
    this.#hasTask = prompt !== undefined
  }

  needs(observation: Observation, rules: BetweenCyclesRules, now: number): readonly Need[] {
    const { state, session, limit, work } = observation
    const { until, errorMs, isChecking, isSaying } = rules
    if (state.state === 'limited') this.#limited = { until: Date.parse(state.until ?? '') || now + errorMs, session }
    // It has gone on by itself.
    else if (limit === undefined) this.#limited = undefined
    if (isSaying || observation.turn !== 'idle' || observation.dialog !== undefined) return []
    if (this.#limited !== undefined) return this.#lifted(observation)
    const turn = `${observation.session} ${observation.turns} ${observation.turnSince}`
    if (observation.error !== undefined) {
      const { turns, error, fresh } = observation
      const hasWorked = turns > 1 || fresh !== undefined || work.size > 0
      return this.#failed({ turn, error, hasWorked, isWritten: observation.file !== undefined }, errorMs, now)
    }
    const well: readonly Need[] = this.#isWell ? [] : [{ do: 'tell', trouble: undefined }]
    this.#isWell = true
    this.#error = undefined
    this.#errors = 0
    if (until === undefined || turn === this.#checked || isChecking) return well
    this.#checked = turn
    return [...well, { do: 'check', command: until, work }]
  }

  /** So many equal failures of the check with no progress in between end the run. */
  afterCheck({ command, result, stamp, work }: Check, stallChecks: number): Need {
    const { code, output, plain } = result
    const isNewWork = [...work].some((each) => !this.#work.has(each))
    this.#work = new Set([...this.#work, ...work])
    if (code === 0) return { do: 'end', ended: { why: 'finished' } }
    const [before, now] = [this.#failure, `${code} ${plain} ${stamp}`]
    const times = before !== undefined && now === before.stamp && !isNewWork ? before.times + 1 : 1
    this.#failure = { stamp: now, times }
    if (times < stallChecks) return { do: 'say', text: untilText(command, code, output) }
    const details = `"${command}" has failed ${times} times in the same way, and nothing has changed in between`
    return { do: 'end', ended: { why: 'bound', bound: 'stalled', details } }
  }

  /** When `needs` should be asked again, if nothing happens before. */
  get next(): number | undefined {
    if (this.#limited !== undefined || this.#error === undefined) return this.#limited?.until
    const { since, isTold, at } = this.#error
    return isTold ? at : Math.min(at, since + ownRetryMs)
  }

  #lifted(observation: Observation): readonly Need[] {
    if (observation.state.state === 'limited') return []
    const { session } = this.#limited!
    this.#limited = undefined
    // A fresh context has nothing to continue.
    return session === observation.session ? [{ do: 'say', text: limitText() }] : []
  }

  /** Only a run with a task is told to continue after an error: nobody watches it. */
  #failed({ turn, error, hasWorked, isWritten }: FailedTurn, errorMs: number, now: number): readonly Need[] {
    // A first turn that failed for want of a key or a login, before the model ever answered, fails the next time too; so does a
    // program that refuses the way in which it is called.
    if (!hasWorked && (hopeless.test(error) || (!isWritten && miscalled.test(error)))) {
      return [{ do: 'end', ended: { why: 'crashed', details: `It did not start: ${error.slice(0, 300)}` } }]
    }
    const goesOn = this.#hasTask
    const at = goesOn ? now + Math.min(errorMs * 2 ** this.#errors, longestErrorMs) : Infinity
    const known = this.#error?.turn === turn ? this.#error : { turn, since: now, isTold: false, at }
    const isDue = now >= known.at
    const isStanding = isDue || now - known.since >= ownRetryMs
    if (isStanding) this.#isWell = false
    this.#error = { ...known, isTold: isStanding, at: isDue ? Infinity : known.at }
    const told: readonly Need[] =
      isStanding && !known.isTold
        ? [{ do: 'tell', trouble: { what: troubleText(error), times: ++this.#errors, goesOn } }]
        : []
    return isDue ? [...told, { do: 'say', text: errorText(error) }] : told
  }
}

/** Runs the command of `until`, and finds out how the project stands. `documents`: a folder that is no part of the work. */
export async function check(
  { command, work }: Extract<Need, { do: 'check' }>,
  cwd: string,
  documents: string,
  signal: AbortSignal,
): Promise<Check> {
  const result = await runCheck(command, cwd, signal)
  const stamp = result.code === 0 ? undefined : await projectStamp(cwd, documents, signal)
  return { command, result, stamp, work }
}

/** Removes request ids, which differ each time, so that a person is notified of the same error only once. */
function troubleText(error: string): string {
  const plain = error.replaceAll(/\s+/g, ' ').replaceAll(/(request id: |\b)(?:req_\w+|[0-9a-f-]{16,})/g, '…')
  return `An error cut its turn short: ${plain.slice(0, 200).replace(/[.\s]+$/, '')}`
}
