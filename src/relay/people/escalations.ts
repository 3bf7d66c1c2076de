// Escalations: requests that wait for a person. An answer belongs to one escalation. It is checked like the answer of an agent,
// counts once, and reaches the agent that waits for it, however long that takes.

import { BatonError, ConflictError, InvalidError, NotFoundError } from '../../errors.ts'
import type { Answers } from '../request/answers.ts'
import { type HandoffHistoryRow, history } from '../journal/history.ts'
import { escalationId, type OpenRequest } from '../journal/open-requests.ts'
import type { RelayContext } from '../context.ts'
import { escalationOf } from './notices.ts'
import type { AnswerResult, Escalation, EscalationDetail } from '../results.ts'
import { type Answered, type Escalated, eventIn, type Requested } from '../journal/events.ts'
import { isSameAnswer, responseTo } from '../request/response.ts'
import { human, priorities } from '../schema.ts'

export interface EscalationAnswer {
  /** Who answers. */
  readonly by: string
  /** `resolved` by default. */
  readonly status?: 'resolved' | 'partial' | 'failed' | undefined
  /** Why it failed; with any other status, a remark for the agent. */
  readonly reason?: string | undefined
}

export class Escalations {
  readonly #context: RelayContext
  readonly #answers: Answers

  constructor(context: RelayContext, answers: Answers) {
    this.#context = context
    this.#answers = answers
  }

  /** The open escalations: the most urgent first, then the oldest. */
  async list({ limit = 1_000 }: { limit?: number } = {}): Promise<Escalation[]> {
    const ids = (await this.ids()).slice(0, limit)
    const found = await Promise.all(ids.map((id) => this.show(id).catch(unlessLost)))
    return found.flatMap((detail) => (detail === undefined ? [] : [strip(detail)]))
  }

  /** Those that were answered last, the newest answer first. */
  async answered({ limit = 50 }: { limit?: number } = {}): Promise<EscalationDetail[]> {
    const ended = new Set<string>()
    const found: EscalationDetail[] = []
    for await (const row of history(this.#context, undefined, { limit: limit * eventsPerQuestion })) {
      if (row.type === 'answered' && row.rejection === undefined) ended.add(row.requestId)
      const id = askedIn(row)
      if (id === undefined || !ended.delete(row.requestId)) continue
      const detail = await this.show(id).catch(unlessLost)
      if (detail?.answer !== undefined) found.push(detail)
      if (found.length === limit) break
    }
    return found.sort((a, b) => (a.answer!.at < b.answer!.at ? 1 : -1))
  }

  /** The ids of the open escalations, in the same order. */
  async ids(): Promise<string[]> {
    const openRequests = await this.#context.journal.current()
    const rank = ({ priority }: OpenRequest) => priorities.indexOf(priority)
    return [...openRequests.byId.values()]
      .sort((a, b) => rank(a) - rank(b) || a.entry - b.entry)
      .flatMap(({ escalation }) => escalation ?? [])
  }

  async show(id: string): Promise<EscalationDetail> {
    const { journal, now } = this.#context
    const { requestEntry, event, date } = await this.#find(id)
    const envelope = await journal.envelope(requestEntry)
    const recommendations = event.type === 'escalated' ? event.recommendations : undefined
    const newest = await journal.newestOf(envelope.requestId)
    const isAnswered = newest?.event.type === 'answered'
    const { by, response } = isAnswered ? await journal.whole(newest.event as Answered) : {}
    return {
      ...escalationOf(envelope, id, now(), recommendations, date),
      request: envelope.request,
      ...(event.type === 'escalated' ? { via: event.via } : {}),
      ...(isAnswered ? { answer: { by: by!, at: newest.entry.date, response: response! } } : {}),
    }
  }

  async #find(id: string): Promise<{ requestEntry: number; event: Requested | Escalated; date: string }> {
    const unknown = () =>
      new NotFoundError(`There is no escalation "${id}"`, { hint: 'See "baton escalations ls" for those that wait.' })
    const entryId = /^e(\d{1,15})$/.exec(id)?.[1]
    if (entryId === undefined) throw unknown()
    const { journal } = this.#context
    const entry = await journal.entry(Number(entryId)).catch((error: unknown) => {
      throw error instanceof NotFoundError ? unknown() : error
    })
    const event = eventIn(entry)
    if (event?.type === 'escalated') return { requestEntry: event.request, event, date: entry.date }
    const isToPerson = event?.type === 'requested' && event.envelope.request.handoffTo === human
    if (!isToPerson || event.rejection !== undefined) throw unknown()
    return { requestEntry: entry.id, event, date: event.envelope.acceptedAt }
  }

  /** Throws what `answer` would throw for an answer that the request does not take. */
  check({ request }: Pick<EscalationDetail, 'request'>, inputs: unknown, answer: EscalationAnswer): void {
    responseTo(this.#context, request, answerOf(inputs, answer), { agent: human, tookMs: 0 })
  }

  async answer(id: string, inputs: unknown, { by, status, reason }: EscalationAnswer): Promise<AnswerResult> {
    if (by === '') throw new InvalidError('An answer needs to say whose it is', { path: 'by' })
    const { journal } = this.#context
    const { requestEntry } = await this.#find(id)
    const envelope = await journal.envelope(requestEntry)
    const { requestId, request, acceptedAt } = envelope
    const given = answerOf(inputs, { status, reason })
    for (;;) {
      const open = (await journal.current()).byId.get(requestId)
      const tookMs = this.#context.now() - Date.parse(acceptedAt)
      const response = responseTo(this.#context, request, given, { agent: human, tookMs })
      if (open === undefined) {
        const settled = await this.#answers.settled(requestId)
        if (settled.escalation !== id || !isSameAnswer(settled.response, response)) throw alreadyAnswered(id, settled)
        this.#context.observer.ignored({ requestId, why: 'duplicate' })
        return { status: 'duplicate', response: settled.response }
      }
      if (open.escalation !== id)
        throw new ConflictError(`${id} is not what ${requestId} waits for`, { actual: Math.max(open.head, 0) })
      const settling = { requestId, entry: requestEntry, head: open.head, envelope, escalation: id }
      const result = await this.#answers.settle(settling, response, { by })
      if (result !== undefined) return result
    }
  }
}

/** How far back answered questions are looked for: most events of the relay are between agents. */
const eventsPerQuestion = 40

/** The escalation that a row of the history begins. */
function askedIn(row: HandoffHistoryRow): string | undefined {
  if (row.type === 'escalated') return row.escalation
  return row.type === 'requested' && row.envelope.request.handoffTo === human ? escalationId(row.entry) : undefined
}

function answerOf(inputs: unknown, { status = 'resolved', reason }: Omit<EscalationAnswer, 'by'>) {
  const remark = status === 'failed' ? { failureReason: reason } : { recommendations: [reason] }
  return {
    status,
    ...(inputs === undefined ? {} : { providedInputs: inputs }),
    ...(reason === undefined ? {} : remark),
  }
}

function alreadyAnswered(id: string, { by, response }: Answered): ConflictError {
  return new ConflictError(`${id} was answered by ${by} on ${response.timestamp}`, {
    actual: 0,
    hint: `It can be answered only once; see the answer with "baton escalations show ${id}".`,
  })
}

/** The request was damaged, and could not be kept when the tape was repaired. */
export function unlessLost(error: unknown): undefined {
  if (!BatonError.is(error) || error.code !== 'not_found') throw error
}

function strip({ request: _request, via: _via, answer: _answer, ...escalation }: EscalationDetail): Escalation {
  return escalation
}
