// The words that a report carries for people: what they should do, and what Baton does meanwhile.

import { shortResumeText } from '../../handoff/index.ts'
import { shellWord } from '../../system/index.ts'
import type { Cycle } from '../cycle/cycle-state.ts'

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
