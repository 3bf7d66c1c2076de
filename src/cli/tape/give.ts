// `baton tape give`, `inbox` and `owner`: a context passes from one agent to another, and a tape from one owner to the next.

import { contextHandoffs, receiveContextHandoff, sendContextHandoff } from '../../relay/index.ts'
import { Tape } from '../../tape/index.ts'
import { age, brief, type Globals } from '../base/output.ts'
import { demand, withStore } from '../base/workspace.ts'

interface GiveOptions extends Globals {
  to: string
  as: string
  reason?: string
  summary?: string
  nextSteps?: string
  anchor?: string
  share?: boolean
}

export async function give(options: GiveOptions, name: string): Promise<void> {
  const { to, as: from, reason = 'handed over', summary = '', nextSteps, share } = options
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const tape = new Tape(store, name)
    const [last] = options.anchor === undefined ? await tape.anchors({ limit: 1 }) : []
    const anchor = options.anchor ?? last?.name
    const { lastId } = await tape.info()
    const ownership = share === true ? 'share' : 'transfer'
    const tape_ref = tape.uri(anchor === undefined ? { entry: lastId } : { anchor })
    const intention = nextSteps === undefined ? {} : { intention: { next_steps: nextSteps } }
    const { id } = await sendContextHandoff(store, {
      type: 'context_handoff',
      from,
      to,
      timestamp: new Date().toISOString(),
      content: { reason, summary, tape_ref, ...intention, ownership },
    })
    const what = share === true ? `${to} was told of ${name}` : `${name} is ${to}'s now`
    out.record({ id, tape: name, from, to, ownership, tape_ref }, what)
  })
}

export async function inbox(options: Globals & { take?: boolean }, agent: string): Promise<void> {
  await withStore(options, async (store, out) => {
    const next = options.take === true ? await receiveContextHandoff(store, agent) : undefined
    const waiting = options.take === true ? (next === undefined ? [] : [next]) : await contextHandoffs(store, agent)
    out.list(
      waiting.map(({ id, message }) => ({ id, ...message })),
      {
        none: `Nothing waits for ${agent}.`,
        head: ['FROM', 'SENT', 'OWNERSHIP', 'CONTEXT', 'REASON'],
        row: ({ from, timestamp, content }) => [
          from,
          age(timestamp),
          content.ownership,
          content.tape_ref,
          brief([content.reason, content.summary].filter((text) => text !== '').join(': '), 80),
        ],
      },
    )
  })
}

export async function owner(options: Globals, name: string): Promise<void> {
  await withStore(options, async (store, out) => {
    await demand(store, name)
    const found = await new Tape(store, name).owner()
    out.record(
      { tape: name, owner: found ?? null },
      found === undefined ? `${name} has no owner: anyone may write on it` : `${name} is ${found}'s`,
    )
  })
}
