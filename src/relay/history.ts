// What happened, newest first. Of one trace it is found by walking back its chain, so it costs what the trace holds.

import type { Entry } from '../store/index.ts'
import { escalationId } from './board.ts'
import type { Desk } from './desk.ts'
import type { HistoryQuery, HistoryRow } from './outcome.ts'
import { type Fact, factIn, traceKey } from './record.ts'
import { human } from './schema.ts'

export async function* history(
  desk: Desk,
  traceId: string | undefined,
  query: HistoryQuery,
): AsyncGenerator<HistoryRow> {
  const { since = 0, limit = Number.MAX_SAFE_INTEGER } = query
  const oldest = typeof since === 'number' ? since : Date.parse(since)
  let left = limit
  for await (const entry of traceId === undefined ? desk.journal.read({ reverse: true }) : walk(desk, traceId)) {
    if (left <= 0 || Date.parse(entry.date) < oldest) return
    for (const row of rowsOf(entry)) {
      if (left-- > 0) yield row
    }
  }
}

/** What happens, from now on. */
export async function* happenings({ journal }: Desk, signal: AbortSignal): AsyncGenerator<HistoryRow> {
  const { at } = await journal.current()
  for await (const entry of journal.watch(at, signal)) yield* [...rowsOf(entry)].reverse()
}

/** The entries of a trace, and the newest of each of its requests. */
async function* walk({ journal }: Desk, traceId: string): AsyncGenerator<Entry> {
  const found: Entry[] = []
  for (let entry = await journal.latest(traceKey(traceId)); entry !== undefined;) {
    found.push(entry)
    const fact = factIn(entry)
    if (fact?.type === 'requested') {
      const { requestId } = fact.envelope
      for (const key of [
        `request:${requestId}`,
        `late:${requestId}`,
        `resumed:${requestId}`,
        `recovered:${requestId}`,
      ]) {
        const newest = await journal.latest(key)
        if (newest !== undefined) found.push(newest)
      }
    }
    const prev: number = fact !== undefined && 'prev' in fact ? fact.prev : 0
    entry = prev > 0 ? await journal.entry(prev) : undefined
  }
  yield* found.sort((a, b) => b.id - a.id)
}

function* rowsOf(entry: Entry): Generator<HistoryRow> {
  const fact = factIn(entry)
  if (fact === undefined || fact.type === 'extended' || fact.type === 'resuming') return
  const about = { entry: entry.id, date: entry.date, ...idsOf(fact) }
  switch (fact.type) {
    case 'requested': {
      const { envelope, rejection } = fact
      // The newest first: it was asked of a person when it was made.
      if (envelope.request.handoffTo === human && rejection === undefined) {
        yield { ...about, type: 'escalated', escalation: escalationId(entry.id) }
      }
      yield { ...about, type: 'requested', envelope }
      return
    }
    case 'answered': {
      const { response, durationMs, rejection, timedOut } = fact
      yield { ...about, type: 'answered', response, durationMs, rejection, timedOut }
      return
    }
    case 'escalated':
      yield { ...about, type: 'escalated', escalation: escalationId(entry.id) }
      return
    case 'claimed':
      yield { ...about, type: 'claimed', worker: fact.hold.worker }
      return
    case 'released':
      yield { ...about, type: 'released', worker: fact.worker }
      return
    case 'late':
      yield { ...about, type: 'late', response: fact.response }
      return
    case 'resumed':
      yield { ...about, type: 'resumed', by: fact.by }
      return
    case 'recovered':
      yield { ...about, type: 'recovered', action: fact.action, reason: fact.reason }
      return
    case 'owner':
      yield { ...about, type: 'owner', owner: fact.owner, reason: fact.reason }
  }
}

function idsOf(fact: Exclude<Fact, { type: 'extended' | 'resuming' }>): { traceId?: string; requestId: string } {
  if (fact.type === 'requested') {
    return { traceId: fact.envelope.request.traceId, requestId: fact.envelope.requestId }
  }
  const requestId = 'requestId' in fact ? fact.requestId : ''
  return 'traceId' in fact ? { traceId: fact.traceId, requestId } : { requestId }
}
