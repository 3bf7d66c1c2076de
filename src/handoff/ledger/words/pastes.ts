// People paste what a terminal or an editor shows between their own words. What it says is not what they say.

/**
 * Told by their form alone: prompts, traces, diffs, numbered lines, log lines, tables, data, frames, code, and the padding of
 * a screen. What people type in Markdown is none of them: headings, items that begin with a number, two spaces for a new line.
 */
const pastedPatterns: readonly RegExp[] = [
  // A trace, a position in a file, an error as programs print it.
  /^\s*at .+[:(]\d+|^\s+at [\w$.<>[\]]+\(/,
  /^\s*(?:Traceback \(most recent|File ".+", line \d+|[\w.]*(?:Error|Exception|Warning)(?: \[\w+\])?: |npm (?:ERR!|error|warn) |(?:error|warning|fatal|remote)(?:\[\w+\])?: )/,
  /^\S+\.\w{1,5}[(:]\d+[,:]\d+\)?:? /,
  // A diff, a numbered line of a file, what git prints.
  /^\s*(?:\+ \d+\b|[+-]\d+\b|\d+ [+-] |\d+\s*[|│→]|@@ |\+\+\+ |--- a\/|=== |diff --git )/,
  /^[+-](?![+-]?\s)\S|^[+-] {2,}\S/,
  /^\s*(?:commit [0-9a-f]{7,40}\b|[0-9a-f]{7,40} \S|create mode \d+ )/,
  // A date or a time at the beginning, several values with their names, a record.
  /^[^\p{L}\p{N}]{0,8}(?:\d{4}-\d\d-\d\d|\d\d?:\d\d:\d\d|\p{L}{3} +\d{1,2} \d\d?:\d\d|\d{1,2}\/\d{1,2}\/\d{2,4}[ ,T]|\d{9,})/u,
  /^\[?\d+(?:\.\d+)?\]? /,
  /(?:(?:^|\s)[\w.-]+=\S+.*){3}/,
  /^\s*[{[]\s*["{[]|^\s*"[^"]+"\s*:\s|^\s*<\/?[a-z][\w-]*(?:\s+[\w-]+=|>|\/>)/,
  // Words of somebody else: a line that is a quotation as a whole.
  /^\s*(?:["“”„][^"“”„]{40,}["“”]|«[^«»]{40,}»|[「『][^「」『』]{15,}[」』])[.,;:]?\s*$/,
  /^\s*>\s+\S/,
  // A prompt, a frame, a table, the screen of another agent.
  /^\s*(?:[➜❯$%»]|\w+@[\w.-]+:\S*[$#]|>>>|PS [A-Z]:\\)\s/,
  /[─━│┃┌┐└┘├┤╭╮╰╯⠀-⣿]|^\s*[⏺⎿●✗✘✖✓✔√]/,
  /^\s*\|.*\|\s*$|\S\t+\S.*\t+\S|\S {3,}\S.* {3,}\S|\S {6,}\S/,
  // Code, its closing brackets, and lines that are padded to the width of a screen.
  /^(?: {4}|\t)\s*(?![-*•>]|\d+[.)])\S/,
  /^\s*[\])}]+[;,]?\s*$|[{};]\s*$/,
  /^\s*(?:\/\/|\/\*|#!|import |export |from \S+ import |(?:const|let|var|func|fn|def|class|public|private|return) .*[;{(:]\s*$)/,
  /\S {3,}$/,
]

/** Characters that code has many of, and sentences few. */
const codeCharacters = /[{}[\]<>=|\\;$&^~+%*]/g
const codeShare = 0.12

/** A text shorter than this is taken as typed. */
const least = 120

/** The lines that look typed; all of them when none does. */
export function withoutPastes(text: string): string {
  if (text.length < least || !text.includes('\n')) return text
  const lines = text.split('\n').map(typedBeginning)
  const starts = startsOf(lines)
  let fenced = false
  let isBehindNumbered = false
  const looksTyped = lines.map((line) => {
    const fence = /^\s*(?:```|~~~)/.test(line)
    if (fence) fenced = !fenced
    // A numbered line that was wrapped goes on with a space and a small letter.
    const isWrapped = isBehindNumbered && /^\s\p{Ll}/u.test(line)
    const isTyped =
      !fence && !fenced && !isWrapped && !isPasted(line) && (starts.get(startOf(line) ?? '') ?? 0) < repeats
    isBehindNumbered = isWrapped || (!isTyped && /^\s*(?:[+-] ?)?\d+\s/.test(line))
    return isTyped
  })
  // Between two lines of a program, a line of a few words is the program's as well.
  const typed = looksTyped.map(
    (isTyped, at) => isTyped && !(looksTyped[at - 1] === false && looksTyped[at + 1] === false && isScant(lines[at]!)),
  )
  if (!lines.some((line, at) => typed[at] && line.trim() !== '')) return text
  return lines.filter((_, at) => typed[at]).join('\n')
}

/** Of a line that goes over into markup, what was typed in front of it: a sentence, not a word. */
function typedBeginning(line: string): string {
  const at = /\S\s+<[a-z][\w-]*\s[\w-]+=/.exec(line)?.index
  if (at === undefined || !isPasted(line)) return line
  const beginning = line.slice(0, at + 1)
  return (beginning.match(/\p{L}{2,}/gu)?.length ?? 0) >= leastTyped && !isPasted(beginning) ? beginning : line
}

const leastTyped = 5

function isScant(line: string): boolean {
  return line.trim() !== '' && (line.match(/(?<![\w.])\p{L}{2,}(?![\w.:])/gu)?.length ?? 0) < 3
}

/** Whether a line has the form of something that a program printed. */
export function isPasted(given: string): boolean {
  const line = given.slice(0, 400)
  return pastedPatterns.some((pattern) => pattern.test(line)) || isCode(line)
}

export function isCode(line: string): boolean {
  return line.length >= 24 && (line.match(codeCharacters)?.length ?? 0) > line.length * codeShare
}

/** This many lines that begin with the same mark were not typed, nor were two that are the same. */
const repeats = 3

function startsOf(lines: readonly string[]): Map<string, number> {
  const starts = new Map<string, number>()
  for (const line of lines) {
    const start = startOf(line)
    if (start !== undefined) starts.set(start, (starts.get(start) ?? 0) + (start === line.trim() ? 2 : 1))
  }
  return starts
}

/** How a line begins, if that is no plain word and no mark of a list; otherwise the whole line. People begin rules alike, too. */
function startOf(line: string): string | undefined {
  const [first = ''] = line.trim().split(/\s+/, 1)
  if (first === '') return undefined
  const isMark = /[^\p{L}\p{M}'’,]/u.test(first) && !/^(?:[-*•–#>]+|\(?\w{1,2}[.)]|\w+[.!?])$/.test(first)
  return isMark ? first : line.trim()
}
