// Which failures are open, and why the others are not. A check of the project stays open until it passes or the work leaves
// the machine; a step on the way, such as a probe or a wrong guess, is closed as soon as the work goes on without it.

import type { Closed, Deed, Ending, Failure, Instruction } from '../facts.ts'

interface Surroundings {
  readonly deeds: readonly Deed[]
  readonly instructions: readonly Instruction[]
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

function closedBy({ role, kind, lastId }: Failure, around: Surroundings): Closed | undefined {
  const { ending, lastChange } = around
  if (kind === 'error') return ending.state === 'error' && (ending.id ?? 0) <= lastId ? undefined : { reason: 'left' }
  if (role === 'step') return { reason: 'left' }
  if (role === 'report') return lastChange > lastId ? { reason: 'changed', id: lastChange } : undefined
  const sent = publishedSince(lastId, around)
  return sent === undefined ? undefined : { reason: 'published', id: sent }
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
