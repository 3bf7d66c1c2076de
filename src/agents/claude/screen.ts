// Reads the screen of Claude Code: whether it waits for a prompt, works, or asks the person something.

import type { ScreenState, Screen } from '../agent.ts'
import { aboutOf, choiceIn, composerIn, draftOf, questionIn } from '../screen-parsing.ts'

/** What it shows in an empty input. It is drawn faint, but not where `NO_COLOR` is set. */
const hint =
  /^(Resend your message to try again|Once fixed, resend your message|Run \/rewind to go back|Press up to edit queued messages|Try ".+")$/

export function readScreen(screen: Screen): ScreenState {
  const composer = composerIn(screen)
  const below = composer === undefined ? screen.lines : screen.lines.slice(composer.until + 1)
  const first = composer?.text[0] ?? ''
  // An input that begins with `!` or `#` takes commands and notes.
  const isComposer = /^\s*[❯>!#]/.test(first) && !/^\s*❯\s*\d+\.\s/.test(first)
  const question = questionIn(isComposer ? below : screen.lines)
  if (question !== undefined) return { is: 'dialog', question, about: aboutOf(question) }
  if (!isComposer) {
    const choice = choiceIn(screen.lines)
    if (choice !== undefined) return { is: 'dialog', question: choice, about: aboutOf(choice) }
    if (/Esc to (cancel|exit|close)|Enter to (confirm|select|continue)/i.test(screen.lines.join('\n')))
      return { is: 'dialog', question: lowest(screen.lines), about: 'other' }
    return screen.lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
  }
  const typed = draftOf(composer!.text, /^\s*[❯>]/)
  const draft = hint.test(typed) ? '' : typed
  const above = screen.lines.slice(Math.max(0, composer!.from - 8), composer!.from)
  const busy =
    above.some((line) => /^\S\s\S.*…( \(|$)/.test(line)) || below.some((line) => /esc to interrupt/i.test(line))
  return busy ? { is: 'busy', draft } : { is: 'prompt', draft }
}

function lowest(lines: readonly string[]): string {
  return lines
    .filter((line) => line.trim() !== '')
    .slice(-6)
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, 300)
}
