// The small marks of the Markdown: references, status, and the guards that keep a text from being taken for either.

import type { Status } from '../document.ts'

const plainRef = /^[^\s,[\]"\\]+#\d+(?:\.\.\d*)?$/

/** ` [#12, other#3]`: entries of the document's own tape need no name. */
export function refMark(refs: readonly string[], tape: string | undefined): string {
  return refs.length === 0 ? '' : ` [${refs.map((ref) => writeRef(ref, tape)).join(', ')}]`
}

function writeRef(ref: string, tape: string | undefined): string {
  const own = tape === undefined ? undefined : ownPlace(ref, tape)
  if (own !== undefined) return own
  return plainRef.test(ref) ? ref : JSON.stringify(ref)
}

/** `#12` of `main#12` on the tape `main`. */
export function ownPlace(ref: string, tape: string): string | undefined {
  const place = ref.startsWith(`${tape}#`) ? ref.slice(tape.length) : undefined
  return place !== undefined && /^#\d+(?:\.\.\d*)?$/.test(place) ? place : undefined
}

const oneRef = String.raw`(?:"(?:[^"\\]|\\.)*"|[^\s,[\]"\\]*#\d+(?:\.\.\d*)?)`
const refsAtEnd = new RegExp(String.raw` \[(${oneRef}(?:, ${oneRef})*)\]$`)

/** Takes the references off the end of a line. */
export function takeRefs(line: string, tape: string | undefined): { rest: string; refs: string[] } {
  const match = line.endsWith(']') ? refsAtEnd.exec(line) : null
  if (match === null) return { rest: line, refs: [] }
  const refs = match[1]!.match(new RegExp(oneRef, 'g')) ?? []
  return { rest: line.slice(0, match.index), refs: refs.map((ref) => readRef(ref, tape)) }
}

export function readRef(ref: string, tape: string | undefined): string {
  if (ref.startsWith('"')) {
    try {
      return String(JSON.parse(ref))
    } catch {
      return ref
    }
  }
  return ref.startsWith('#') && tape !== undefined ? tape + ref : ref
}

export function takeStatus(line: string): { rest: string; status: Status | undefined } {
  for (const status of ['claimed', 'verified'] as const) {
    const mark = ` (${status})`
    if (line.endsWith(mark)) return { rest: line.slice(0, -mark.length), status }
  }
  return { rest: line, status: undefined }
}

/** A line that ends like a mark gets a backslash, and so does one that ends in a backslash. */
export function guardEnd(line: string): string {
  const marked = takeRefs(line, undefined).refs.length > 0 || takeStatus(line).status !== undefined
  return marked || line.endsWith('\\') ? `${line}\\` : line
}

export function unguardEnd(line: string): string {
  return line.endsWith('\\') ? line.slice(0, -1) : line
}

/** Puts a backslash in front of a line that Markdown or `parseDocument` would not read as text. */
export function guardStart(line: string, special: RegExp): string {
  return line.startsWith('\\') || special.test(line) ? `\\${line}` : line
}

export function unguardStart(line: string): string {
  return line.startsWith('\\') ? line.slice(1) : line
}
