// A handoff document within other text: agents number the lines of a file that they read, or put a header before them.

const title = /^(?:\s*\d+(?:→|\t|[:|] ?))?# (?:Session|Cycle) handoff \(verified unless marked claimed\)\s*$/m
/** Behind an arrow or a tab the line begins at once; a space there belongs to it. */
const lineNumber = /^\s*\d+(?:→|\t|[:|] ?)/

/** The document from its title on, without line numbers; undefined where there is none. */
export function documentIn(text: string): string | undefined {
  const found = title.exec(text)
  if (found === null) return undefined
  const lines = text.slice(found.index).split('\n')
  const numbered = lineNumber.test(lines[0]!)
  if (!numbered) return lines.join('\n')
  const end = lines.findIndex((line) => !lineNumber.test(line) && line.trim() !== '')
  return (end < 0 ? lines : lines.slice(0, end)).map((line) => line.replace(lineNumber, '')).join('\n')
}
