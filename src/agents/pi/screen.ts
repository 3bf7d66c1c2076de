// Reads the screen of pi: whether it waits for a prompt, works, or asks the person something.

import type { ScreenState, Screen } from '../agent.ts'
import { composerIn, draftOf, lastWritten } from '../screen-parsing.ts'

/** The meter, such as `0.0%/40k (auto)`: the last thing that pi draws when it starts. */
const footer = /(\d|\?)%?\/[\d.]+[kM]?\b/

export function readScreen(screen: Screen): ScreenState {
  const composer = composerIn(screen)
  const below = composer === undefined ? [] : screen.lines.slice(composer.until + 1)
  if (composer === undefined || !below.some((line) => footer.test(line)))
    return lastWritten(screen.lines) < 0 || composer === undefined ? { is: 'starting' } : { is: 'unknown' }
  const picks = composer.text.some((line) => /^\s*(→|❯|›)\s/.test(line))
  if (picks) return { is: 'dialog', question: draftOf(composer.text, /^/).slice(0, 300), about: 'other' }
  const draft = draftOf(composer.text, /^/)
  const above = screen.lines.slice(Math.max(0, composer.from - 6), composer.from)
  // pi loses what is typed while it counts down to a retry.
  if (above.some((line) => /Retrying \(\d+\/\d+\)/.test(line))) return { is: 'busy', draft, deaf: true }
  return above.some((line) => /^\s*[⠁-⣿]\s/.test(line)) ? { is: 'busy', draft } : { is: 'prompt', draft }
}
