// Paths as a shell would write them together: `src/{admin/{login,token},billing/invoice}.ts`. A list of many files takes a
// few tokens each that way. The order is kept, so that reading it back gives the same list.

/** One word for paths that hold no braces, commas or spaces. */
export function toBraces(paths: readonly string[]): string {
  const ending = commonEnding(paths)
  const bare = ending === '' ? paths : paths.map((path) => path.slice(0, -ending.length))
  const parts = partsOf(bare)
  return (parts.length === 1 ? parts[0]! : `{${parts.join(',')}}`) + ending
}

/** The paths of such a word, in order; undefined when its braces do not match. */
export function fromBraces(word: string): string[] | undefined {
  const open = word.indexOf('{')
  if (open < 0) return word.includes('}') ? undefined : [word]
  let depth = 0
  const cuts = [open]
  for (let at = open; at < word.length; at++) {
    if (word[at] === '{') depth++
    else if (word[at] === '}' && --depth === 0) cuts.push(at)
    else if (word[at] === ',' && depth === 1) cuts.push(at)
    if (depth > 0) continue
    const head = word.slice(0, open)
    const tails = fromBraces(word.slice(at + 1))
    const inner = cuts.slice(1).map((cut, i) => fromBraces(word.slice(cuts[i]! + 1, cut)))
    if (tails === undefined || inner.some((each) => each === undefined)) return undefined
    return inner.flatMap((each) => each!.flatMap((middle) => tails.map((tail) => head + middle + tail)))
  }
  return undefined
}

/** Neighbours that share their first folder become one part. */
function partsOf(paths: readonly string[]): string[] {
  const parts: string[] = []
  for (let at = 0; at < paths.length;) {
    const folder = firstFolder(paths[at]!)
    if (folder === '') {
      parts.push(paths[at++]!)
      continue
    }
    let end = at + 1
    while (end < paths.length && paths[end]!.startsWith(folder)) end++
    const inside = partsOf(paths.slice(at, end).map((path) => path.slice(folder.length)))
    parts.push(folder + (inside.length === 1 ? inside[0]! : `{${inside.join(',')}}`))
    at = end
  }
  return parts
}

function firstFolder(path: string): string {
  return path.slice(0, path.indexOf('/', 1) + 1)
}

/** `.ts` where all end in it, and none is nothing else. */
function commonEnding(paths: readonly string[]): string {
  const ending = /[^/]\.(\w{1,8})$/.exec(paths[0] ?? '')?.[1]
  if (ending === undefined || paths.length < 2) return ''
  return paths.every((path) => path.endsWith(`.${ending}`) && /[^/.]\.\w+$/.test(path)) ? `.${ending}` : ''
}
