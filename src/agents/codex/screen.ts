// Reads the screen of Codex: whether it waits for a prompt, works, or asks the person something.

import type { ScreenState, Screen } from '../agent.ts'
import { aboutOf, draftOf, questionIn } from '../screen-parsing.ts'

/** The line below the input, such as `  gpt-5 default · /the/folder`. */
const footer = /^\s{2}\S.* · \S/

export function readScreen({ lines, solid }: Screen): ScreenState {
  const question = questionIn(lines)
  if (question !== undefined) return { is: 'dialog', question, about: aboutOf(question) }
  const at = lines.findLastIndex((line) => /^›(\s|$)/.test(line))
  if (at < 0) return lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
  if (lines.slice(0, 12).some((line) => /^\s*(model|directory):\s*loading/i.test(line))) return { is: 'starting' }
  const end = lines.findIndex((line, i) => i > at && (line.trim() === '' || footer.test(line)))
  const draft = draftOf(solid.slice(at, end < 0 ? undefined : end), /^›/)
  const above = lines.slice(Math.max(0, at - 6), at)
  // Codex shows this only until its answer begins, so its absence proves nothing.
  return above.some((line) => /^\s*[•◦].*esc to interrupt/i.test(line))
    ? { is: 'busy', draft }
    : { is: 'prompt', draft }
}
