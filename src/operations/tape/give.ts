// Contexts that pass from one agent to another, and the tapes that go with them.

import * as z from 'zod'
import { contextHandoffs, type ReceivedContext, receiveContextHandoff, sendContextHandoff } from '../../relay/index.ts'
import { Tape } from '../../tape/index.ts'
import { operation } from '../operation.ts'
import { demandTape } from '../workspace.ts'
import { tapeName } from './shapes.ts'

const agent = z.string().min(1).max(120)
const message = z.looseObject({ id: z.string(), from: z.string(), to: z.string(), timestamp: z.string() })
const ownership = z.enum(['transfer', 'share'])

export const tapeGive = operation('tape.give', 'write', 'POST /tapes/{tape}/give', {
  summary: 'Pass a context to another agent: it finds it in its inbox, and the tape is its own unless shared.',
  input: z.object({
    tape: tapeName,
    from: agent,
    to: agent,
    reason: z.string().max(4000).default('handed over'),
    summary: z.string().max(20_000).default('').describe('What it has to know first.'),
    nextSteps: z.string().max(20_000).optional().describe('What it is to do.'),
    anchor: z.string().min(1).max(500).optional().describe('Where it starts reading; the last anchor unless given.'),
    ownership: ownership.default('transfer'),
  }),
  output: z.object({
    id: z.string(),
    tape: z.string(),
    from: z.string(),
    to: z.string(),
    ownership,
    tape_ref: z.string(),
  }),
  async run({ store }, { tape: name, from, to, reason, summary, nextSteps, anchor: named, ownership }) {
    await demandTape(store, name)
    const tape = new Tape(store, name)
    const [last] = named === undefined ? await tape.anchors({ limit: 1 }) : []
    const anchor = named ?? last?.name
    const { lastId } = await tape.info()
    const tape_ref = tape.uri(anchor === undefined ? { entry: lastId } : { anchor })
    const intention = nextSteps === undefined ? {} : { intention: { next_steps: nextSteps } }
    const { id } = await sendContextHandoff(store, {
      type: 'context_handoff',
      from,
      to,
      timestamp: new Date().toISOString(),
      content: { reason, summary, tape_ref, ...intention, ownership },
    })
    return { id, tape: name, from, to, ownership, tape_ref }
  },
})

const shown = ({ id, message }: ReceivedContext) => ({ id, ...message })

export const contextInbox = operation('context.inbox', 'read', 'GET /contexts/{agent}', {
  summary: 'The contexts that were passed to an agent and wait for it, oldest first.',
  input: z.object({ agent }),
  output: z.object({ contexts: z.array(message) }),
  async run({ store }, { agent }) {
    return { contexts: (await contextHandoffs(store, agent)).map(shown) }
  },
})

export const contextReceive = operation('context.receive', 'write', 'POST /contexts/{agent}/receive', {
  summary: 'Take the oldest context that was passed to an agent, once.',
  input: z.object({ agent }),
  output: z.object({ context: message.optional().describe('Missing if nothing waits.') }),
  async run({ store }, { agent }) {
    const next = await receiveContextHandoff(store, agent)
    return { context: next && shown(next) }
  },
})
