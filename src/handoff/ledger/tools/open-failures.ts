// Which failures are open, and why the others are not. A check of the project stays open until it passes or the work leaves
// the machine; a step on the way, such as a probe or a wrong guess, is closed as soon as the work goes on without it.

import type { Closed, Deed, Ending, Failure, Instruction, Quote } from '../facts.ts'
import { sharedWith, termsOf } from '../words/terms.ts'

interface Surroundings {
  readonly deeds: readonly Deed[]
  readonly instructions: readonly Instruction[]
  /** What the assistant said at the end of each turn. */
  readonly replies: readonly Quote[]
  /** Entry of the last change of a file. */
  readonly lastChange: number
  readonly ending: Ending
}

export function judgeFailures(failures: readonly Failure[], around: Surroundings): Failure[] {
  const requests = around.instructions.map(({ id }) => id)
  const isNamed = namedIn(around.instructions)
  return failures.map((failure) => {
    if (failure.closed !== undefined) return failure
    const asked = failure.role === 'step' && failure.kind !== 'error' && isNamed(failure.what)
    const judged: Failure = asked ? { ...failure, role: 'task' } : failure
    const closed = closedBy(judged, around, requests)
    return closed === undefined ? judged : { ...judged, closed }
  })
}

/** `requests`: the entries of the user's messages. */
function closedBy(failure: Failure, around: Surroundings, requests: readonly number[]): Closed | undefined {
  const { role, kind, lastId } = failure
  const { ending } = around
  if (kind === 'error') return ending.state === 'error' && (ending.id ?? 0) <= lastId ? undefined : { reason: 'left' }
  if (role === 'step') return { reason: 'left' }
  if (role === 'report') return reportClosed(failure, around)
  const sent = publishedSince(lastId, around.deeds, requests)
  return sent === undefined ? undefined : { reason: 'published', id: sent }
}

/** Messages after which a failure that nobody speaks of any more is left behind. */
const spokenSince = 2
/** So much of what failed comes up again while somebody is concerned with it. */
const mentioned = 0.2

function reportClosed({ lastId, message }: Failure, around: Surroundings): Closed | undefined {
  const { lastChange, instructions, replies } = around
  if (lastChange > lastId) return { reason: 'changed', id: lastChange }
  const since = instructions.filter(({ id }) => id > lastId)
  const [first] = since
  if (first === undefined || since.length < spokenSince) return undefined
  const talk = [...since, ...replies.filter(({ id }) => id > first.id)].map(({ text }) => text).join('\n')
  return sharedWith(termsOf(message), termsOf(talk)) < mentioned ? { reason: 'left' } : undefined
}

/** How many requests may lie between a failure and the commit that answers it. */
const commitDistance = 1

/** Whatever is sent out speaks for all of the work; a commit only for what was worked on right before it. */
function publishedSince(lastId: number, deeds: readonly Deed[], requests: readonly number[]): number | undefined {
  const before = requestsUpTo(lastId, requests)
  return deeds.find(({ kind, id }) => {
    if (id <= lastId || kind === 'history') return false
    if (kind === 'outward') return true
    return requestsUpTo(id - 1, requests) - before <= commitDistance
  })?.id
}

/** How many requests, which come in the order of the tape, an entry and those before it hold. */
function requestsUpTo(id: number, requests: readonly number[]): number {
  let [from, to] = [0, requests.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (requests[middle]! <= id) from = middle + 1
    else to = middle
  }
  return from
}

/** Whether the user wrote a command: it is what the work is about then, not a way to it. */
function namedIn(instructions: readonly Instruction[]): (what: string) => boolean {
  const known = new Map<string, boolean>()
  let words: string | undefined
  return (what) => {
    const command = what.trim().replaceAll(/\s+/g, ' ')
    if (!/^\S+ \S/.test(command) || command.length > 200) return false
    // No command has two lines, so none is found across two messages.
    words ??= instructions.map(({ text }) => text).join('\n')
    const isNamed = known.get(command) ?? words.includes(command)
    known.set(command, isNamed)
    return isNamed
  }
}
