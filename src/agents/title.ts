// The title of a session that nobody has named: the first words of the user that say what it is about.

import { readUserWords } from '../handoff/index.ts'

/** Undefined if the agent wrote the words itself, or if they only call one of its commands. */
export function titleIn(words: string): string | undefined {
  const heard = readUserWords(words)
  if (heard.kind !== 'words' || /^\/[\w:-]*$/.test(heard.text)) return undefined
  return heard.text.slice(0, 200)
}
