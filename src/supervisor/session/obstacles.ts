// Obstacles that a cycle cannot remove: each is reported once, and once more when it is gone.

import fs from 'node:fs'
import type { Sighting } from '../cycle/cycle-state.ts'
import { TmuxError } from '../drivers/tmux-server.ts'
import { messageOf } from '../cycle/effects.ts'
import type { Trouble } from './between-cycles.ts'
import type { Recorder } from './records/recorder.ts'

export class Obstacles {
  readonly #recorder: Recorder
  #question: string | undefined
  /** Undefined at first: an earlier supervisor may have reported what no longer holds. */
  #gone: boolean | undefined
  #full: boolean | undefined
  #hasLooked = false

  constructor(recorder: Recorder) {
    this.#recorder = recorder
  }

  get isAsking(): boolean {
    return this.#question !== undefined
  }

  /** Whether the screen has been seen, so that a question which an earlier supervisor reported is known to be open or not. */
  get hasLooked(): boolean {
    return this.#hasLooked
  }

  /** A question that only a person can answer. */
  async ask({ observation, screen }: Sighting): Promise<void> {
    const question = screen.is === 'dialog' ? screen.question : observation.dialog?.question
    // The agent says that it waits before its screen shows for what: its words come with the next look.
    if (question !== undefined && screen.is !== 'dialog' && observation.at - (observation.changed ?? 0) < drawnMs)
      return
    const isAnswered = !this.#hasLooked && question === undefined && (screen.is === 'prompt' || screen.is === 'busy')
    if (isAnswered || question !== undefined) this.#hasLooked = true
    if (question === this.#question && !isAnswered) return
    // A question stays the same question while somebody moves among its answers.
    if (question !== undefined && this.#question !== undefined && isSameQuestion(question, this.#question)) return
    this.#question = question
    if (question === undefined) await this.#recorder.report('dialog', 'ok', 'No question is open', '')
    else await this.#recorder.report('dialog', 'warning', `It asks: ${question}${offered(screen)}`, 'answer')
  }

  /** An error after which the agent's own retries failed; from the third time in a row it is critical. */
  async tell(trouble: Trouble | undefined): Promise<void> {
    if (trouble === undefined) return this.#recorder.report('model', 'ok', 'Its turns succeed again', '')
    const { what, times, goesOn } = trouble
    await this.#recorder.report('model', times < 3 ? 'warning' : 'critical', what, goesOn ? 'error' : 'attach')
  }

  /** Whether the folder of the project is gone: then nothing is done, so that no folder is made in its place. */
  async lacksProject(folder: string): Promise<boolean> {
    const gone = !fs.existsSync(folder)
    if (gone === this.#gone) return gone
    if (gone) await this.#recorder.report('project', 'critical', `The folder ${folder} no longer exists`, 'project')
    else await this.#recorder.report('project', 'ok', 'Its folder is back', '')
    this.#gone = gone
    return gone
  }

  /** Reports that nothing can be written; writing this report may fail too. */
  async full(cause: unknown): Promise<void> {
    this.#full = true
    // tmux refuses a command: that has nothing to do with the disk.
    if (cause instanceof TmuxError) {
      const { message } = cause
      await this.#recorder.report('storage', 'critical', `tmux fails: ${message}`, 'tmux').catch(() => undefined)
      return
    }
    const why = isFullDisk(cause) ? 'The disk is full, so Baton' : 'Baton'
    const what = `${why} cannot write to its workspace. ${messageOf(cause)}`
    await this.#recorder.report('storage', 'critical', what, 'disk').catch(() => undefined)
  }

  async written(): Promise<void> {
    if (this.#full === false) return
    await this.#recorder.report('storage', 'ok', 'Baton can write to its workspace and reach tmux', '')
    this.#full = false
  }
}

function isFullDisk(error: unknown): boolean {
  const { cause } = error instanceof Error ? error : {}
  const { code = '' } = (cause instanceof Error ? cause : {}) as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}

function offered(screen: Sighting['screen']): string {
  const answers = screen.is === 'dialog' ? (screen.answers ?? []) : []
  return answers.length === 0 ? '' : ` (${answers.join(' / ')})`
}

/** How long a screen may take to show a question that the agent has told of. */
const drawnMs = 6_000

function isSameQuestion(one: string, other: string): boolean {
  const plain = (text: string) => text.replaceAll(/[^\p{L}]+/gu, ' ').trim()
  return plain(one) === plain(other)
}
