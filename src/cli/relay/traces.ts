// `baton relay owner|return|history|archive|dead`: traces and what became of their requests.

import {
  relayDead,
  relayDeadDrop,
  relayDeadRetry,
  relayHistory,
  traceArchive,
  traceOwner,
  traceReturn,
} from '../../operations/index.ts'
import { age, brief, type Globals, many, type Output } from '../base/output.ts'
import { userName } from '../base/io.ts'
import { withWorkspace } from '../base/workspace.ts'
import { said } from './watch.ts'

export async function owner(globals: Globals, trace: string): Promise<void> {
  await withWorkspace(globals, async ({ run }, out) => printOwner(out, await run(traceOwner, { trace })))
}

function printOwner(out: Output, found: Awaited<ReturnType<typeof traceOwner.run>>): void {
  if (out.json) return out.data(found)
  const { agent, mode, returnsTo, requestId } = found
  const how = mode === 'pass_control' ? ', who was given control' : ''
  const back = returnsTo === undefined ? '' : `, and returns to ${returnsTo} with the answer`
  out.line(`${agent}${how}${requestId === undefined ? '' : ` (request ${requestId})`}${back}`)
}

export async function giveBack(options: Globals & { from: string; reason: string }, trace: string): Promise<void> {
  const { from, reason } = options
  await withWorkspace(options, async ({ run }, out) => printOwner(out, await run(traceReturn, { trace, from, reason })))
}

export async function history(options: Globals & { limit: number; since?: string }, trace?: string): Promise<void> {
  const { limit, since } = options
  await withWorkspace(options, async ({ run }, out) => {
    const { events } = await run(relayHistory, { traceId: trace, limit, since })
    for (const row of events) {
      if (out.json) out.data(row)
      else out.line(`${row.date.slice(0, 19).replace('T', ' ')}  ${row.requestId}  ${brief(said(row), 160)}`)
    }
  })
}

export async function archive(options: Globals & { olderThan?: number; keep?: number }): Promise<void> {
  const { olderThan, keep } = options
  const olderThanMs = olderThan === undefined ? undefined : olderThan * 86_400_000
  await withWorkspace(options, async ({ run }, out) => {
    const { archived: result } = await run(traceArchive, { olderThanMs, keep })
    if (out.json) return out.data(result ?? { traces: 0, requests: 0 })
    if (result === undefined) return out.note('There is no closed trace to archive.')
    const { traces, requests, open, kept } = result
    const stay = `${many(open, 'open trace')}${kept === 0 ? '' : ` and ${many(kept, 'closed one')}`}`
    out.line(`Archived ${many(traces, 'trace')} with ${many(requests, 'request')}; ${stay} stayed.`)
    out.note('Archived ones can still be looked up: baton relay history TRACE, baton relay status REQUEST')
  })
}

export async function dead(options: Globals & { retry?: string; drop?: string; by?: string }): Promise<void> {
  const by = options.by ?? userName()
  await withWorkspace(options, async ({ run }, out) => {
    const { retry, drop } = options
    if (retry !== undefined) await run(relayDeadRetry, { requestId: retry, by })
    if (drop !== undefined) await run(relayDeadDrop, { requestId: drop, by })
    const done = retry ?? drop
    if (done !== undefined) {
      if (out.json) return out.data({ requestId: done, status: retry === undefined ? 'dropped' : 'retried' })
      return out.note(retry === undefined ? `${done} is no longer listed.` : `${done} waits in the inbox again.`)
    }
    const { letters } = await run(relayDead, {})
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
    out.note(
      `\nTry one again with "baton relay dead --retry ${letters[0]!.requestId}", or remove it from the list with --drop.`,
    )
  })
}
