// Reads a document from Markdown: our own exactly, anyone else's as far as it can be understood.

import { clean } from '../../safety/clean.ts'
import type { HandoffDocument, Profile } from '../document.ts'
import { parseForeign } from './parse-foreign.ts'
import { normaliseDocument } from './normalise.ts'
import { ownTitle, parseOwn } from './parse-own.ts'

/** Items of a document that we wrote keep their status. Everything in anyone else's is claimed. */
export function parseDocument(markdown: string, profile?: Profile): HandoffDocument {
  const lines = unwrapped(clean(markdown)).split('\n')
  const title = ownTitle(lines)
  return normaliseDocument(title === undefined ? parseForeign(lines, profile) : parseOwn(lines, profile ?? title))
}

/** For a text by a model or an agent, whatever it says of itself: all of it is claimed, and nobody else's words. */
export function parseClaims(markdown: string, profile?: Profile): HandoffDocument {
  const document = parseDocument(markdown, profile)
  const sections = document.sections.map((section) => ({
    ...section,
    items: section.items.map((item) => ({ ...item, by: undefined, status: 'claimed' as const })),
  }))
  return normaliseDocument({ ...document, sections })
}

/** Without the tag of a new session, or the fence that models put around a whole answer. */
function unwrapped(markdown: string): string {
  const tagged = /^\s*<handoff-context>\n([^]*)\n<\/handoff-context>/.exec(markdown)
  if (tagged !== null) return unwrapped(tagged[1]!)
  const fenced = /^\s*(`{3,})(?:markdown|md)?[ \t]*\n([^]*?)\n\1[ \t]*$/.exec(markdown)
  return fenced === null ? markdown : fenced[2]!
}
