// Watches over a run between its cycles: whether it has reached what it was to reach, and whether a limit has been lifted.

import { type Outcome, runCheck } from './bounds.ts'
import type { Observation } from './eyes.ts'
import { limitText, untilText } from './prompts.ts'
import type { Ended, Run } from './run.ts'
import type { Bounds } from './settings.ts'

export interface VigilCalls {
  /** The agent is to be told something. */
  readonly say: (text: string) => void
  readonly end: (ended: Ended) => void
}

/** So often the same failure of the check, and nothing progresses. */
const sameFailures = 3
/** A limit that says no end is tried again after so long. */
const unknownLimitMs = 900_000

export class Vigil {
  readonly #run: Run
  readonly #signal: AbortSignal
  readonly #calls: VigilCalls
  /** The turn whose end was checked last. */
  #checked: string | undefined
  #checking = false
  #failures: string[] = []
  #limited: { since: number; until: number | undefined; session: string | undefined } | undefined

  constructor(run: Run, signal: AbortSignal, calls: VigilCalls) {
    this.#run = run
    this.#signal = signal
    this.#calls = calls
  }

  /** `saying`: it is being told something already. */
  watch(look: Observation, { until }: Bounds, saying: boolean): void {
    if (saying || look.turn !== 'idle' || look.dialog !== undefined) return
    if (this.#limited !== undefined) {
      const { session } = this.#limited
      this.#limited = undefined
      // In a fresh context there is nothing to go on with.
      if (session === look.session) this.#calls.say(limitText())
      return
    }
    const turn = `${look.session} ${look.turns} ${look.turnSince}`
    if (until === undefined || turn === this.#checked || this.#checking) return
    this.#checked = turn
    this.#checking = true
    void runCheck(until, this.#run.cwd, this.#signal).then((outcome) => {
      this.#checking = false
      if (!this.#signal.aborted) this.#judge(until, outcome)
    })
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

  /** A limit holds the session. */
  limit(look: Observation): void {
    if (look.state.state !== 'limited') return
    const { until } = look.state
    this.#limited ??= {
      since: look.at,
      until: until === undefined ? undefined : Date.parse(until),
      session: look.session,
    }
  }

  /** When a limit that says no end is to be tried. */
  get tryAt(): number | undefined {
    return this.#limited?.until === undefined && this.#limited !== undefined
      ? this.#limited.since + unknownLimitMs
      : undefined
  }
}
