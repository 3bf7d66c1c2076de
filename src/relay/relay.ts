// The relay: requests between agents, from process to process, that are answered once. This file is what agents, people and
// commands hold; each method says what it does, and the file of that noun does it:
//
// - manager.ts takes a request on its way; request/ decides whether it is let through, and how it is answered.
// - work/ is the other side: inboxes, claims with leases, and functions that serve them.
// - people/ is what happens when a person has to answer.
// - journal/ is the tape with all events, and what is folded from it.
// - alerts/ reports when the relay itself needs attention; maintenance.ts does what is due while nobody asks.
// - job.ts is the side of an agent that asks for what its work is missing.

import { randomUUID } from 'node:crypto'
import os from 'node:os'
import * as z from 'zod'
import { checked, findWorkspace, loadConfig } from '../config/index.ts'
import { BatonError, CancelledError, InvalidError } from '../errors.ts'
import { checkOptions, type OptionNames } from '../options.ts'
import { type Json, openStore, type Store } from '../store/index.ts'
import { handoffTelemetry } from '../telemetry/index.ts'
import { type AlertReading, alertReadings } from './alerts/alert-rules.ts'
import { askOptions, type AskOptions, type AskResult, requestOf, resultOf } from './ask.ts'
import { type RelayClock, relayClock } from './clock.ts'
import type { RelayContext, RelayObserver } from './context.ts'
import type { Answered } from './journal/events.ts'
import { type HandoffHistoryQuery, type HandoffHistoryRow, history, watchHistory } from './journal/history.ts'
import { type ArchiveOptions, type ArchiveResult, Journal } from './journal/journal.ts'
import type { Counters } from './journal/open-requests.ts'
import { relayStatus, type RelayStatus, requestStatus, type RequestStatus } from './journal/status.ts'
import { type IdKind, wholeId } from './journal/whole-ids.ts'
import { Manager, requestOptions, type RequestOptions, sharedOptions } from './manager.ts'
import { Escalations } from './people/escalations.ts'
import { chooseRecovery, type HandoffFailure, type RecoveryAction } from './recovery.ts'
import { type AnswerOptions, Answers } from './request/answers.ts'
import { ExpectedTypes } from './request/expected-type.ts'
import { Resumptions } from './request/resumption.ts'
import { checkAgent } from './request/routes.ts'
import { TraceLog } from './request/trace-log.ts'
import { type Owner, parseTraceId, TraceOwners } from './request/trace-owner.ts'
import { Waiters } from './request/waiters.ts'
import type { AnswerResult, Claim, Escalation, InboxItem, RequestOutcome } from './results.ts'
import type { HandoffRequest, HandoffResponse } from './schema.ts'
import { relaySection, type RelaySettings } from './settings.ts'
import { type ClaimOptions, Claims } from './work/claims.ts'
import { DeadLetters } from './work/dead-letters.ts'
import { type ProgressUpdate, Questions } from './work/questions.ts'
import { serve, type ServeOptions } from './work/serving.ts'
import { type HandoffHandler, Workers } from './work/worker.ts'

const day = 24 * 60 * 60 * 1_000
/** Archiving begins with so many closed requests beyond those that are kept, because each time costs as much as what is kept. */
const worthwhile = (kept: number) => Math.max(4 * kept, 400)
const archiveSchema = z.strictObject({
  olderThanMs: z.number().min(0).optional(),
  keep: z.int().min(0).optional(),
})

/** The store, the settings and the agents of a relay. All of them have defaults. */
export interface RelayOptions extends Partial<RelayClock> {
  /** A store that is open; it stays open when the relay is closed. By default, that of the workspace, which is closed with the relay. */
  readonly store?: Store
  /** By default, the `relay` section of baton.config.json, if there is one. */
  readonly settings?: RelaySettings
  /** OpenTelemetry by default, which does nothing and costs nothing until an SDK is set up. */
  readonly telemetry?: RelayObserver
  /**
   * Called when a person is asked. If it fails, the escalation is still stored and listed. Where a process maintains the
   * relay (`maintainRelay`), notify with `openOnceNotifier`, so that all processes together notify people once.
   */
  readonly notify?: (escalation: Escalation) => Promise<void> | void
  /** Agents that are functions of this process, by their names. */
  readonly handlers?: Readonly<Record<string, HandoffHandler>>
}

