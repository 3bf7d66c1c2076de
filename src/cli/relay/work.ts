// `baton relay inbox|claim|heartbeat|answer|release`: for the agent that answers requests.

import os from 'node:os'
import { CancelledError, ConflictError, InvalidError, NotFoundError } from '../../errors.ts'
import { answerCommandFor, type AnswerResult, type Claim, type InboxItem, type Relay } from '../../relay/index.ts'
import { cancellable, personAt } from '../base/io.ts'
import { readObject } from '../base/json-file.ts'
import { age, brief, type Globals, type Output } from '../base/output.ts'
import { withRelay } from './with-relay.ts'
import { given, parseInputs } from './input.ts'
import { duration, printRequest, printResponse } from './text.ts'
import { userName } from '../base/user-name.ts'

export async function inbox(options: Globals & { watch?: boolean }, agent: string): Promise<void> {
  await withRelay(options, async ({ relay, out }) => {
    if (options.watch === true) return watch(relay, agent, out)
    const items = await relay.inbox(agent)
    if (out.json) return items.forEach((item) => out.data(item))
    if (items.length === 0) return out.note(`Nothing waits for ${agent}.`)
    const rows = items.map((item) => [
      item.requestId,
      item.priority,
      item.from,
      item.reason,
      age(item.acceptedAt),
      brief(item.summary, 60),
    ])
    out.table([['REQUEST', 'PRIORITY', 'FROM', 'REASON', 'ASKED', 'SUMMARY'], ...rows])
  })
}

async function watch(relay: Relay, agent: string, out: Output): Promise<void> {
  await cancellable(out.io, async (signal) => {
    for await (const item of relay.watchInbox(agent, signal)) {
      if (out.json) out.data(item)
      else out.line(lineOf(item))
    }
  })
  out.io.exit.code = 130
}

function lineOf({ requestId, priority, from, reason, summary }: InboxItem): string {
  return `${requestId}  ${priority}  ${from}  ${reason}  ${brief(summary, 60)}`
}

interface ClaimOptions extends Globals {
  lease?: number
  worker?: string
  request?: string
  wait?: boolean
}

export async function claim(options: ClaimOptions, agent: string): Promise<void> {
  const wanted = {
    worker: options.worker ?? `${userName()}@${os.hostname()}`,
    ...(options.lease === undefined ? {} : { leaseMs: options.lease }),
    ...(options.request === undefined ? {} : { requestId: options.request }),
  }
  await withRelay(options, async ({ relay, out }) => {
    const taken =
      (await relay.claim(agent, wanted)) ??
      (options.wait === true
        ? await cancellable(options.io, (signal) => waitToClaim(relay, agent, wanted, signal))
        : undefined)
    if (taken === undefined) {
      const what = options.request === undefined ? `Nothing waits for ${agent}` : `${options.request} cannot be claimed`
      throw new NotFoundError(what, { hint: `See "baton relay inbox ${agent}", or wait for one with --wait.` })
    }
    const { requestId, worker, token, leaseMs, envelope } = taken
    if (out.json) return out.data({ requestId, agent, worker, token, leaseMs, envelope })
    printRequest(out, requestId, envelope.request)
    out.note(`\nYours for ${duration(leaseMs)}. Answer it, give it back, or keep it for longer:`)
    out.line(`  ${answerCommandFor(taken)}`)
    out.line(`  baton relay release ${requestId} --token ${token}`)
    out.line(`  baton relay heartbeat ${requestId} --token ${token}`)
  })
}

async function waitToClaim(
  relay: Relay,
  agent: string,
  wanted: Parameters<Relay['claim']>[1],
  signal: AbortSignal,
): Promise<Claim> {
  for await (const item of relay.watchInbox(agent, signal)) {
    if (wanted.requestId !== undefined && item.requestId !== wanted.requestId) continue
    const taken = await relay.claim(agent, wanted)
    if (taken !== undefined) return taken
  }
  throw new CancelledError(`Nothing came for ${agent}`)
}

export async function heartbeat(options: Globals & { token: string }, requestId: string): Promise<void> {
  await withRelay(options, async ({ relay, out }) => {
    const isHeld = await relay.heartbeat({ requestId, token: options.token })
    const { status, claim } = await relay.status(requestId)
    if (!isHeld || claim === undefined) {
      throw new ConflictError(`${requestId} is not yours any more: it is ${status}`, {
        actual: 0,
        hint: 'Leave it: an answer would come too late.',
      })
    }
    if (out.json) out.data({ requestId, status: 'held', until: claim.until })
    else out.note(`Yours until ${claim.until}.`)
  })
}

interface AnswerOptions extends Globals {
  status?: string
  input?: string[]
  file?: string
  unresolved?: string[]
  failure?: string
  recommend?: string[]
  tokens?: number
  token?: string
  by?: string
}

export async function answer(options: AnswerOptions, requestId: string): Promise<void> {
  const file = options.file === undefined ? {} : await readObject(options.file, options.io)
  await withRelay(options, async ({ relay, telemetry, out }) => {
    const { envelope } = await relay.status(requestId)
    const { handoffTo, reason } = envelope.request
    if (handoffTo === 'human' && reason === 'requires_human_decision') personAt(options.io)
    const whole: Record<string, unknown> = {
      ...file,
      ...given({
        status: options.status,
        unresolved: options.unresolved,
        failureReason: options.failure,
        recommendations: options.recommend,
        tokensUsed: options.tokens,
      }),
      ...(options.input === undefined
        ? {}
        : { providedInputs: parseInputs(options.input, envelope.request.missingInputs) }),
    }
    if (whole.status === undefined) {
      throw new InvalidError('An answer needs --status', { path: 'status', hint: 'resolved, partial or failed.' })
    }
    const { request } = envelope
    const agent = relay.settings.agents[request.handoffTo]
    const worker = options.by ?? request.handoffTo
    const span = telemetry.working({ ...envelope, worker, agent })
    const result = await relay
      .answer(requestId, whole, {
        ...(options.token === undefined ? {} : { claim: { token: options.token } }),
        ...(options.by === undefined ? {} : { by: options.by }),
      })
      .catch((error: unknown) => {
        span.failed(error)
        throw error
      })
    if (result.status === 'late') span.failed(new CancelledError(`The answer to ${requestId} came too late`))
    else span.answered(result.response)
    printResult(out, requestId, result)
  })
}

/** Prints what became of an answer; one that came too late is a conflict. */
export function printResult(out: Output, id: string, result: AnswerResult): void {
  if (result.status === 'late') {
    throw new ConflictError(`The answer to ${id} came too late: it is kept, but changes nothing`, {
      actual: 0,
      ...(result.response === undefined
        ? {}
        : { hint: `What counts is the answer of ${result.response.respondingAgent}.` }),
    })
  }
  if (out.json) return out.data({ requestId: id, ...result })
  if (result.status === 'duplicate') out.note('That answer is already there:')
  printResponse(out, result.response)
}

export async function release(options: Globals & { token?: string }, requestId: string): Promise<void> {
  await withRelay(options, async ({ relay, out }) => {
    await relay.release(requestId, options.token === undefined ? {} : { claim: { token: options.token } })
    if (out.json) out.data({ requestId, status: 'released' })
    else out.note(`${requestId} waits in the inbox again.`)
  })
}
