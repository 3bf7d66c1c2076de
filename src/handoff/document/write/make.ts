// This folder turns a ledger into a document that may be shown to anyone. Secrets are taken out before anything is cut, since
// half a secret cannot be told from a word; then compose.ts writes the items and budget.ts makes them fit.

import { tokenCounter } from '../../../tape/index.ts'
import type { Ledger } from '../../ledger/facts.ts'
import type { HandoffDocument, Profile, Section } from '../document.ts'
import { renderSection } from '../markdown/render.ts'
import { readTitle } from '../sections.ts'
import { mapStrings, redactValue } from '../../safety/redact.ts'
import { defaultBudget, fit, type Fitted } from './budget.ts'
import { compose, type ComposeOptions } from './compose.ts'

export interface MakeOptions extends ComposeOptions {
  /** Tokens of Markdown that it never exceeds. */
  readonly budget?: number
}

export interface Made extends Fitted {
  /** All items, and all of each: what the next document is made from. */
  readonly whole: HandoffDocument
  /** Kinds of secrets that were taken out, and how many of each. */
  readonly redacted: ReadonlyMap<string, number>
}

export async function makeDocument(ledger: Ledger, options: MakeOptions = {}): Promise<Made> {
  const { budget = defaultBudget, ...rest } = options
  const { value, kinds } = await redactValue(withoutMiddles({ ledger, rest }))
  const count = await tokenCounter()
  const whole = compose(value.ledger, value.rest)
  return { ...fit(whole, budget, count), whole, redacted: kinds }
}

/** The sections as Markdown: what a document left out. */
export function sectionsText(sections: readonly Section[], profile: Profile, tape: string): string {
  const document = { profile, header: { tape }, sections }
  return sections.map((section) => renderSection(document, section)).join('\n\n')
}

/** A section with all its items, as Markdown; undefined where the document has none of that title. */
export function sectionText(
  ledger: Ledger,
  title: string,
  options: Pick<ComposeOptions, 'profile' | 'tape'> = {},
): string | undefined {
  const document = compose(ledger, options)
  const key = readTitle(title)
  const section = document.sections.find((each) => each.key === key)
  return section && renderSection(document, section)
}

/** Characters of each end of a text that may be looked at. A document shows far less of either: a secret cut here is not in it. */
const endLength = 50_000

/** What lies in the middle of a huge text is not shown, so it need not be searched for secrets. */
function withoutMiddles<T>(value: T): T {
  return mapStrings(value, (text) =>
    text.length <= 2 * endLength ? text : `${text.slice(0, endLength)}\n…\n${text.slice(-endLength)}`,
  )
}
