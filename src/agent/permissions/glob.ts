// Globs over paths: `*` and `?` within a name, `**` for any number of folders, `[a-z]`, `{a,b}`. Node has globs only from 22 on.
// They are not translated to regular expressions, because a model writes globs too, and matching one must not take forever.

export type Glob = (file: string) => boolean

/** If its braces expand to more alternatives than this, they are taken literally. */
const maxReadings = 500

export function parseGlob(glob: string): Glob {
  const readings = (spread(glob) ?? [glob]).map((each) => each.split('/').map(parseName))
  return (file) => {
    const names = file.split('/').map((name) => Array.from(name))
    return readings.some((reading) => matches(reading, names, isAnyFolders, (name, letters) => isName(name, letters)))
  }
}

/** A path as a glob that matches only it. */
export function literalGlob(file: string): string {
  return file.replaceAll(/[*?[{]/g, '[$&]')
}

/** Matches one letter that the function accepts, or with `some` any number of any letters. */
type Letter = 'some' | ((letter: string) => boolean)
type Name = readonly Letter[] | '**'

function isAnyFolders(name: Name): boolean {
  return name === '**'
}

function isName(name: Name, letters: readonly string[]): boolean {
  if (name === '**') return false
  return matches(
    name,
    letters,
    (letter) => letter === 'some',
    (letter, actual) => letter !== 'some' && letter(actual),
  )
}

/**
 * Whether items fit a pattern in which some stand for any number. Only the last of those is ever tried again, which is enough, and
 * keeps the time to the product of both lengths.
 */
function matches<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  isMany: (part: P) => boolean,
  fits: (part: P, item: T) => boolean,
): boolean {
  let at = 0
  let again: { part: number; item: number } | undefined
  for (let item = 0; item < items.length;) {
    const part = pattern[at]
    if (at < pattern.length && isMany(part!)) {
      again = { part: at, item }
      at += 1
    } else if (at < pattern.length && fits(part!, items[item]!)) {
      at += 1
      item += 1
    } else if (again !== undefined) {
      again.item += 1
      item = again.item
      at = again.part + 1
    } else return false
  }
  return pattern.slice(at).every(isMany)
}

function parseName(text: string): Name {
  if (text === '**') return '**'
  const letters = Array.from(text)
  const name: Letter[] = []
  for (let at = 0; at < letters.length; at += 1) {
    const letter = letters[at]!
    const end = letter === '[' ? letters.indexOf(']', at + 2) : -1
    if (letter === '*') name.push('some')
    else if (letter === '?') name.push(() => true)
    else if (end < 0) name.push((actual) => actual === letter)
    else {
      name.push(parseClass(letters.slice(at + 1, end)))
      at = end
    }
  }
  return name
}

function parseClass(inner: readonly string[]): (letter: string) => boolean {
  const isNegated = inner.length > 1 && (inner[0] === '!' || inner[0] === '^')
  const members = isNegated ? inner.slice(1) : inner
  return (letter) => isNegated !== members.some((member, i) => member === letter || isBetween(members, i, letter))
}

/** Whether the letter is in a range such as `a-z`; `i` is the index of the dash. */
function isBetween(members: readonly string[], i: number, letter: string): boolean {
  const [from, to] = [members[i - 1], members[i + 1]]
  return members[i] === '-' && from !== undefined && to !== undefined && from <= letter && letter <= to
}

/** All expansions of the braces; undefined where there are too many. */
function spread(glob: string): string[] | undefined {
  const inner = /(?<!\[)\{([^{}]*)\}/.exec(glob)
  if (inner === null) return [glob]
  const readings: string[] = []
  for (const choice of inner[1]!.split(',')) {
    const more = spread(glob.slice(0, inner.index) + choice + glob.slice(inner.index + inner[0].length))
    if (more === undefined || readings.push(...more) > maxReadings) return undefined
  }
  return readings
}
