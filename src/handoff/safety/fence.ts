// Fences that what they hold cannot close. Markdown closes a fence at a run of backticks that is at least as long, so
// ours is longer than any inside.

/** A run of backticks longer than any in the text, and at least `least`. */
export function fenceFor(text: string, least: number): string {
  let longest = least - 1
  for (const run of text.match(/`+/g) ?? []) longest = Math.max(longest, run.length)
  return '`'.repeat(longest + 1)
}

/** One line as inline code; Markdown takes one space off each end when both are there. */
export function codeSpan(line: string): string {
  const fence = fenceFor(line, 1)
  const pad = /^`|`$|^ .* $/.test(line) ? ' ' : ''
  return fence + pad + line + pad + fence
}

/** What `codeSpan` was given, or undefined when the text is not one whole span. */
export function readCodeSpan(text: string): string | undefined {
  const fence = /^`+/.exec(text)?.[0]
  if (fence === undefined || text.length < 2 * fence.length + 1 || !text.endsWith(fence)) return undefined
  const inside = text.slice(fence.length, -fence.length)
  return /^ .* $/.test(inside) ? inside.slice(1, -1) : inside
}
