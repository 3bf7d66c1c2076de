// A handoff document within other text: agents number the lines of a file that they read, or put a header before them.

const title = /^(?:\s*\d+(?:→|\t|[:|] ?))?# (?:Session|Cycle) handoff \(verified unless marked claimed\)\s*$/m
/** Behind an arrow or a tab the line begins at once; a space there belongs to it. */
const lineNumber = /^\s*\d+(?:→|\t|[:|] ?)/

/** A line of an item, of what hangs below it, or of a quote. */
const itemLine = /^(?:\s|[-*>]|\d+\.|$)/

/** A document that a person pasted into a prompt, and what they typed around it; undefined where there is none. */
export function pastedDocument(text: string): { readonly document: string; readonly words: string } | undefined {
  const start = title.exec(text)?.index
  if (start === undefined) return undefined
  const lines = text.slice(start).split('\n')
  const last = lines.findLastIndex((line) => /^##+ /.test(line))
  const end = lines.findIndex((line, at) => at > last && !itemLine.test(line))
  const around = `${text.slice(0, start)}\n${end < 0 ? '' : lines.slice(end).join('\n')}`
  // Fences and tags that only wrap it are nobody's words.
  const words = around.replaceAll(/^\s*(?:<\/?[\w-]+>|[`~]{3,}\w*)\s*$/gm, '').trim()
  return {
    document: lines
      .slice(0, end < 0 ? undefined : end)
      .join('\n')
      .trim(),
    words,
  }
}

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
