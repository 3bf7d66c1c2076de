// `baton relay owner|return|history|archive|dead`: traces and what became of their requests.

import type { Relay } from '../../relay/index.ts'
import { age, brief, type Globals, type Output } from '../base/output.ts'
import { userName } from '../base/user-name.ts'
import { said } from './watch.ts'
import { withRelay } from './with-relay.ts'

export async function owner(globals: Globals, trace: string): Promise<void> {
  await withRelay(globals, async ({ relay, out }) => printOwner(out, await relay.owner(trace)))
}

function printOwner(out: Output, found: Awaited<ReturnType<Relay['owner']>>): void {
  if (out.json) return out.data(found)
  const { agent, mode, returnsTo, requestId } = found
  const how = mode === 'pass_control' ? ', who was given control' : ''
  const back = returnsTo === undefined ? '' : `, and returns to ${returnsTo} with the answer`
  out.line(`${agent}${how}${requestId === undefined ? '' : ` (request ${requestId})`}${back}`)
}

export async function giveBack(options: Globals & { from: string; reason: string }, trace: string): Promise<void> {
  const { from, reason } = options
  await withRelay(options, async ({ relay, out }) =>
    printOwner(out, await relay.returnToCaller(trace, { from, reason })),
  )
}

export async function history(options: Globals & { limit: number; since?: string }, trace?: string): Promise<void> {
  const query = {
    limit: options.limit,
    ...(trace === undefined ? {} : { traceId: trace }),
    ...(options.since === undefined ? {} : { since: options.since }),
  }
  await withRelay(options, async ({ relay, out }) => {
    for await (const row of relay.history(query)) {
      if (out.json) out.data(row)
      else out.line(`${row.date.slice(0, 19).replace('T', ' ')}  ${row.requestId}  ${brief(said(row), 160)}`)
    }
  })
}

export async function archive(options: Globals & { olderThan?: number; keep?: number }): Promise<void> {
  const { olderThan, keep } = options
  const olderThanMs = olderThan === undefined ? undefined : olderThan * 86_400_000
  await withRelay(options, async ({ relay, out }) => {
    const result = await relay.archive({ olderThanMs, keep })
    if (out.json) return out.data(result ?? { traces: 0, requests: 0 })
    if (result === undefined) return out.note('No closed trace is to be archived.')
    const { traces, requests, open, kept } = result
    const stay = `${many(open, 'open trace')}${kept === 0 ? '' : ` and ${many(kept, 'closed one')}`}`
    out.line(`Archived ${many(traces, 'trace')} with ${many(requests, 'request')}; ${stay} stayed.`)
    out.note('What is archived is still found: baton relay history TRACE, baton relay status REQUEST')
  })
}

export async function dead(options: Globals & { retry?: string; drop?: string; by?: string }): Promise<void> {
  const by = options.by ?? userName()
  await withRelay(options, async ({ relay, out }) => {
    const { retry, drop } = options
    if (retry !== undefined) await relay.deadLetters.retry(retry, { by })
    if (drop !== undefined) await relay.deadLetters.drop(drop, { by })
    const done = retry ?? drop
    if (done !== undefined) {
      if (out.json) return out.data({ requestId: done, status: retry === undefined ? 'dropped' : 'retried' })
      return out.note(retry === undefined ? `${done} is no longer listed.` : `${done} waits in the inbox again.`)
    }
    const letters = await relay.deadLetters.list()
    if (out.json) return letters.forEach((letter) => out.data(letter))
    if (letters.length === 0) return out.note('No request has killed its workers.')
    const rows = letters.map(({ requestId, from, to, at, lost }) => [
      requestId,
      from,
      to,
      age(new Date(at).toISOString()),
      brief(lost.map(({ worker }) => worker).join(', '), 80),
    ])
    out.table([['REQUEST', 'FROM', 'TO', 'GIVEN UP', 'WORKERS THAT DID NOT COME BACK'], ...rows])
    out.note(`\nTry one again with "baton relay dead --retry ${letters[0]!.requestId}", or take it off with --drop.`)
  })
}

function many(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}
