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
  return failures.map((failure) => {
    if (failure.closed !== undefined) return failure
    const asked = failure.role === 'step' && failure.kind !== 'error' && isNamed(failure.what, around.instructions)
    const judged: Failure = asked ? { ...failure, role: 'task' } : failure
    const closed = closedBy(judged, around)
    return closed === undefined ? judged : { ...judged, closed }
  })
}

function closedBy(failure: Failure, around: Surroundings): Closed | undefined {
  const { role, kind, lastId } = failure
  const { ending } = around
  if (kind === 'error') return ending.state === 'error' && (ending.id ?? 0) <= lastId ? undefined : { reason: 'left' }
  if (role === 'step') return { reason: 'left' }
  if (role === 'report') return reportClosed(failure, around)
  const sent = publishedSince(lastId, around)
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
function publishedSince(lastId: number, { deeds, instructions }: Surroundings): number | undefined {
  return deeds.find(({ kind, id }) => {
    if (id <= lastId || kind === 'history') return false
    if (kind === 'outward') return true
    return instructions.filter((one) => one.id > lastId && one.id < id).length <= commitDistance
  })?.id
}

/** The user wrote the command: it is what the work is about, not a way to it. */
function isNamed(what: string, instructions: readonly Instruction[]): boolean {
  const command = what.trim().replaceAll(/\s+/g, ' ')
  if (!/^\S+ \S/.test(command) || command.length > 200) return false
  return instructions.some(({ text }) => text.includes(command))
}
