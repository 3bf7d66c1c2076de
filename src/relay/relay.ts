// The relay as agents, people and doors hold it. Every method is a sentence about it; how it is done lies in the file
// of that noun, and how a request goes its way in manager.ts.

import { randomUUID } from 'node:crypto'
import os from 'node:os'
import { BatonError, InvalidError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { handoffTelemetry } from '../telemetry/index.ts'
import { type AnswerOptions, Answers } from './answers.ts'
import { type ClaimOptions, Claims } from './claims.ts'
import type { Desk } from './desk.ts'
import { ExpectedTypes } from './expected-type.ts'
import { happenings, history } from './history.ts'
import { Journal } from './journal.ts'
import { Manager, type RequestOptions } from './manager.ts'
import type { RelayObserver } from './observer.ts'
import type {
  AnswerResult,
  Claim,
  Counters,
  Escalation,
  HistoryQuery,
  HistoryRow,
  InboxItem,
  Outcome,
  Owner,
  RelayStatus,
  RequestStatus,
} from './outcome.ts'
import { Owners, parseTraceId } from './owner.ts'
import { People } from './people.ts'
import { chooseRecovery, type Failure, type RecoveryAction } from './recovery.ts'
import type { Answered } from './record.ts'
import { Resumptions } from './resumption.ts'
import { checkAgent } from './routes.ts'
import type { HandoffResponse } from './schema.ts'
import type { RelaySettings } from './settings.ts'
import { relayStatus, requestStatus } from './status.ts'
import { Traces } from './traces.ts'
import { Waiting } from './waiting.ts'
import { type Handler, type ServeOptions, Workers } from './worker.ts'

export interface RelayOptions {
  /** A store that is open; it stays open when the relay is closed. */
  readonly store: Store
  readonly settings: RelaySettings
  /** OpenTelemetry, unless given: it hears nothing and costs nothing until an SDK is set up. */
  readonly telemetry?: RelayObserver
  /**
   * Told when a person is asked; whatever becomes of it, the escalation is stored and listed. Where somebody tends the
   * relay, tell with a teller (teller.ts), so that people are told once by all together.
   */
  readonly notify?: (escalation: Escalation) => Promise<void> | void
  /** The agents that are functions of this process. */
  readonly handlers?: Readonly<Record<string, Handler>>
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

export interface ResumeOptions {
  /** Who goes on. */
  readonly by: string
  readonly signal?: AbortSignal
}

export async function openRelay(options: RelayOptions): Promise<Relay> {
  for (const agent of Object.keys(options.handlers ?? {})) checkAgent(options.settings, agent, 'handlers')
  return new Relay(options)
}

export class Relay {
  readonly settings: RelaySettings
  /** Requests that wait for a person. */
  readonly escalations: People
  readonly #desk: Desk
  readonly #journal: Journal
  readonly #manager: Manager
  readonly #answers: Answers
  readonly #claims: Claims
  readonly #waiting: Waiting
  readonly #workers: Workers
  readonly #owners: Owners
  readonly #resumptions: Resumptions
  readonly #background = new Set<Promise<unknown>>()
  #sweeping = 0

  constructor({
    store,
    settings,
    telemetry = handoffTelemetry(),
    notify,
    handlers = {},
    now = Date.now,
  }: RelayOptions) {
    const monotonic = () => performance.now()
    this.settings = settings
    this.#journal = new Journal(store, monotonic, () => {
      if (this.#sweeping === 0) this.#later(this.sweep())
    })
    this.#desk = {
      journal: this.#journal,
      settings,
      types: new ExpectedTypes(settings.types),
      observer: telemetry,
      now,
      monotonic,
      self: `${os.hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`,
      later: (work) => this.#later(work),
      notify: (escalation) => this.#later(Promise.resolve(escalation).then(notify)),
    }
    const traces = new Traces(this.#journal)
    this.#answers = new Answers(this.#desk)
    this.#claims = new Claims(this.#desk, this.#answers)
    this.#waiting = new Waiting(this.#desk, this.#answers)
    this.#workers = new Workers(this.#desk, this.#answers, this.#claims)
    this.#owners = new Owners(this.#desk, traces, () => this.sweep())
    this.#resumptions = new Resumptions(this.#desk)
    this.escalations = new People(this.#desk, this.#answers)
    const parts = {
      traces,
      owners: this.#owners,
      waiting: this.#waiting,
      claims: this.#claims,
      workers: this.#workers,
    }
    this.#manager = new Manager(this.#desk, parts, handlers)
  }

  /** Nobody waits for it, so nobody would hear that it failed; what it was about is on the tape. */
  #later(work: Promise<unknown>): void {
    const quiet = work.catch(() => {}).finally(() => this.#background.delete(quiet))
    this.#background.add(quiet)
  }

  /** Hands work over: to a function, to an inbox, or to a person. What is not a request is an error with its path. */
  async request(request: unknown, options?: RequestOptions): Promise<Outcome> {
    return this.#manager.request(request, options)
  }

  /** Several handoffs out of one turn: one wins, by priority, then by order; the others are recorded as rejected. */
  async requestOne(
    requests: readonly unknown[],
    options?: Omit<RequestOptions, 'requestId'> & { readonly turnId?: string },
  ): Promise<Outcome[]> {
    return this.#manager.requestOne(requests, options)
  }

  /** The answer, once there is one; also in another process than the one that asked. */
  async wait(requestId: string, { signal }: { signal?: AbortSignal } = {}): Promise<HandoffResponse> {
    const answer = await this.#answerOf(requestId, signal)
    await this.#waiting.tellResumed(answer)
    return answer.response
  }

  /**
   * The same, for whoever acts on it: the first to ask gets the answer, any other a conflict. With `work`, the answer is
   * used up when that is done: it is given back if the work fails, and free again if the process dies.
   */
  async resume(requestId: string, options: ResumeOptions): Promise<HandoffResponse>
  async resume<T>(
    requestId: string,
    options: ResumeOptions,
    work: (response: HandoffResponse) => Promise<T>,
  ): Promise<T>
  async resume<T>(
    requestId: string,
    { by, signal }: ResumeOptions,
    work?: (response: HandoffResponse) => Promise<T>,
  ): Promise<T | HandoffResponse> {
    const answer = await this.#answerOf(requestId, signal)
    const using = { requestId, by, signal }
    if (work === undefined) {
      await this.#resumptions.use(using)
      await this.#waiting.tellResumed(answer)
      return answer.response
    }
    return this.#resumptions.hold(using, async () => {
      await this.#waiting.tellResumed(answer)
      return work(answer.response)
    })
  }

  async #answerOf(requestId: string, signal: AbortSignal | undefined): Promise<Answered> {
    const settled = await this.#waiting.settled(requestId, { signal, forPeople: true })
    if (settled.type === 'answered') return settled.answer
    throw new InvalidError(`${requestId} was escalated while it was waited for`)
  }

  /** What waits for an agent, in the order in which it would be claimed. */
  async inbox(agent: string, { limit = 100 }: { limit?: number } = {}): Promise<InboxItem[]> {
    return this.#claims.inbox(agent, limit)
  }

  /** Every request as it becomes claimable, those that are so already first. */
  watchInbox(agent: string, signal: AbortSignal): AsyncIterable<InboxItem> {
    return this.#claims.watch(agent, signal)
  }

  /** The next request of an agent, held for as long as the lease lasts; undefined when there is none. */
  async claim(agent: string, options: ClaimOptions): Promise<Claim | undefined> {
    return this.#claims.claim(agent, options)
  }

  /** Makes the lease last from now on; false when the request is no longer this claim's, or its time is up. */
  async heartbeat(claim: Claim | Pick<Claim, 'requestId' | 'token'>): Promise<boolean> {
    return this.#claims.heartbeat(claim)
  }

  /** The first answer counts; a repeated one is told to be so, a late one is kept beside it. */
  async answer(requestId: string, answer: unknown, options?: AnswerOptions): Promise<AnswerResult> {
    return this.#answers.answer(requestId, answer, options)
  }

  /** Puts a claimed request back into its inbox. */
  async release(requestId: string, options?: { claim?: Pick<Claim, 'token'> }): Promise<void> {
    await this.#claims.release(requestId, options)
  }

  /** Claims, works and answers until aborted; what is in hand then goes back into the inbox. */
  async serve(agent: string, handler: Handler, options: ServeOptions): Promise<void> {
    await this.#workers.serve(agent, handler, options)
  }

  status(): Promise<RelayStatus>
  status(requestId: string): Promise<RequestStatus>
  async status(requestId?: string): Promise<RelayStatus | RequestStatus> {
    // What is out of time has failed. Where that cannot be written, it is told as it stands.
    await this.sweep().catch((error: unknown) => {
      if (!BatonError.is(error) || error.code !== 'storage') throw error
    })
    this.#claims.letGoAll(await this.#journal.current())
    return requestId === undefined ? relayStatus(this.#desk) : requestStatus(this.#desk, requestId)
  }

  /** Since the first request, over all processes. */
  async counters(): Promise<Counters> {
    return { ...(await this.#journal.current()).counters }
  }

  /** What happened, newest first. */
  history(query: HistoryQuery = {}): AsyncIterable<HistoryRow> {
    const traceId = query.traceId === undefined ? undefined : parseTraceId(query.traceId)
    return history(this.#desk, traceId, query)
  }

  /** What happens, in any process, from now on. */
  happenings(signal: AbortSignal): AsyncIterable<HistoryRow> {
    return happenings(this.#desk, signal)
  }

  /** What to do about a handoff that failed or brought only a part, by the policy; recorded with its reason. */
  async recover(requestId: string, failure: Failure): Promise<RecoveryAction> {
    const action = chooseRecovery(this.settings, this.#desk.types, failure)
    const { traceId } = failure.request
    await this.#journal.append([
      { type: 'recovered', requestId, traceId, action: action.action, reason: action.reason },
    ])
    return action
  }

  /** Ends the requests whose time is up, so that none stays open because nobody asked. */
  async sweep(): Promise<void> {
    this.#sweeping++
    try {
      await this.#answers.sweep(await this.#journal.current())
    } finally {
      this.#sweeping--
    }
  }

  /** Who has a trace now. */
  async owner(traceId: string): Promise<Owner> {
    return this.#owners.owner(traceId)
  }

  /** Gives a trace to another agent for good; only its owner can. */
  async passControl(traceId: string, change: { from: string; to: string; reason: string }): Promise<Owner> {
    return this.#owners.pass(traceId, change)
  }

  /** Gives a trace back to whoever called; only its owner can. */
  async returnToCaller(traceId: string, change: { from: string; reason: string }): Promise<Owner> {
    return this.#owners.giveBack(traceId, change)
  }

  /** Waits for what is under way. The store stays open. */
  async close(): Promise<void> {
    while (this.#background.size > 0) await Promise.all(this.#background)
    await this.#journal.close()
  }
}
