// Names close to a mistyped one.

/** The names that could have been meant, best first; at most `limit`. */
export function nearest(asked: string, names: Iterable<string>, limit = 3): string[] {
  const wanted = asked.toLowerCase()
  const scored = [...new Set(names)].map((name) => ({ name, score: distance(wanted, name.toLowerCase()) }))
  const bound = Math.max(2, Math.ceil(wanted.length / 2))
  return scored
    .filter(({ name, score }) => score <= bound || name.toLowerCase().includes(wanted))
    .sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1))
    .slice(0, limit)
    .map(({ name }) => name)
}

/** Edits that turn one word into the other (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[b.length]!
}
