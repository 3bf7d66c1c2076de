// What to do next, told from the facts alone: what was being done, what is broken, what was asked for.

import { codeSpan } from '../safety/fence.ts'
import type { Failure, Ledger, Quote } from '../ledger/facts.ts'
import { questionIn } from '../ledger/speech.ts'
import type { Item } from './document.ts'
import { oneLine } from './normal.ts'
import { shorten } from './shorten.ts'
import { isIdle, threadOf } from './thread.ts'

type Step = Pick<Item, 'text'> & { readonly ids: readonly number[] }

const wordLimit = 200

/** Best first, never empty; at most one per reason. */
export function nextSteps(ledger: Ledger, goal: string | undefined): Step[] {
  const { todos, lastRequest, questions, inFlight, background } = ledger
  const doing = todos.find((todo) => todo.status === 'in_progress')
  const pending = todos.find((todo) => todo.status === 'pending')
  const broken = unresolved(ledger).at(-1)
  const asked = questions.at(-1)
  const cut = inFlight.at(-1)
  const running = background.at(-1)
  const listed = Math.max(0, ...todos.map((todo) => todo.id))
  // A request that came after the list was written is not on it.
  const { quotes, answered } = threadOf(ledger)
  const given = quotes.findLast((one) => !isIdle(one.text)) ?? ledger.goal
  const request = isBlank(given) ? undefined : given
  const question =
    answered && request !== undefined && request === quotes.at(-1) ? questionIn(answered.text) : undefined
  const wanted =
    request &&
    (question === undefined ? brief(request.text, 120) : `${brief(question, 120)} → ${brief(request.text, 80)}`)
  const requested = request && { text: `Act on the user's request: ${wanted}`, ids: [request.id] }
  const steps: (Step | undefined)[] = [
    goal === undefined ? undefined : { text: `Work towards: ${brief(goal)}`, ids: [] },
    request !== undefined &&
    listed > 0 &&
    (request.id > listed || (doing === undefined && request.id === lastRequest?.id))
      ? requested
      : undefined,
    doing && { text: `Finish: ${brief(doing.text)}`, ids: [doing.id] },
    broken && { text: `Fix ${code(commandText(broken.what, ledger))}: ${code(broken.message)}`, ids: [broken.lastId] },
    doing === undefined && pending ? { text: `Start: ${brief(pending.text)}`, ids: [pending.id] } : undefined,
    asked && { text: `Get the user's answer to: ${brief(asked.text)}`, ids: [asked.id] },
    cut && { text: `See how far ${code(cut.what === '' ? cut.tool : cut.what)} got: it has no result`, ids: [cut.id] },
    running && { text: `Check on ${code(running.command)}, still running in the background`, ids: [running.startedId] },
  ]
  const found = steps.filter((step) => step !== undefined)
  if (found.length > 0) return found
  if (requested === undefined) return [{ text: 'Ask the user what to do: the tape holds no request', ids: [] }]
  // Whether it was carried out, only whoever reads the tape can tell.
  return [{ ...requested, text: `Check that the user's request is carried out: ${wanted}` }]
}

/** Nothing that a reader would see. */
export function isBlank(quote: Quote | undefined): quote is undefined {
  return quote === undefined || brief(quote.text) === ''
}

export function unresolved(ledger: Ledger): Failure[] {
  return ledger.failures.filter((failure) => failure.resolvedBy === undefined)
}

/** A command as it was meant: without where it ran, if that is the session's folder, and without what only trims its output. */
export function commandText(what: string, { git }: Ledger): string {
  const home = git?.cwd
  const here = /^\s*cd\s+("[^"]*"|'[^']*'|\S+)\s*&&\s*/.exec(what)
  const isHome = here !== null && home !== undefined && here[1]!.replaceAll(/^["']|["']$|\/$/g, '') === home
  const meant = isHome ? what.slice(here[0].length) : what
  return meant.replace(/(?:\s*(?:2>&1|\|\|\s*true|\|\s*(?:tail|head)(?:\s+-n?\s*\d+|\s+-\d+)?))+\s*$/, '') || what
}

export function brief(text: string, limit = wordLimit): string {
  return shorten(oneLine(text.slice(0, 20_000)), limit)
}

/** Words of a tool or an agent within a sentence of ours. */
export function code(text: string): string {
  return codeSpan(brief(text))
}
