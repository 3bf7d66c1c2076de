// The way from a ledger to a document that may be shown to anyone: secrets go before anything is cut, since half a secret
// is no longer told from a word; then the document is composed and made to fit.

import { tokenCounter } from '../../tape/tokens.ts'
import type { Ledger } from '../ledger/facts.ts'
import { redactValue } from '../safety/redact.ts'
import { defaultBudget, fit, type Fitted } from './budget.ts'
import { compose, type ComposeOptions } from './compose.ts'

export interface MakeOptions extends ComposeOptions {
  /** Tokens of Markdown that it never exceeds. */
  readonly budget?: number
}

export interface Made extends Fitted {
  /** Kinds of secrets that were taken out, and how many of each. */
  readonly redacted: ReadonlyMap<string, number>
}

export async function makeDocument(ledger: Ledger, options: MakeOptions = {}): Promise<Made> {
  const { budget = defaultBudget, ...rest } = options
  const { value, kinds } = await redactValue({ ledger, rest })
  const count = await tokenCounter()
  return { ...fit(compose(value.ledger, value.rest), budget, count), redacted: kinds }
}
