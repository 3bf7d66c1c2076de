// `baton relay inbox|claim|heartbeat|answer|release`: for the agent that answers requests.

import os from 'node:os'
import { ConflictError, InvalidError, NotFoundError } from '../../errors.ts'
import {
  relayAnswer,
  relayClaim,
  relayHeartbeat,
  relayInbox,
  relayInboxWatch,
  relayRelease,
  relayShow,
} from '../../operations/index.ts'
import { answerCommandFor, type HandoffResponse, type InboxItem } from '../../relay/index.ts'
import { cancellable, personAt, userName } from '../base/io.ts'
import { readObject } from '../base/json-file.ts'
import { age, brief, type Globals, type Output } from '../base/output.ts'
import { given, parseInputs } from './request.ts'
import { duration, printRequest, printResponse } from './views.ts'
import { type Door, withWorkspace } from '../base/workspace.ts'

export async function inbox(options: Globals & { watch?: boolean }, agent: string): Promise<void> {
  await withWorkspace(options, async (door, out) => {
    if (options.watch === true) return watch(door, agent, out)
    const { items } = await door.run(relayInbox, { agent, limit: Number.MAX_SAFE_INTEGER })
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

async function watch({ follow }: Door, agent: string, out: Output): Promise<void> {
  await cancellable(out.io, async (signal) => {
    for await (const item of follow(relayInboxWatch, { agent }, signal)) {
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
  const { worker = `${userName()}@${os.hostname()}`, lease: leaseMs, request: requestId, wait } = options
  await withWorkspace(options, async ({ run }, out) => {
    const { claim: taken } = await cancellable(options.io, (signal) =>
      run(relayClaim, { agent, worker, leaseMs, requestId, wait }, { signal }),
    )
    if (taken === undefined) {
      const what = options.request === undefined ? `Nothing waits for ${agent}` : `${options.request} cannot be claimed`
      throw new NotFoundError(what, { hint: `See "baton relay inbox ${agent}", or wait for one with --wait.` })
    }
    const { requestId: id, token, envelope } = taken
    if (out.json)
      return out.data({ requestId: id, agent, worker: taken.worker, token, leaseMs: taken.leaseMs, envelope })
    printRequest(out, id, envelope.request)
    out.note(`\nYours for ${duration(taken.leaseMs)}. Answer it, give it back, or keep it for longer:`)
    out.line(`  ${answerCommandFor(taken)}`)
    out.line(`  baton relay release ${id} --token ${token}`)
    out.line(`  baton relay heartbeat ${id} --token ${token}`)
  })
}

export async function heartbeat(options: Globals & { token: string }, requestId: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const { held, status, until } = await run(relayHeartbeat, { requestId, token: options.token })
    if (!held) {
      throw new ConflictError(`${requestId} is not yours any more: it is ${status}`, {
        actual: 0,
        hint: 'Leave it: an answer would come too late.',
      })
    }
    if (out.json) out.data({ requestId, status: 'held', until })
    else out.note(`Yours until ${until}.`)
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
  await withWorkspace(options, async ({ run }, out) => {
    const { envelope } = await run(relayShow, { requestId })
    const { handoffTo, reason } = envelope.request
    const byPerson = handoffTo === 'human' && reason === 'requires_human_decision'
    const person = byPerson ? { person: personAt(options.io) } : {}
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
    const { status } = whole
    if (typeof status !== 'string') {
      throw new InvalidError('An answer needs --status', { path: 'status', hint: 'resolved, partial or failed.' })
    }
    const { token, by } = options
    printResult(out, requestId, await run(relayAnswer, { requestId, answer: { ...whole, status }, token, by }, person))
  })
}

interface Answered {
  readonly status: 'accepted' | 'duplicate'
  readonly response: HandoffResponse
}

/** Prints what became of an answer. */
export function printResult(out: Output, id: string, result: Answered): void {
  if (out.json) return out.data({ requestId: id, ...result })
  if (result.status === 'duplicate') out.note('That answer is already there:')
  printResponse(out, result.response)
}

export async function release(options: Globals & { token?: string }, requestId: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    await run(relayRelease, { requestId, token: options.token })
    if (out.json) out.data({ requestId, status: 'released' })
    else out.note(`${requestId} waits in the inbox again.`)
  })
}
