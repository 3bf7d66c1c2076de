// The queue of a session's runner: observations, outcomes, commands of people, and the time at which it wants to be woken.

import type { ActionOutcome } from '../cycle/cycle-runner.ts'
import type { Observation } from '../observe/observation.ts'
import type { AgentHandle } from '../run.ts'
import type { Check } from './between-cycles.ts'
import type { Control } from './records/control.ts'

type Wait = Mail | 'time' | 'over'

export class Mailbox {
  readonly #mail: Mail[] = []
  readonly #signal: AbortSignal
  #wake: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #due = false

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#wake?.(), { once: true })
  }

  /** `replaces`: of several that wait, only the newest counts. */
  post(mail: Mail, replaces?: (waiting: Mail) => boolean): void {
    const at = replaces === undefined ? -1 : this.#mail.findIndex(replaces)
    if (at >= 0) this.#mail[at] = mail
    else this.#mail.push(mail)
    this.#wake?.()
  }

  /** Something other than the session has changed. */
  wake(): void {
    this.post({ type: 'file' }, ({ type }) => type === 'file')
  }

  /** Wakes the runner at that time, if nothing does before; it replaces the time before. */
  wakeAt(time: number | undefined, now = Date.now()): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (time === undefined) return
    this.#timer = setTimeout(
      () => {
        this.#due = true
        this.#wake?.()
      },
      // Timers cannot be arbitrarily long, so a distant time is checked again in a day.
      Math.min(Math.max(0, time - now), 86_400_000),
    )
  }

  async next(): Promise<Wait> {
    for (;;) {
      if (this.#signal.aborted) return 'over'
      const mail = this.#mail.shift()
      if (mail !== undefined) return mail
      if (this.#due) {
        this.#due = false
        return 'time'
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#wake?.()
  }
}

export type Mail =
  | { readonly type: 'observation'; readonly observation: Observation; readonly handle: AgentHandle }
  | { readonly type: 'outcome'; readonly outcome: ActionOutcome }
  | { readonly type: 'control'; readonly control: Control }
  /** Something has changed where documents arrive, or in the settings. */
  | { readonly type: 'file' }
  /** The command of `until` has ended. */
  | { readonly type: 'checked'; readonly check: Check }
  | { readonly type: 'broken'; readonly error: unknown }
