// A child agent on a fork of the tape: it sees what this one sees, and works without filling this one's context.

import { randomBytes } from 'node:crypto'
import * as z from 'zod'
import { UnsupportedError } from '../../errors.ts'
import { defineTool } from './define.ts'

export const agentSpawn = defineTool({
  name: 'agent.spawn',
  description:
    'Give a task to a child agent. It works on a fork of this tape, with the same tools and no more rights, and its last words come back to you. ' +
    'With merge, all that it did is noted on this tape too, where tape.search and a handoff document find it.',
  input: z.object({
    task: z.string().min(1).describe('What the child is to do, and what it should answer with'),
    name: z.string().optional().describe("Name of the child's tape"),
    context_summary: z.string().optional().describe('What the child should know besides the conversation so far'),
    merge: z.boolean().default(false),
  }),
  async run({ task, name, context_summary, merge }, { tape, spawn, onOutput }) {
    if (spawn === undefined)
      throw new UnsupportedError('A child of a child of a child cannot have children', {
        hint: 'Do the task yourself.',
      })
    const childName = name ?? `${tape.name}/${randomBytes(3).toString('hex')}`
    const [anchor] = await tape.anchors({ limit: 1 })
    const child = await tape.fork(childName, {
      // The phase that the parent is in: what lies before it is in that anchor's state.
      ...(anchor === undefined ? {} : { from: anchor.name }),
      intention: {
        next_steps: task,
        ...(context_summary === undefined ? {} : { context_summary }),
        trigger_on_complete: 'agent.spawn',
      },
    })
    const { status, text, error } = await spawn({ tape: child, prompt: promptOf(task), onText: onOutput })
    // Only what is complete is told; a child that was cut can still be gone on with.
    if (status === 'done') await child.complete()
    // For the ledger and for search: in the context, the child's words are the result of the call.
    const merged = merge && status === 'done' ? { merged: await tape.merge(childName, { context: false }) } : {}
    const [last] = await child.anchors({ limit: 1 })
    const outcome = { tape: childName, status, last_anchor: last?.name, text, ...merged }
    return status === 'done' ? { output: outcome } : { output: { ...outcome, error }, isError: true }
  },
})

/** The fork holds the call that made it, without a result. */
function promptOf(task: string): string {
  return `You are the child agent that the agent.spawn call above has started. Do this task, then answer with what came of it:\n\n${task}`
}
