// What reaches a runner, one thing at a time: looks, outcomes, wishes, and the time at which it wanted to look again.

export type Wait<M> = M | 'time' | 'over'

export class Mailbox<M> {
  readonly #mail: M[] = []
  readonly #signal: AbortSignal
  #wake: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #due = false

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#wake?.(), { once: true })
  }

  /** `replaces`: of several that wait, only the newest counts. */
  post(mail: M, replaces?: (waiting: M) => boolean): void {
    const at = replaces === undefined ? -1 : this.#mail.findIndex(replaces)
    if (at >= 0) this.#mail[at] = mail
    else this.#mail.push(mail)
    this.#wake?.()
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
      // Longer than a timer can be is looked at again in a day.
      Math.min(Math.max(0, time - now), 86_400_000),
    )
  }

  async next(): Promise<Wait<M>> {
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
