// Requests that wait for a person. An answer is bound to the escalation it answers: it is checked like any other, counts
// once, and reaches whoever waits, however long that takes.

import { ConflictError, InvalidError, NotFoundError } from '../errors.ts'
import type { Answers } from './answers.ts'
import type { OpenRequest } from './board.ts'
import type { Desk } from './desk.ts'
import { escalationOf } from './escalation.ts'
import type { AnswerResult, Escalation, EscalationDetail } from './outcome.ts'
import { type Answered, type Escalated, factIn, type Requested } from './record.ts'
import { isSameAnswer, responseTo } from './response.ts'
import { human, priorities } from './schema.ts'

export interface PersonsAnswer {
  /** Who answers. */
  readonly by: string
  /** Resolved, unless something is left out or this says otherwise. */
  readonly status?: 'resolved' | 'partial' | 'failed' | undefined
  /** Why it failed. */
  readonly reason?: string | undefined
}

export class People {
  readonly #desk: Desk
  readonly #answers: Answers

  constructor(desk: Desk, answers: Answers) {
    this.#desk = desk
    this.#answers = answers
  }

  /** What waits for a person: the most urgent first, then the oldest. */
  async list({ limit = 1_000 }: { limit?: number } = {}): Promise<Escalation[]> {
    const ids = (await this.ids()).slice(0, limit)
    return Promise.all(ids.map(async (id) => strip(await this.show(id))))
  }

  /** The same, by their ids alone. */
  async ids(): Promise<string[]> {
    const board = await this.#desk.journal.current()
    const rank = ({ priority }: OpenRequest) => priorities.indexOf(priority)
    return [...board.open.values()]
      .sort((a, b) => rank(a) - rank(b) || a.entry - b.entry)
      .flatMap(({ escalation }) => escalation ?? [])
  }

  async show(id: string): Promise<EscalationDetail> {
    const { journal, now } = this.#desk
    const { requestEntry, fact, date } = await this.#find(id)
    const envelope = await journal.envelope(requestEntry)
    const recommendations = fact.type === 'escalated' ? fact.recommendations : undefined
    const newest = await journal.newestOf(envelope.requestId)
    const isAnswered = newest?.fact.type === 'answered'
    const { by, response } = isAnswered ? (newest.fact as Answered) : {}
    return {
      ...escalationOf(envelope, id, now(), recommendations, date),
      request: envelope.request,
      ...(fact.type === 'escalated' ? { via: fact.via } : {}),
      ...(isAnswered ? { answer: { by: by!, at: newest.entry.date, response: response! } } : {}),
    }
  }

  async #find(id: string): Promise<{ requestEntry: number; fact: Requested | Escalated; date: string }> {
    const unknown = () =>
      new NotFoundError(`There is no escalation "${id}"`, { hint: 'See "baton escalations ls" for those that wait.' })
    const entryId = /^e(\d{1,15})$/.exec(id)?.[1]
    if (entryId === undefined) throw unknown()
    const { journal } = this.#desk
    const entry = await journal.entry(Number(entryId)).catch((error: unknown) => {
      throw error instanceof NotFoundError ? unknown() : error
    })
    const fact = factIn(entry)
    if (fact?.type === 'escalated') return { requestEntry: fact.request, fact, date: entry.date }
    const isToPerson = fact?.type === 'requested' && fact.envelope.request.handoffTo === human
    if (!isToPerson || fact.rejection !== undefined) throw unknown()
    return { requestEntry: entry.id, fact, date: fact.envelope.acceptedAt }
  }

  async answer(id: string, inputs: unknown, { by, status, reason }: PersonsAnswer): Promise<AnswerResult> {
    if (by === '') throw new InvalidError('An answer needs to say whose it is', { path: 'by' })
    const { journal } = this.#desk
    const { requestEntry } = await this.#find(id)
    const envelope = await journal.envelope(requestEntry)
    const { requestId, request, acceptedAt } = envelope
    const given = {
      status: status ?? 'resolved',
      ...(inputs === undefined ? {} : { providedInputs: inputs }),
      ...(reason === undefined ? {} : { failureReason: reason }),
    }
    for (;;) {
      const open = (await journal.current()).open.get(requestId)
      const tookMs = this.#desk.now() - Date.parse(acceptedAt)
      const response = responseTo(this.#desk, request, given, { agent: human, tookMs })
      if (open === undefined) {
        const settled = await this.#answers.settled(requestId)
        if (settled.escalation !== id || !isSameAnswer(settled.response, response)) throw alreadyAnswered(id, settled)
        this.#desk.observer.ignored({ requestId, why: 'duplicate' })
        return { status: 'duplicate', response: settled.response }
      }
      if (open.escalation !== id)
        throw new ConflictError(`${id} is not what ${requestId} waits for`, { actual: open.head })
      const settling = { requestId, entry: requestEntry, head: open.head, envelope, escalation: id }
      const result = await this.#answers.settle(settling, response, { by })
      if (result !== undefined) return result
    }
  }
}

function alreadyAnswered(id: string, { by, response }: Answered): ConflictError {
  return new ConflictError(`${id} was answered by ${by} on ${response.timestamp}`, {
    actual: 0,
    hint: `An answer counts once; see it with "baton escalations show ${id}".`,
  })
}

function strip({ request: _request, via: _via, answer: _answer, ...escalation }: EscalationDetail): Escalation {
  return escalation
}
