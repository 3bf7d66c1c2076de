// Where a text that is not in a file was probably meant.

/** Longer files and lines are not compared letter by letter. */
const comparedLines = 20_000
const comparedChars = 200

/** All places of a text, none within another. */
export function placesOf(text: string, wanted: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) places.push(at)
  return places
}

/** Up to three lines like the first one of a text, with their numbers; those that differ only in white space come first. */
export function nearestLines(text: string, wanted: string): string[] {
  const lines = text.split('\n').slice(0, comparedLines)
  const first = wanted.split('\n').find((line) => line.trim() !== '')
  if (first === undefined) return []
  const pairs = pairsOf(first)
  return lines
    .map((line, i) => ({ line: line.trimEnd(), number: i + 1, score: likeness(pairs, line) }))
    .filter(({ score }) => score > 0.4)
    .sort((a, b) => b.score - a.score || a.number - b.number)
    .slice(0, 3)
    .sort((a, b) => a.number - b.number)
    .map(({ line, number }) => `${number}: ${line.slice(0, comparedChars)}`)
}

/** Share of pairs of letters that two lines have in common (Dice), blanks aside. */
function likeness(pairs: ReadonlyMap<string, number>, line: string): number {
  const others = pairsOf(line)
  let common = 0
  let all = 0
  for (const [pair, count] of pairs) {
    common += Math.min(count, others.get(pair) ?? 0)
    all += count
  }
  for (const count of others.values()) all += count
  return all === 0 ? 0 : (2 * common) / all
}

function pairsOf(line: string): Map<string, number> {
  const letters = line.slice(0, comparedChars).replaceAll(/\s+/g, '')
  const pairs = new Map<string, number>()
  for (let at = 0; at < letters.length; at += 1) {
    const pair = letters.slice(at, at + 2)
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1)
  }
  return pairs
}
