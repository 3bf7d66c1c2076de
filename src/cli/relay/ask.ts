// `baton relay ask|reply|progress|cancel`: asks in one line and waits, and what asker and worker say to each other meanwhile.

import { randomUUID } from 'node:crypto'
import { BatonError } from '../../errors.ts'
import type { AskOptions as Asking } from '../../relay/index.ts'
import { cancellable } from '../base/io.ts'
import { type Globals } from '../base/output.ts'
import { userName } from '../base/user-name.ts'
import { parseAnswer, parseMissing } from './input.ts'
import { printResponse, progressText } from './text.ts'
import { withRelay } from './with-relay.ts'

interface AskOptions extends Globals {
  missing?: string[]
  trace?: string
  item?: string
  priority?: Asking['priority']
  timeout?: number
  requestId?: string
}

export async function ask(options: AskOptions, from: string, to: string, summary: string): Promise<void> {
  const requestId = options.requestId ?? randomUUID()
  await withRelay(options, async ({ relay, out }) => {
    const asking = {
      summary,
      requestId,
      ...(options.missing === undefined ? {} : { missing: options.missing.map(missingOf) }),
      ...(options.trace === undefined ? {} : { trace: options.trace }),
      ...(options.item === undefined ? {} : { item: options.item }),
      ...(options.priority === undefined ? {} : { priority: options.priority }),
      ...(options.timeout === undefined ? {} : { timeoutMs: options.timeout }),
    }
    const outcome = await cancellable(options.io, (signal) =>
      relay.ask(from, to, {
        ...asking,
        signal,
        onProgress: (progress) => out.warn(progressText(progress)),
      }),
    )
    if (outcome.status === 'rejected' || outcome.status === 'failed') options.io.exit.code = 1
    if (out.json) return out.data(outcome)
    switch (outcome.status) {
      case 'rejected':
        throw new BatonError('refused', `Not handed over: ${outcome.reason}`)
      case 'escalated':
        out.line(outcome.requestId)
        return out.warn(`A person is asked: baton escalations show ${outcome.escalation}`)
      case 'pending':
        return out.line(outcome.requestId)
      default:
        return printResponse(out, outcome.response)
    }
  })
}

/** A name, or KEY:TYPE[:DESCRIPTION]. */
function missingOf(text: string): string | ReturnType<typeof parseMissing> {
  return text.includes(':') ? parseMissing(text) : text
}

export async function reply(options: Globals & { answer: string; by?: string }, requestId: string): Promise<void> {
  await withRelay(options, async ({ relay, out }) => {
    await relay.reply(requestId, { by: options.by ?? userName(), answer: parseAnswer(options.answer) })
    if (out.json) out.data({ requestId, status: 'replied' })
    else out.note('The worker goes on with it.')
  })
}

interface ProgressOptions extends Globals {
  text?: string
  percent?: number
  by?: string
}

export async function progress(options: ProgressOptions, requestId: string): Promise<void> {
  const { text, percent, by = userName() } = options
  await withRelay(options, async ({ relay, out }) => {
    await relay.status(requestId) // it must be there
    const shown = { ...(text === undefined ? {} : { text }), ...(percent === undefined ? {} : { percent }) }
    await relay.progress(requestId, { by, ...shown })
    if (out.json) out.data({ requestId, by, ...shown })
  })
}

export async function cancel(options: Globals & { reason?: string; by?: string }, requestId: string): Promise<void> {
  await withRelay(options, async ({ relay, out }) => {
    const { by = userName(), reason } = options
    const isCancelled = await relay.cancel(requestId, { by, ...(reason === undefined ? {} : { reason }) })
    if (out.json) return out.data({ requestId, cancelled: isCancelled })
    out.note(isCancelled ? `${requestId} is cancelled; its worker is told.` : `${requestId} had ended before.`)
  })
}
