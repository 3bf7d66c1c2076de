// What the relay remembers of a trace, and what that allows: limits, circles, cooldown. The state is part of every request's entry,
// under the trace's own key, and the next request expects it unchanged. So the limits hold for requests from any process,
// and nobody has to read the history.

import { hash } from 'node:crypto'
import type { RequestRefusal } from './routes.ts'
import { type HandoffMode, type HandoffRequest, human } from '../schema.ts'
import type { Limits } from '../settings.ts'

export interface TraceState {
  /** Attempts to reach agents, those that were rejected included: of the trace, and by item. */
  readonly hops: number
  readonly items: readonly (readonly [item: string, attempts: number])[]
  /** Questions to people, who have a budget of their own. */
  readonly people?: number
  /** The paths that were taken, for each item. */
  readonly edges: readonly Edge[]
  /** The last three that were taken. */
  readonly recent: readonly (readonly [from: string, to: string, reason: string, item?: string])[]
  /** What was asked on which path, as a fingerprint, and how often; a mere fingerprint was asked once. */
  readonly asked: readonly (string | readonly [question: string, times: number])[]
  /** Who called whom, and who was given control; see trace-owner.ts. */
  readonly frames: readonly Frame[]
}

interface Edge {
  readonly from: string
  readonly to: string
  readonly item?: string
  readonly uses: number
  /** When it was last taken, in milliseconds, by the clock of the process that took it. */
  readonly last: number
}

/** An agent that has or had the trace. The first one began it; any other was called, or control was passed to it. */
export interface Frame {
  readonly agent: string
  readonly by?: string
  readonly mode?: HandoffMode
  readonly requestId?: string
}

export const newTrace: TraceState = { hops: 0, items: [], edges: [], recent: [], asked: [], frames: [] }

/** A path with a way back is a circle when it was taken this often, whatever was asked and about which item. */
const mostRounds = 6
/** More than any sensible chain of calls; older frames are dropped, except for the agent that began. */
const mostFrames = 64

const itemOf = (request: HandoffRequest) => request.sourceContext.documentType ?? ''

function attemptsOn(state: TraceState, item: string): number {
  return state.items.find(([name]) => name === item)?.[1] ?? 0
}

function edgeOf(state: TraceState, request: HandoffRequest): Edge | undefined {
  return state.edges.find((edge) => isSameEdge(edge, request))
}

function isSameEdge({ from, to, item = '' }: Edge, request: HandoffRequest): boolean {
  return from === request.sourceAgent && to === request.handoffTo && item === itemOf(request)
}

/** How much of the limits a trace has used, for the item of a request. */
export interface LimitUse {
  readonly perItem: number
  readonly perPipeline: number
  readonly people: number
}

export function limitUse(state: TraceState, request: HandoffRequest): LimitUse {
  return { perItem: attemptsOn(state, itemOf(request)), perPipeline: state.hops, people: state.people ?? 0 }
}

export function overLimit(state: TraceState, request: HandoffRequest, limits: Limits): RequestRefusal | undefined {
  const { maxHandoffsPerItem, maxHandoffsPerPipeline, maxHumanRequestsPerPipeline } = limits
  if (request.handoffTo === human) {
    if ((state.people ?? 0) < maxHumanRequestsPerPipeline) return undefined
    const reason = `This pipeline has asked people ${maxHumanRequestsPerPipeline} times (limits.maxHumanRequestsPerPipeline)`
    return { code: 'human_limit', reason }
  }
  if (attemptsOn(state, itemOf(request)) >= maxHandoffsPerItem) {
    const item = request.sourceContext.documentType
    const what = item === undefined ? 'This trace' : `"${item}"`
    const reason = `${what} has had its ${maxHandoffsPerItem} handoffs (limits.maxHandoffsPerItem)`
    return { code: 'item_limit', reason }
  }
  if (state.hops >= maxHandoffsPerPipeline) {
    const reason = `This pipeline has had its ${maxHandoffsPerPipeline} handoffs (limits.maxHandoffsPerPipeline)`
    return { code: 'pipeline_limit', reason }
  }
  return undefined
}

/** Signs of a circle; a request cannot avoid all of them by giving another reason. */
export function circular(
  state: TraceState,
  request: HandoffRequest,
  { maxSameQuestion }: Limits,
): RequestRefusal | undefined {
  const { sourceAgent, handoffTo, reason } = request
  const refuse = (why: string): RequestRefusal => ({ code: 'circular', reason: `Circular handoff: ${why}` })
  const path = `${sourceAgent} → ${handoffTo}`
  const before = timesAsked(state, fingerprint(request))
  if (handoffTo !== human) {
    if (before > 0 && (request.missingInputs ?? []).length > 0) {
      return refuse(`${path} was asked for the same inputs before`)
    }
    const same = state.recent.filter(
      ([from, to, why, item]) =>
        from === sourceAgent && to === handoffTo && why === reason && (item ?? '') === itemOf(request),
    ).length
    if (same >= 2) return refuse(`${path} with the reason ${reason} happened twice in the last three handoffs`)
  }
  if (before >= maxSameQuestion) {
    return refuse(`${path} was asked the same ${times(before)} already (limits.maxSameQuestion)`)
  }
  if (isThereAWayBack(state, request)) {
    const open = state.frames.filter(({ by, agent }) => by === sourceAgent && agent === handoffTo).length
    if (open >= maxSameQuestion) return refuse(`${path} was taken ${times(open)} already, and each waits for the next`)
    const all = state.edges.filter(({ from, to }) => from === sourceAgent && to === handoffTo)
    const uses = all.reduce((sum, edge) => sum + edge.uses, 0)
    if (uses >= mostRounds) return refuse(`${path} and back was taken ${times(uses)} already`)
  }
  return undefined
}