const relayOptions = {
  store: true,
  settings: true,
  telemetry: true,
  notify: true,
  handlers: true,
  now: true,
  monotonic: true,
  machine: true,
} as const satisfies OptionNames<RelayOptions>

export interface ResumeOptions {
  /** The agent that continues with the answer. */
  readonly by: string
  readonly signal?: AbortSignal
}

/** Opens the relay of a workspace, by default that of the current folder. */
export async function openRelay(options: RelayOptions = {}): Promise<Relay> {
  checkOptions('openRelay', options, relayOptions)
  const settings = options.settings ?? loadConfig(process.cwd()).section('relay', relaySection)
  for (const agent of Object.keys(options.handlers ?? {})) checkAgent(settings, agent, 'handlers')
  const store = options.store ?? (await openStore(findWorkspace().address))
  return new Relay({ ...options, settings, store, ownsStore: options.store === undefined })
}

/** Durable requests between agents, and to people, in any number of processes. */
export class Relay {
  readonly settings: RelaySettings
  /** Requests that wait for a person. */
  readonly escalations: Escalations
  /** Requests that killed the workers that took them. */
  readonly deadLetters: DeadLetters
  readonly #context: RelayContext
  readonly #journal: Journal
  readonly #manager: Manager
  readonly #answers: Answers
  readonly #claims: Claims
  readonly #waiting: Waiters
  readonly #workers: Workers
  readonly #questions: Questions
  readonly #closeStore: () => Promise<void>
  readonly #owners: TraceOwners
  readonly #resumptions: Resumptions
  readonly #background = new Set<Promise<unknown>>()
  readonly #serving = new Set<Promise<unknown>>()
  #sweeping = 0
  #isArchiving = false

