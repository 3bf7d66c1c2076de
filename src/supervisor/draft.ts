// What stands where an agent is typed to.

/**
 * Whether a draft is that very text, typed by a supervisor that died before it sent it. Screens break lines as they like,
 * and some show only the end of a long one; a sign for a paste may stand for anything, and is nobody's.
 */
export function isLeftDraft(draft: string, words: string): boolean {
  const [drawn, meant] = [draft, words].map((each) => each.replaceAll(/\s+/g, ''))
  if (drawn === undefined || meant === undefined || drawn === '') return false
  return drawn === meant || (drawn.length >= 40 && meant.endsWith(drawn))
}