function times(n: number): string {
  return n === 1 ? 'once' : n === 2 ? 'twice' : `${n} times`
}

function timesAsked(state: TraceState, question: string): number {
  for (const each of state.asked) {
    if (each === question) return 1
    if (typeof each !== 'string' && each[0] === question) return each[1]
  }
  return 0
}

/** Whether the paths that were taken lead from the target to the agent that asks. */
function isThereAWayBack({ edges }: TraceState, { sourceAgent, handoffTo }: HandoffRequest): boolean {
  const reached = [handoffTo]
  for (const agent of reached) {
    if (agent === sourceAgent) return true
    for (const { from, to } of edges) if (from === agent && !reached.includes(to)) reached.push(to)
  }
  return false
}

export function coolingDown(
  state: TraceState,
  request: HandoffRequest,
  { handoffCooldownMs }: Limits,
  now: number,
): RequestRefusal | undefined {
  if (request.handoffTo === human) return undefined
  const last = edgeOf(state, request)?.last
  if (last === undefined || handoffCooldownMs === 0) return undefined
  // After a clock went back, nobody knows how long ago it was, so the cooldown starts now (see `attempted`).
  const elapsed = Math.max(0, now - last)
  if (elapsed >= handoffCooldownMs) return undefined
  const path = `${request.sourceAgent} → ${request.handoffTo}`
  const retryAfterMs = handoffCooldownMs - elapsed
  return { code: 'cooldown', reason: `${path} was taken just now; try again in ${retryAfterMs} ms`, retryAfterMs }
}

/** The trace after a rejected request: it counts as an attempt, but takes no path. */
export function attempted(state: TraceState, request: HandoffRequest, limits: Limits, now: number): TraceState {
  if (request.handoffTo === human) return { ...state, people: (state.people ?? 0) + 1 }
  const item = itemOf(request)
  const known = state.items.some(([name]) => name === item)
  const counted = state.items.map(([name, n]) => (name === item ? ([name, n + 1] as const) : ([name, n] as const)))
  // Beyond the limit of the pipeline no item matters any more, so new ones are not collected without end.
  if (!known && state.hops < limits.maxHandoffsPerPipeline) counted.push([item, 1])
  // A path taken in the future was taken before the clock went back; from now on, this clock counts.
  const edges = state.edges.map((edge) => (edge.last > now ? { ...edge, last: now } : edge))
  return { ...state, hops: state.hops + 1, items: counted, edges }
}

/** The trace after a request that was accepted. */
export function taken(
  state: TraceState,
  request: HandoffRequest,
  limits: Limits,
  now: number,
  { mode, requestId }: { mode: HandoffMode; requestId: string },
): TraceState {
  const after = attempted(state, request, limits, now)
  const { sourceAgent: from, handoffTo: to, reason } = request
  const item = itemOf(request)
  const edge = { from, to, item, uses: (edgeOf(state, request)?.uses ?? 0) + 1, last: now }
  const question = fingerprint(request)
  const asked = after.asked.filter((each) => (typeof each === 'string' ? each : each[0]) !== question)
  // A trace with no open request belongs to the next agent that makes one, and the answer returns there.
  const frames = after.frames.length <= 1 ? [{ agent: from }] : after.frames
  return {
    ...after,
    edges: [...after.edges.filter((other) => !isSameEdge(other, request)), edge],
    recent: [...after.recent, [from, to, reason, item] as const].slice(-3),
    asked: [...asked, [question, timesAsked(state, question) + 1]],
    frames: bounded([...frames, { agent: to, by: from, mode, requestId }]),
  }
}

export function bounded(frames: readonly Frame[]): readonly Frame[] {
  return frames.length <= mostFrames ? frames : [frames[0]!, ...frames.slice(1 - mostFrames)]
}

/** A hash of source, target, item and missing inputs. A person is asked in words: there, other words are another question. */
function fingerprint(request: HandoffRequest): string {
  const { sourceAgent, handoffTo, reasonDetail, contextForTarget } = request
  const missing = (request.missingInputs ?? []).map(({ key }) => key).sort()
  const words = handoffTo === human ? [reasonDetail, contextForTarget.summary] : []
  const about = JSON.stringify([sourceAgent, handoffTo, itemOf(request), missing, ...words])
  return hash('sha256', about, 'base64url').slice(0, 16)
}
