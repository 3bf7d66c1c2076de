// What one call does to files, before the outcome of the call is known. Small on purpose: it is all that is kept of a
// call until its result arrives.

import { hash } from 'node:crypto'

export type Effect =
  | { readonly action: 'read' | 'delete' | 'touch' | 'undo' | 'mkdir'; readonly path: string }
  /** The whole content; `created` only where the agent says that the file is new. */
  | { readonly action: 'write'; readonly path: string; readonly lines?: number }
  | { readonly action: 'create'; readonly path: string; readonly lines?: number }
  | { readonly action: 'append'; readonly path: string; readonly lines?: number }
  | {
      readonly action: 'edit'
      readonly path: string
      readonly added?: number
      readonly removed?: number
      /** Marks of the text that was replaced and of the text in its place: an edit the other way round undoes it. */
      readonly swap?: Swap
    }
  | { readonly action: 'rename' | 'copy'; readonly path: string; readonly to: string }
  /** Everything below a folder that the tape knows; with a glob, what matches. */
  | { readonly action: 'delete-all'; readonly path: string; readonly glob?: boolean }
  | { readonly action: 'undo-all'; readonly path: string }
  /** Whatever was changed so far is in a commit now. */
  | { readonly action: 'commit' }

export interface Swap {
  readonly before: string
  readonly after: string
}

export function swapOf(before: string, after: string): Swap {
  return { before: mark(before), after: mark(after) }
}

function mark(text: string): string {
  return hash('sha1', text.trim(), 'base64').slice(0, 16)
}

/** Lines of a text as git counts them: a last line without a line end counts too. */
export function countLines(text: string): number {
  if (text === '') return 0
  let lines = 0
  let at = text.indexOf('\n')
  while (at >= 0) {
    lines += 1
    at = text.indexOf('\n', at + 1)
  }
  return text.endsWith('\n') ? lines : lines + 1
}

/** Lines that a replacement adds and removes: what is left between the common first and last lines. */
export function countReplaced(before: string, after: string): { added: number; removed: number } {
  const shorter = Math.min(before.length, after.length)
  let head = 0
  while (head < shorter && before.charCodeAt(head) === after.charCodeAt(head)) head += 1
  if (head === before.length && head === after.length) return { added: 0, removed: 0 }
  // Back to the start of the first line that differs, unless one text ends there with a whole line.
  head = lineStart(before, after, head)
  let tail = 0
  while (
    tail < shorter - head &&
    before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)
  ) {
    tail += 1
  }
  // Forward to the line end behind the last line that differs.
  if (tail > 0 && !(endsLine(before, tail, head) && endsLine(after, tail, head))) {
    const cut = before.indexOf('\n', before.length - tail)
    tail = cut < 0 ? 0 : before.length - cut - 1
  }
  return {
    added: countLines(after.slice(head, after.length - tail)),
    removed: countLines(before.slice(head, before.length - tail)),
  }
}

function lineStart(before: string, after: string, head: number): number {
  if (head > 0 && before[head - 1] === '\n' && after[head - 1] === '\n') return head
  return before.lastIndexOf('\n', head - 1) + 1
}

/** Whether the common tail starts right behind a line end. */
function endsLine(text: string, tail: number, head: number): boolean {
  const at = text.length - tail
  return at === head || text[at - 1] === '\n'
}
