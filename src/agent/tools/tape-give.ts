// The tools that pass a context between agents: a message tells another agent why, what for and where on the tape; the tape is shared,
// or belongs to the other agent from then on.

import * as z from 'zod'
import { shellWord } from '../../system/index.ts'
import { receiveContextHandoff, sendContextHandoff } from '../../relay/index.ts'
import { defineTool } from './tool.ts'

/** Who an agent is that did not say so. */
const nobody = 'agent'

export const tapeGive = defineTool({
  name: 'tape.give',
  description:
    'Pass what you are working on to another agent: it gets a message with the reason, a summary and a reference to this tape. With ownership transfer ' +
    'the tape is the other agent’s once this turn has ended, and you can no longer write on it.',
  input: z.object({
    to: z.string().min(1).describe('The other agent, such as worker-2'),
    reason: z.string().min(1),
    summary: z.string().min(1).describe('What the other agent has to know first'),
    next_steps: z.string().optional(),
    context_summary: z.string().optional(),
    anchor: z.string().optional().describe('Where on the tape to start reading; the last anchor unless given'),
    ownership: z.enum(['transfer', 'share']).default('share'),
  }),
  // Asked about as the command that does the same.
  access: async ({ to, ownership }, { tape }) => ({
    kind: 'command',
    command: `baton tape give ${shellWord(tape.name)} --to ${shellWord(to)}${ownership === 'share' ? ' --share' : ''}`,
  }),
  async run({ to, reason, summary, next_steps, context_summary, anchor, ownership }, { tape, entryId, afterTurn }) {
    const [last] = anchor === undefined ? await tape.anchors({ limit: 1 }) : []
    const name = anchor ?? last?.name
    const message = {
      type: 'context_handoff',
      from: tape.as ?? nobody,
      to,
      timestamp: new Date().toISOString(),
      content: {
        reason,
        summary,
        tape_ref: tape.uri(name === undefined ? { entry: entryId } : { anchor: name }),
        intention: {
          ...(next_steps === undefined ? {} : { next_steps }),
          ...(context_summary === undefined ? {} : { context_summary }),
        },
        ownership,
      },
    }
    // The rest of the turn is still ours to write down, so the tape changes hands when it is over.
    if (ownership === 'transfer' && afterTurn !== undefined) {
      afterTurn(async () => void (await sendContextHandoff(tape.store, message)))
      return { output: `${tape.name} goes to ${to} when this turn ends. Say what is left to say, and stop.` }
    }
    const { id } = await sendContextHandoff(tape.store, message)
    return { output: { id, to, ownership, tape_ref: message.content.tape_ref } }
  },
})

export const tapeInbox = defineTool({
  name: 'tape.inbox',
  description:
    'Take the oldest context that another agent passed to you: why, a summary, and a reference to its tape for tape.read. Each is given once.',
  input: z.object({}),
  async run(_input, { tape }) {
    const received = await receiveContextHandoff(tape.store, tape.as ?? nobody)
    return { output: received === undefined ? `Nothing waits for ${tape.as ?? nobody}.` : received.message }
  },
})
