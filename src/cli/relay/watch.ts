// `baton relay watch`: maintains the relay, and shows its events meanwhile.

import { type Alert, type HandoffHistoryRow, maintainRelay, type Relay } from '../../relay/index.ts'
import { cancellable } from '../base/io.ts'
import { brief, type Globals, type Output } from '../base/output.ts'
import { withRelay } from '../base/workspace.ts'
import { progressText } from '../../operations/index.ts'
import { duration, printAdvice } from './views.ts'

export async function watch(options: Globals & { every: number }): Promise<void> {
  await withRelay(options, async ({ relay, store, notifier, out }) => {
    const everyMs = Math.max(1, options.every) * 1000
    await cancellable(options.io, async (signal) => {
      // When maintenance or the display fails, the other one ends, too.
      const end = new AbortController()
      const both = AbortSignal.any([signal, end.signal])
      // Otherwise the end would wait for every attempt at a channel that hangs.
      both.addEventListener('abort', () => void notifier.close({ withinMs: 2_000 }))
      const showing = show(relay, out, both).finally(() => end.abort())
      const maintenance = maintainRelay({
        relay,
        store,
        notifier,
        everyMs,
        signal: both,
        onAlerts: changes(out),
        onStorageError: (error) => out.warn(`baton: ${error.message}; trying again`),
      }).finally(() => end.abort())
      await Promise.all([showing, maintenance])
    })
    options.io.exit.code = 130
  })
}

async function show(relay: Relay, out: Output, signal: AbortSignal): Promise<void> {
  out.note('Looking after the relay; Ctrl-C ends it.')
  for await (const row of relay.watchHistory(signal)) {
    if (out.json) out.data(row)
    else out.line(`${row.date.slice(11, 19)}  ${row.requestId}  ${brief(said(row), 160)}`)
  }
}

/** An event as a sentence. */
export function said(row: HandoffHistoryRow): string {
  switch (row.type) {
    case 'requested': {
      const { sourceAgent, handoffTo, priority, contextForTarget } = row.envelope.request
      return `${sourceAgent} → ${handoffTo}, ${priority}: ${contextForTarget.summary}`
    }
    case 'answered': {
      const { status, respondingAgent, failureReason } = row.response
      const why = failureReason === undefined ? '' : `: ${failureReason}`
      if (row.rejection !== undefined) return `refused${why}`
      return `${status} by ${respondingAgent} after ${duration(row.durationMs)}${why}`
    }
    case 'escalated':
      return `a person is asked: baton escalations show ${row.escalation}`
    case 'claimed':
    case 'released':
      return `${row.type} by ${row.worker}`
    case 'late':
      return 'a late answer, which changes nothing'
    case 'resumed':
      return `${row.by} continues with the answer`
    case 'retried':
    case 'dropped':
      return `a dead letter, ${row.type} by ${row.by}`
    case 'progress':
      return progressText(row)
    case 'question':
      return `${row.by} asks back: ${row.text}`
    case 'reply':
      return `${row.by} replies: ${row.refused ?? JSON.stringify(row.answer)}`
    case 'recovered':
      return `${row.action}: ${row.reason}`
    case 'owner':
      return `the trace ${row.traceId} is ${row.owner}'s: ${row.reason}`
  }
}

/** Prints alerts as they come on and are over. */
function changes(out: Output): (alerts: readonly Alert[]) => void {
  const on = new Set<string>()
  return (alerts) => {
    for (const alert of alerts) {
      if (alert.on === on.has(alert.name)) continue
      if (alert.on) on.add(alert.name)
      else on.delete(alert.name)
      if (out.json) out.data({ type: 'alert', ...alert })
      else if (alert.on) printAdvice(out, alert)
      else out.line(`${alert.name} is over: ${alert.text}`)
    }
  }
}
