// People paste what a terminal or an editor shows between their own words. What it says is not what they say.

/**
 * Told by their form alone: prompts, traces, diffs, numbered lines, frames, code, and the padding of a screen. What people
 * type in Markdown is none of them: headings, items that begin with a number, two spaces for a new line.
 */
const PASTED: readonly RegExp[] = [
  /^\s*at .+[:(]\d+/,
  /^\s*(?:\+ \d+\b|[+-]\d+\b|\d+ [+-] |\d+\s*[|│→]|@@ |\+\+\+ |--- a\/)/,
  /^\s*(?:[➜❯$%»]|\w+@[\w.-]+:\S*[$#]|>>>|PS [A-Z]:\\)\s/,
  /[─━│┃┌┐└┘├┤╭╮╰╯⠀-⣿]/,
  /^\s*(?:Traceback \(most recent|File ".+", line \d+|[\w.]*(?:Error|Exception|Warning)(?: \[\w+\])?: |npm (?:ERR!|error|warn) |error(?:\[\w+\])?: )/,
  /^[^\s:]+\.\w{1,5}[(:]\d+[,:]\d+\)?:? /,
  /^\s{4,}\S.*[;{}()[\],]\s*$/,
  /^\s*[\])}]+[;,]?\s*$/,
  /\S {3,}$/,
]

/** Shorter texts are typed. */
const least = 160

/** The lines that look typed; all of them when none does. */
export function withoutPastes(text: string): string {
  if (text.length < least || !text.includes('\n')) return text
  const lines = text.split('\n')
  let fenced = false
  const typed = lines.map((line) => {
    const fence = /^\s*(?:```|~~~)/.test(line)
    if (fence) fenced = !fenced
    return !fence && !fenced && !PASTED.some((pattern) => pattern.test(line.slice(0, 400)))
  })
  if (!lines.some((line, at) => typed[at] && line.trim() !== '')) return text
  return lines.filter((_, at) => typed[at]).join('\n')
}
