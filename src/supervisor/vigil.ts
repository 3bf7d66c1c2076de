// Watches over a run between its cycles: whether it has reached what it was to reach, whether a limit has been lifted, and
// whether an error has stopped it.

import { type Outcome, runCheck } from './bounds.ts'
import type { Observation } from './eyes.ts'
import { errorText, limitText, untilText } from './prompts.ts'
import type { Ended, Run } from './run.ts'
import type { Bounds } from './settings.ts'

export interface VigilCalls {
  /** The agent is to be told something. */
  readonly say: (text: string) => void
  readonly end: (ended: Ended) => void
  /** A turn was cut off by an error, for so many times in a row; undefined: the next one went well. */
  readonly trouble: (trouble: Trouble | undefined) => void
}

export interface Trouble {
  readonly what: string
  readonly times: number
  /** Whether it is told to go on by itself. */
  readonly goesOn: boolean
}

/** So often the same failure of the check, and nothing progresses. */
const sameFailures = 3
/** A limit that says no end is tried again after twice the wait for an error, then ever later, and so late at most. */
const longestLimitMs = 900_000
/** After an error the agent is told to go on: soon at first, then ever later. */
const longestErrorMs = 1_800_000

export class Vigil {
  readonly #run: Run
  readonly #signal: AbortSignal
  readonly #calls: VigilCalls
  /** The turn whose end was checked last. */
  #checked: string | undefined
  #checking = false
  #failures: string[] = []
  #limited: { until: number; session: string | undefined } | undefined
  /** Limits in a row that said no end. */
  #limits = 0
  #error: { turn: string; at: number } | undefined
  #errors = 0

  constructor(run: Run, signal: AbortSignal, calls: VigilCalls) {
    this.#run = run
    this.#signal = signal
    this.#calls = calls
  }

  /** `saying`: it is being told something already. */
  watch(look: Observation, { until, errorMs }: Bounds & { errorMs: number }, saying: boolean, now: number): void {
    if (look.state.state === 'limited') this.#limit(look.state.until, look, errorMs)
    if (saying || look.turn !== 'idle' || look.dialog !== undefined) return
    if (this.#limited !== undefined) return this.#lifted(look, now)
    const turn = `${look.session} ${look.turns} ${look.turnSince}`
    if (look.error !== undefined) return this.#failed(turn, look.error, errorMs, now)
    if (this.#errors > 0) this.#calls.trouble(undefined)
    this.#error = undefined
    this.#errors = 0
    this.#limits = 0
    if (until === undefined || turn === this.#checked || this.#checking) return
    this.#checked = turn
    void this.#check(until)
  }

  async #check(command: string): Promise<void> {
    this.#checking = true
    const outcome = await runCheck(command, this.#run.cwd, this.#signal)
    this.#checking = false
    if (!this.#signal.aborted) this.#judge(command, outcome)
  }

  get isChecking(): boolean {
    return this.#checking
  }

  /** When it has something to say of its own accord. */
  get next(): number | undefined {
    return this.#limited?.until ?? this.#error?.at
  }

  #limit(until: string | undefined, { at, session }: Observation, errorMs: number): void {
    if (this.#limited !== undefined) return
    const waitMs = Math.min(errorMs * 2 ** (this.#limits + 1), longestLimitMs)
    if (until === undefined) this.#limits++
    this.#limited = { until: until === undefined ? at + waitMs : Date.parse(until), session }
  }

  #lifted(look: Observation, now: number): void {
    const { session, until } = this.#limited!
    if (look.state.state === 'limited' && now < until) return
    this.#limited = undefined
    // In a fresh context there is nothing to go on with.
    if (session === look.session) this.#calls.say(limitText())
  }

  /** A turn that an error has cut off goes on by itself only in a run that nobody watches. */
  #failed(turn: string, error: string, errorMs: number, now: number): void {
    const goesOn = this.#run.prompt !== undefined
    if (this.#error?.turn !== turn) {
      this.#error = { turn, at: goesOn ? now + Math.min(errorMs * 2 ** this.#errors, longestErrorMs) : Infinity }
      this.#calls.trouble({ what: troubleText(error), times: ++this.#errors, goesOn })
    }
    if (now < this.#error.at) return
    this.#error = { turn, at: Infinity }
    this.#calls.say(errorText(error))
  }

  #judge(command: string, { code, output }: Outcome): void {
    if (code === 0) return this.#calls.end({ why: 'finished' })
    const failure = `${code} ${output}`
    this.#failures = [...this.#failures.filter((each) => each === failure), failure]
    if (this.#failures.length >= sameFailures) {
      const details = `"${command}" has failed ${sameFailures} times in the same way`
      return this.#calls.end({ why: 'bound', bound: 'stalled', details })
    }
    this.#calls.say(untilText(command, code, output))
  }
}

/** The same error has another number each time: a person is told of it once. */
function troubleText(error: string): string {
  const plain = error.replaceAll(/\s+/g, ' ').replaceAll(/(request id: |\b)(?:req_\w+|[0-9a-f-]{16,})/g, '…')
  return `An error has cut off its turn: ${plain.slice(0, 200)}`
}
