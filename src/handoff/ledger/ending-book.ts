// How the work stands at the end of the entries. What came last decides: words of the assistant end a turn unless a call follows
// them, a call without a result or a result without words leaves it in the middle. What agents record about the end of a
// turn is believed.

import type { Ending, Question, Quote } from './facts.ts'

type Last =
  | { readonly what: 'request' | 'words' | 'thought' | 'call' | 'result' | 'answer' | 'stopped'; readonly id: number }
  | { readonly what: 'error'; readonly id: number; readonly message: string }

interface EndingFacts {
  /** Calls without a result, the last one last: what each was about. */
  readonly open: readonly { readonly id: number; readonly what: string; readonly isQuestion: boolean }[]
  readonly questions: readonly Question[]
  readonly lastWords: Quote | undefined
  /** The last command, and whether it succeeded. */
  readonly lastCommand: { readonly command: string; readonly ok: boolean | undefined } | undefined
}

export class EndingBook {
  #last: Last | undefined
  #ended: 'done' | 'aborted' | 'failed' | undefined
  /** `unknown`: the agent has recorded the beginning of a turn, and never the end of it. */
  #begun: 'yes' | 'no' | 'unknown' = 'no'
  #stoppedBy: 'user' | 'baton' = 'user'

  see(what: Exclude<Last['what'], 'error'>, id: number): void {
    this.#last = { what, id }
    this.#ended = undefined
  }

  /** Whether the turn stopped before its end: nothing was said behind its last call. */
  get isCut(): boolean {
    const what = this.#last?.what
    return this.#ended !== 'done' && (what === 'call' || what === 'result' || what === 'stopped' || what === 'error')
  }

  /** Whether the agent has recorded the end of its turn, or never began one. */
  get isOver(): boolean {
    return this.#last === undefined || this.#ended !== undefined
  }

  /** A call that is not about the work follows: words before it, in a turn that is not over, did not end it. */
  goesOn(): void {
    if (this.#ended === undefined && this.#last?.what === 'words') this.#last = { what: 'result', id: this.#last.id }
  }

  /** The turn that begins here is about something else: how the work stands is known already. */
  aside(): void {
    if (this.#begun === 'yes') this.#begun = 'no'
  }

  /** What stops the turn from here on: the user, unless a supervisor has said that it does. */
  stoppedBy(who: 'user' | 'baton'): void {
    this.#stoppedBy = who
  }

  failed(message: string, id: number): void {
    this.#last = { what: 'error', id, message }
    this.#ended = undefined
  }

  /** The agent recorded that a turn begins: one that does so records the end, too. */
  began(): void {
    if (this.#begun !== 'unknown') this.#begun = this.#begun === 'yes' && !this.isCut ? 'unknown' : 'yes'
  }

  /** The agent recorded that the turn is over. */
  ended(status: 'done' | 'aborted' | 'failed'): void {
    this.#ended = status
    if (this.#begun === 'yes') this.#begun = 'no'
  }

  fact({ open, questions, lastWords, lastCommand }: EndingFacts): Ending {
    const last = this.#last
    if (last === undefined) return { state: 'empty' }
    const { id } = last
    if (last.what === 'error') return { state: 'error', message: last.message, id }
    const asking = questions.at(-1)
    if (asking !== undefined) return { state: 'asks', id: asking.id }
    const pending = open.findLast(({ isQuestion }) => !isQuestion)
    if (last.what === 'request') return { state: 'requested', id }
    const during = pending?.what
    if (this.#ended === 'failed') return { state: 'error', id }
    if (last.what === 'stopped' || this.#ended === 'aborted')
      return { state: 'interrupted', by: this.#stoppedBy, during, id: pending?.id ?? id }
    if (pending !== undefined) return { state: 'interrupted', during, id: pending.id }
    if (last.what === 'words') {
      // Words that announce what comes next are followed by a call, unless the model or its agent stopped before it.
      const isCut = this.#begun === 'yes' || (lastWords !== undefined && announces(lastWords.text))
      return { state: isCut ? 'interrupted' : 'answered', id }
    }
    if (last.what === 'answer' || this.#ended === 'done') return { state: 'answered', id }
    // The model had the result and said nothing more: a check that passed often is the end of a turn.
    if (last.what === 'thought' && lastCommand?.ok === true) return { state: 'silent', during: lastCommand.command, id }
    return { state: 'interrupted', during, id }
  }
}

function announces(text: string): boolean {
  return /[:：]\s*$/.test(text)
}
