// Whether two texts say the same, in other words or with other marks around them.

export function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

/** The words of a text, reduced to their stems: "updated" counts as "update". */
function wordsOf(text: string): Set<string> {
  const words = plain(text.slice(0, 2_000)).split(' ')
  return new Set(words.filter((word) => word !== '').map((word) => word.replace(/(?<=\w{3})(?:ing|ed|es|e|s)$/, '')))
}

/** Shared words in proportion to all, from 0 to 1. */
export function similarity(a: string, b: string): number {
  const [left, right] = [wordsOf(a), wordsOf(b)]
  if (left.size === 0 || right.size === 0) return 0
  let shared = 0
  for (const word of left) if (right.has(word)) shared++
  return shared / (left.size + right.size - shared)
}

/** Two texts that differ in a number say different things, however alike they are. */
export function sameText(a: string, b: string): boolean {
  return plain(a) === plain(b) || (similarity(a, b) >= 0.8 && hasNumbersOf(a, b) && hasNumbersOf(b, a))
}

function hasNumbersOf(long: string, short: string): boolean {
  const all = wordsOf(long)
  return [...wordsOf(short)].every((word) => !/\d/.test(word) || all.has(word))
}

/** The longer one says all that the shorter does, with its numbers. */
export function contains(long: string, short: string): boolean {
  const [all, part] = [wordsOf(long), wordsOf(short)]
  if (part.size < 2) return plain(long) === plain(short)
  let shared = 0
  for (const word of part) if (all.has(word)) shared++
  return shared / part.size >= 0.85 && hasNumbersOf(long, short)
}
