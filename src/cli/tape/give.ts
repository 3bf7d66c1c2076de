// `baton tape give`, `inbox` and `owner`: a context passes from one agent to another, and a tape from one owner to the next.

import { contextInbox, contextReceive, tapeGive, tapeInfo } from '../../operations/index.ts'
import { age, brief, type Globals } from '../base/output.ts'
import { withWorkspace } from '../base/workspace.ts'

interface GiveOptions extends Globals {
  to: string
  as: string
  reason?: string
  summary?: string
  nextSteps?: string
  anchor?: string
  share?: boolean
}

export async function give(options: GiveOptions, tape: string): Promise<void> {
  const { to, as: from, reason = 'handed over', summary = '', nextSteps, anchor, share } = options
  await withWorkspace(options, async ({ run }, out) => {
    const ownership = share === true ? 'share' : 'transfer'
    const given = await run(tapeGive, { tape, from, to, reason, summary, nextSteps, anchor, ownership })
    out.record(given, share === true ? `${to} was notified of ${tape}` : `${tape} is ${to}'s now`)
  })
}

export async function inbox(options: Globals & { take?: boolean }, agent: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const waiting =
      options.take === true
        ? [(await run(contextReceive, { agent })).context].filter((next) => next !== undefined)
        : (await run(contextInbox, { agent })).contexts
    out.list(waiting, {
      none: `Nothing waits for ${agent}.`,
      head: ['FROM', 'SENT', 'OWNERSHIP', 'CONTEXT', 'REASON'],
      row: ({ from, timestamp, content }) => [
        from,
        age(timestamp),
        content.ownership,
        content.tape_ref,
        brief([content.reason, content.summary].filter((text) => text !== '').join(': '), 80),
      ],
    })
  })
}

export async function owner(options: Globals, tape: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const { owner } = await run(tapeInfo, { tape })
    out.record(
      { tape, owner: owner ?? null },
      owner === undefined ? `${tape} has no owner: anyone may write on it` : `${tape} is ${owner}'s`,
    )
  })
}
