// `baton relay ask|reply|progress|cancel`: asks in one line and waits, and what asker and worker say to each other meanwhile.

import { randomUUID } from 'node:crypto'
import { BatonError } from '../../errors.ts'
import { relayAsk, relayCancel, relayProgress, relayReply } from '../../operations/index.ts'
import type { AskOptions as Asking } from '../../relay/index.ts'
import { cancellable, userName } from '../base/io.ts'
import { type Globals } from '../base/output.ts'
import { withWorkspace } from '../base/workspace.ts'
import { parseAnswer, parseMissing } from './input.ts'
import { printResponse } from './text.ts'

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
  await withWorkspace(options, async ({ run }, out) => {
    const { missing, trace, item, priority, timeout: timeoutMs } = options
    const asking = { from, to, summary, requestId, missing: missing?.map(missingOf), trace, item, priority, timeoutMs }
    const outcome = await cancellable(options.io, (signal) =>
      run(relayAsk, { ...asking, wait: true }, { signal, progress: (text) => out.warn(text) }),
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
  await withWorkspace(options, async ({ run }, out) => {
    const { by = userName(), answer } = options
    await run(relayReply, { requestId, by, answer: parseAnswer(answer) })
    if (out.json) out.data({ requestId, status: 'replied' })
    else out.note('The worker continues with it.')
  })
}

interface ProgressOptions extends Globals {
  text?: string
  percent?: number
  by?: string
}

export async function progress(options: ProgressOptions, requestId: string): Promise<void> {
  const { text, percent, by = userName() } = options
  await withWorkspace(options, async ({ run }, out) => {
    const shown = { ...(text === undefined ? {} : { text }), ...(percent === undefined ? {} : { percent }) }
    await run(relayProgress, { requestId, by, ...shown })
    if (out.json) out.data({ requestId, by, ...shown })
  })
}

export async function cancel(options: Globals & { reason?: string; by?: string }, requestId: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const { by = userName(), reason } = options
    const { cancelled: isCancelled } = await run(relayCancel, { requestId, by, reason })
    if (out.json) return out.data({ requestId, cancelled: isCancelled })
    out.note(
      isCancelled ? `${requestId} is cancelled; whoever works on it is notified.` : `${requestId} had ended before.`,
    )
  })
}
