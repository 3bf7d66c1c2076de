// What a session is called until somebody names it: the user's first words that say what it is about.

import { hear } from '../handoff/ledger/words.ts'

/** Undefined when they are the agent's own, or only call a command of its program. */
export function titleIn(words: string): string | undefined {
  const heard = hear(words)
  if (heard.kind !== 'words' || /^\/[\w:-]*$/.test(heard.text)) return undefined
  return heard.text.slice(0, 200)
}
