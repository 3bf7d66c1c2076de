// What is in the way of a session and not its cycle's to mend: each is told once, and once more when it has passed.

import fs from 'node:fs'
import type { Sight } from './cycle-state.ts'
import type { Report } from './conductor.ts'
import { messageOf } from './deeds.ts'
import type { Trouble } from './vigil.ts'

export class Worries {
  readonly #report: Report
  #question: string | undefined
  #gone = false
  #full = false

  constructor(report: Report) {
    this.#report = report
  }

  /** A question that only a person can answer. */
  async ask({ look, screen }: Sight): Promise<void> {
    const question = look.dialog?.question ?? (screen.is === 'dialog' ? screen.question : undefined)
    if (question === this.#question) return
    this.#question = question
    if (question === undefined) await this.#report('dialog', 'ok', 'No question is open', '')
    else await this.#report('dialog', 'warning', `It asks: ${question.slice(0, 200)}`, 'answer')
  }

  /** What the agent itself has tried again in vain; once or twice is a bad moment, more often is for a person. */
  async tell(trouble: Trouble | undefined): Promise<void> {
    if (trouble === undefined) return this.#report('model', 'ok', 'Its turns end well again', '')
    const { what, times, goesOn } = trouble
    await this.#report('model', times < 3 ? 'warning' : 'critical', what, goesOn ? 'error' : 'attach')
  }

  /** Whether the project is gone: then nothing is done, lest a folder be made in its place. */
  async lacksProject(folder: string): Promise<boolean> {
    const gone = !fs.existsSync(folder)
    if (gone === this.#gone) return gone
    if (gone) await this.#report('project', 'critical', `There is no folder ${folder} any more`, 'project')
    else await this.#report('project', 'ok', 'Its folder is there', '')
    this.#gone = gone
    return gone
  }

  /** Nothing can be written down: it may not even be possible to write that down. */
  async full(cause: unknown): Promise<void> {
    this.#full = true
    const what = `Nothing can be written down: ${messageOf(cause)}`
    await this.#report('storage', 'critical', what, 'disk').catch(() => undefined)
  }

  async written(): Promise<void> {
    if (!this.#full) return
    await this.#report('storage', 'ok', 'It can be written down again', '')
    this.#full = false
  }
}
