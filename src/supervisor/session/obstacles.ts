// Obstacles that a cycle cannot remove: each is reported once, and once more when it is gone. Also the advice to people.

import fs from 'node:fs'
import { shellWord } from '../../system/index.ts'
import type { Report } from '../cycle/cycle-runner.ts'
import type { Cycle, Sighting } from '../cycle/cycle-state.ts'
import { messageOf } from '../cycle/effects.ts'
import { shortResumeText } from '../../handoff/index.ts'
import type { Trouble } from './between-cycles.ts'

export class Obstacles {
  readonly #report: Report
  #question: string | undefined
  #gone = false
  #full = false

  constructor(report: Report) {
    this.#report = report
  }

  /** A question that only a person can answer. */
  async ask({ observation, screen }: Sighting): Promise<void> {
    const question = screen.is === 'dialog' ? screen.question : observation.dialog?.question
    // The agent says that it waits before its screen shows for what: its words come with the next look.
    if (question !== undefined && screen.is !== 'dialog' && observation.at - (observation.changed ?? 0) < drawnMs)
      return
    if (question === this.#question) return
    // A question stays the same question while somebody moves among its answers.
    if (question !== undefined && this.#question !== undefined && isSameQuestion(question, this.#question)) return
    this.#question = question
    if (question === undefined) await this.#report('dialog', 'ok', 'No question is open', '')
    else await this.#report('dialog', 'warning', `It asks: ${question.slice(0, 300)}`, 'answer')
  }

  /** An error after which the agent's own retries failed; from the third time in a row it is critical. */
  async tell(trouble: Trouble | undefined): Promise<void> {
    if (trouble === undefined) return this.#report('model', 'ok', 'Its turns end well again', '')
    const { what, times, goesOn } = trouble
    await this.#report('model', times < 3 ? 'warning' : 'critical', what, goesOn ? 'error' : 'attach')
  }

  /** Whether the folder of the project is gone: then nothing is done, so that no folder is made in its place. */
  async lacksProject(folder: string): Promise<boolean> {
    const gone = !fs.existsSync(folder)
    if (gone === this.#gone) return gone
    if (gone) await this.#report('project', 'critical', `There is no folder ${folder} any more`, 'project')
    else await this.#report('project', 'ok', 'Its folder is there', '')
    this.#gone = gone
    return gone
  }

  /** Reports that nothing can be written; writing this report may fail too. */
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

/** How long a screen may take to show a question that the agent has told of. */
const drawnMs = 6_000

function isSameQuestion(one: string, other: string): boolean {
  const plain = (text: string) => text.replaceAll(/[^\p{L}]+/gu, ' ').trim()
  return plain(one) === plain(other)
}

/** What a person should do, as a command to type where there is one. */
export function adviceFor(word: string, name: string, cycle: Cycle): string {
  const attach = `baton attach ${shellWord(name)}`
  const document = 'document' in cycle ? cycle.document : undefined
  const prompt = document === undefined ? '' : shortResumeText(document.path)
  switch (word) {
    case 'attach':
      return `See what it does: ${attach}`
    case 'clear':
      return `${attach}, clear its context there, then type: ${prompt}`
    case 'resume':
      return `${attach}, then type: ${prompt}`
    case 'answer':
      return `Answer it: ${attach}`
    case 'limit':
      return `Nothing needs to be done. To go on at once in another agent: baton continue --in AGENT`
    case 'error':
      return `Nothing needs to be done if it passes. See for yourself: ${attach}`
    case 'disk':
      return 'Make room on the disk, or put the workspace back where it was; Baton goes on by itself.'
    case 'project':
      return `Put the folder back and it goes on; or end it: baton stop ${shellWord(name)}`
    case 'cycle':
      return `Raise supervisor.threshold in baton.config.json, or try once more: baton cycle ${shellWord(name)}`
    case 'over':
      return `To go on with a larger bound: baton resume ${shellWord(name)}`
    case 'restart':
      return `Start it again: baton resume ${shellWord(name)}`
    default:
      return `See what happened: baton logs ${shellWord(name)}`
  }
}

/** What Baton itself does meanwhile, for the record. */
export function actionFor(word: string): string {
  const actions: Readonly<Record<string, string>> = {
    answer: 'Nothing is typed while the question is open',
    attach: 'A person is asked',
    clear: 'A person is asked',
    resume: 'A person is asked',
    error: 'It is told to go on after a while',
    limit: 'It is waited for, and goes on by itself',
    disk: 'The session is left as it is, and tried again',
    project: 'Nothing is done to the session',
    cycle: 'It is not cycled',
    over: 'The agent was ended',
    restart: 'Baton does not start it again',
  }
  return actions[word] ?? 'It goes on'
}