  constructor({
    store,
    settings,
    telemetry = handoffTelemetry(),
    notify,
    handlers = {},
    ownsStore,
    ...clocks
  }: RelayOptions & { store: Store; settings: RelaySettings; ownsStore: boolean }) {
    const clock = relayClock(clocks)
    this.settings = settings
    this.#closeStore = async () => (ownsStore ? store.close() : undefined)
    this.#journal = new Journal(store, clock, () => {
      if (this.#sweeping === 0) this.#later(this.sweep())
      this.#later(this.archiveWhenDue())
    })
    this.#context = {
      journal: this.#journal,
      settings,
      types: new ExpectedTypes(settings.types),
      observer: telemetry,
      ...clock,
      self: `${os.hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`,
      inBackground: (work) => this.#later(work),
      notify: (escalation) => this.#later(Promise.resolve(escalation).then(notify)),
    }
    const traces = new TraceLog(this.#journal)
    this.#answers = new Answers(this.#context)
    this.#claims = new Claims(this.#context, this.#answers)
    this.#waiting = new Waiters(this.#context, this.#answers)
    this.#questions = new Questions(this.#context)
    this.#workers = new Workers(this.#context, this.#answers, this.#claims, this.#questions)
    this.#owners = new TraceOwners(this.#context, traces, () => this.sweep())
    this.#resumptions = new Resumptions(this.#context)
    this.escalations = new Escalations(this.#context, this.#answers)
    this.deadLetters = new DeadLetters(this.#context, () => this.#sweepIfPossible())
    const parts = {
      traces,
      owners: this.#owners,
      waiting: this.#waiting,
      claims: this.#claims,
      workers: this.#workers,
      answers: this.#answers,
      questions: this.#questions,
    }
    this.#manager = new Manager(this.#context, parts, handlers)
  }

  /** Nobody waits for this work, so nobody could handle its failure; what it was about is on the tape. */
  #later(work: Promise<unknown>): void {
    const quiet = work.catch(() => {}).finally(() => this.#background.delete(quiet))
    this.#background.add(quiet)
  }

  /**
   * One agent asks another, or `human`, and gets what it asked for in the type of the schema. Look at `status`: `resolved` and
   * `partial` have `inputs`, `failed` and `rejected` a `reason`, `escalated` waits for a person. Aborting the signal cancels the request.
   */
  async ask<S extends z.ZodObject = z.ZodObject<Record<string, z.ZodType<Json>>>>(
    from: string,
    to: string,
    options: AskOptions<S>,
  ): Promise<AskResult<z.output<S>>> {
    checkOptions('relay.ask', options, askOptions)
    const requestId = options.requestId ?? randomUUID()
    const { signal } = options
    try {
      const asked = { patient: true, ...options }
      return resultOf(await this.#manager.request(requestOf(from, to, options), asked, requestId), options.schema)
    } catch (error) {
      if (signal?.aborted !== true || !BatonError.is(error) || error.code !== 'cancelled') throw error
      await this.cancel(requestId, { by: from }).catch(unlessUnknown)
      throw new CancelledError(`${requestId} was cancelled`)
    }
  }

  /** Hands work over to a function, an inbox or a person. An invalid request is an error that names the path. */
  async request(request: HandoffRequest, options?: RequestOptions): Promise<RequestOutcome> {
    return this.requestFromJson(request, options)
  }

  /** As `request`, for JSON from outside, which is checked in the same way. */
  async requestFromJson(request: unknown, options?: RequestOptions): Promise<RequestOutcome> {
    checkOptions('relay.request', options, requestOptions)
    return this.#manager.request(request, options)
  }

  /** Several requests out of one turn: one wins, by priority, then by order; the others are recorded as rejected. */
  async requestOneOf(
    requests: readonly HandoffRequest[],
    options?: Omit<RequestOptions, 'requestId' | 'patient'> & { readonly turnId?: string },
  ): Promise<RequestOutcome[]> {
    checkOptions('relay.requestOneOf', options, { ...sharedOptions, turnId: true })
    return this.#manager.requestOneOf(requests, options)
  }

  /** Ends a request whose answer nobody wants any more; the signal of its worker is aborted. False if it had ended before. */
  async cancel(requestId: string, { by, reason }: { by: string; reason?: string }): Promise<boolean> {
    return this.#answers.cancel(requestId, { by, reason: reason ?? `${by} has cancelled it` })
  }

  /** Tells the agent that asked how far a worker is; handlers have `context.progress` for it. */
  async progress(requestId: string, update: ProgressUpdate & { by: string }): Promise<void> {
    const { by, ...shown } = update
    await this.#questions.report(requestId, by, shown)
  }

  /** Replies to the question that a worker asks back about a request, see `status(requestId).question`. */
  async reply(requestId: string, reply: { by: string; answer: Json }): Promise<void> {
    await this.#questions.reply(requestId, reply)
  }

  /** Resolves with the answer once there is one, in any process. */
  async wait(requestId: string, { signal }: { signal?: AbortSignal } = {}): Promise<HandoffResponse> {
    const answer = await this.#answerOf(requestId, signal)
    await this.#waiting.reportResumed(answer)
    return answer.response
  }

  /**
   * As `wait`, for an agent that acts on the answer: the first caller gets it, any other a conflict. With `work`, the answer is used up
   * when the work is done; if the work fails or the process dies, the answer can be resumed again.
   */
  async resume(requestId: string, options: ResumeOptions): Promise<HandoffResponse>
  async resume<T>(
    requestId: string,
    options: ResumeOptions,
    work: (response: HandoffResponse) => Promise<T>,
  ): Promise<T>
  async resume<T>(
    requestId: string,
    options: ResumeOptions,
    work?: (response: HandoffResponse) => Promise<T>,
  ): Promise<T | HandoffResponse> {
    checkOptions('relay.resume', options, { by: true, signal: true })
    const { by, signal } = options
    const answer = await this.#answerOf(requestId, signal)
    const using = { requestId, by, signal }
    if (work === undefined) {
      await this.#resumptions.use(using)
      await this.#waiting.reportResumed(answer)
      return answer.response
    }
    return this.#resumptions.hold(using, async () => {
      await this.#waiting.reportResumed(answer)
      return work(answer.response)
    })
  }

  async #answerOf(requestId: string, signal: AbortSignal | undefined): Promise<Answered> {
    const settled = await this.#waiting.settled(requestId, { signal, forPeople: true })
    if (settled.type === 'answered') return settled.answer
    throw new InvalidError(`${requestId} was escalated while it was waited for`)
  }

  /** The requests that wait for an agent, in the order in which they would be claimed. */
  async inbox(agent: string, { limit = 100 }: { limit?: number } = {}): Promise<InboxItem[]> {
    return this.#claims.inbox(agent, limit)
  }

  /** Every request as it becomes claimable; those that already are come first. */
  watchInbox(agent: string, signal: AbortSignal): AsyncIterable<InboxItem> {
    return this.#claims.watch(agent, signal)
  }

  /** The next request of an agent, held for as long as the lease lasts; undefined when there is none. */
  async claim(agent: string, options: ClaimOptions): Promise<Claim | undefined> {
    checkOptions('relay.claim', options, { worker: true, leaseMs: true, requestId: true })
    return this.#claims.claim(agent, options)
  }

  /** Renews the lease; false when the claim no longer holds the request, or the request is overdue. */
  async heartbeat(claim: Claim | Pick<Claim, 'requestId' | 'token'>): Promise<boolean> {
    return this.#claims.heartbeat(claim)
  }

  /** The first answer counts; the result says whether this one was accepted, a duplicate, or late. */
  async answer(requestId: string, answer: unknown, options?: AnswerOptions): Promise<AnswerResult> {
    checkOptions('relay.answer', options, { claim: true, by: true })
    return this.#answers.answer(requestId, answer, options)
  }

  /** Puts a claimed request back into its inbox. */
  async release(requestId: string, options?: { claim?: Pick<Claim, 'token'> }): Promise<void> {
    await this.#claims.release(requestId, options)
  }

  /**
   * Claims, works and answers until aborted or until the relay is closed; requests that are being worked on then go back into the
   * inbox.
   */
  async serve(agent: string, handler: HandoffHandler, options: ServeOptions = {}): Promise<void> {
    checkOptions('relay.serve', options, { signal: true, worker: true, leaseMs: true, concurrency: true })
    const parts = { answers: this.#answers, claims: this.#claims, workers: this.#workers }
    const serving = serve(this.#context, parts, agent, handler, options)
    const quiet = serving.catch(() => {}).finally(() => this.#serving.delete(quiet))
    this.#serving.add(quiet)
    return serving
  }

  /** The relay as a whole, or one request. */
  status(): Promise<RelayStatus>
  status(requestId: string): Promise<RequestStatus>
  async status(requestId?: string): Promise<RelayStatus | RequestStatus> {
    await this.#sweepIfPossible()
    this.#claims.lapseAllExpired(await this.#journal.current())
    return requestId === undefined ? relayStatus(this.#context) : requestStatus(this.#context, requestId)
  }

  /** The id that begins like this, as people type them; what was given, where none does. Several are an error that names them. */
  async wholeId(kind: IdKind, given: string): Promise<string> {
    return wholeId(this.#journal, kind, given)
  }

  /** Counts since the first request, over all processes. */
  async counters(): Promise<Counters> {
    return { ...(await this.#journal.current()).counters }
  }

  /** All events, newest first. */
  history(query: HandoffHistoryQuery = {}): AsyncIterable<HandoffHistoryRow> {
    checkOptions('relay.history', query, { traceId: true, since: true, limit: true })
    const traceId = query.traceId === undefined ? undefined : parseTraceId(query.traceId)
    return history(this.#context, traceId, query)
  }

  /** Every event of any process, from now on. */
  watchHistory(signal: AbortSignal): AsyncIterable<HandoffHistoryRow> {
    return watchHistory(this.#context, signal)
  }

  /** Chooses by the policy what to do about a handoff that failed or was answered in part, and records it with its reason. */
  async recover(requestId: string, failure: HandoffFailure): Promise<RecoveryAction> {
    const action = chooseRecovery(this.settings, this.#context.types, failure)
    const { traceId } = failure.request
    await this.#journal.append([
      { type: 'recovered', requestId, traceId, action: action.action, reason: action.reason },
    ])
    return action
  }

  /** Before anything is shown: overdue requests have failed. When that cannot be written, it is shown without it. */
  async #sweepIfPossible(): Promise<void> {
    await this.sweep().catch((error: unknown) => {
      if (!BatonError.is(error) || error.code !== 'storage') throw error
    })
  }

  /** Ends requests that are overdue or killed their workers, so that none stays open because nobody looks at it. */
  async sweep(): Promise<void> {
    this.#sweeping++
    try {
      await this.#answers.sweep(await this.#journal.current())
    } finally {
      this.#sweeping--
    }
  }

  /**
   * Moves closed traces to an archive, so that they no longer cost anything; they can still be looked up, and an id that was used is
   * still known. Open traces stay, and any number of processes may request, serve and answer meanwhile. Undefined when there is nothing
   * to move.
   */
  async archive(options: ArchiveOptions = {}): Promise<ArchiveResult | undefined> {
    return this.#journal.archive(checked(archiveSchema, options, 'archive'))
  }

  /** Archives by the `retention` of the settings, once there is enough to make it worthwhile. */
  async archiveWhenDue(): Promise<ArchiveResult | undefined> {
    const { traces, days } = this.settings.retention
    const olderThanMs = days * day
    const isDue = async () => this.#journal.isArchiveDue({ requests: traces + worthwhile(traces), ageMs: olderThanMs })
    if (this.#isArchiving || !(await isDue())) return undefined
    this.#isArchiving = true
    try {
      return await this.#journal.archive({ olderThanMs, keep: traces })
    } finally {
      this.#isArchiving = false
    }
  }

  /** The agent that owns a trace now. */
  async owner(traceId: string): Promise<Owner> {
    return this.#owners.owner(traceId)
  }

  /** Gives a trace to another agent for good; only its owner can. */
  async passControl(traceId: string, change: { from: string; to: string; reason: string }): Promise<Owner> {
    return this.#owners.pass(traceId, change)
  }

  /** Gives a trace back to the caller; only its owner can. */
  async returnToCaller(traceId: string, change: { from: string; reason: string }): Promise<Owner> {
    return this.#owners.giveBack(traceId, change)
  }

  /** What the alerts are computed from, after overdue requests were ended. */
  async alertReadings(now: number): Promise<AlertReading[]> {
    await this.sweep()
    return alertReadings(await this.#journal.current(), now, this.settings.alerts)
  }

  /** Waits for all work that is under way. A store that the relay was given stays open. */
  async close(): Promise<void> {
    while (this.#background.size > 0) await Promise.all(this.#background)
    await this.#journal.close()
    await Promise.all(this.#serving)
    while (this.#background.size > 0) await Promise.all(this.#background)
    await this.#closeStore()
  }
}

/** The request may never have been handed over. */
function unlessUnknown(error: unknown): void {
  if (!BatonError.is(error) || error.code !== 'not_found') throw error
}
