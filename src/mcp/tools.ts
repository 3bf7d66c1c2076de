// The operations that models are given as tools: few, so that a model picks the right one, and none that approves anything in
// the name of a person.

import type { Operation } from '../operations/index.ts'
import { operations } from '../operations/index.ts'
import { toolName } from '../tape/index.ts'

export interface McpTool {
  readonly name: string
  readonly title: string
  /** When to use it, for a model. */
  readonly description: string
  readonly operation: Operation
}

function tool(operation: unknown, title: string, when: string): McpTool {
  // The table types each operation by its own input; here all are called with what the protocol has checked.
  const general = operation as Operation
  return { name: toolName(general.name), title, description: `${general.summary} ${when}`, operation: general }
}

export const mcpTools: readonly McpTool[] = [
  tool(
    operations.documentWrite,
    'Hand over',
    'Use it when the user asks for a handoff, or when your context is nearly full; with next: true the next session here opens with it.',
  ),
  tool(operations.documentList, 'Documents', 'Use it to find what earlier sessions handed over.'),
  tool(operations.documentShow, 'Read a document', 'Use it to continue the work of an earlier session.'),
  tool(
    operations.referenceShow,
    'Look behind a reference',
    'Use it for every reference that a handoff document prints, such as main#12.',
  ),
  tool(operations.tapeSearch, 'Search a tape', 'Use it to find what was said or done before your context began.'),
  tool(operations.tapeRead, 'Read a tape', 'Use small limits, and `next` for the next page.'),
  tool(
    operations.tapeContext,
    'Context of a tape',
    'Use it to see what a model would be given; format text reads best.',
  ),
  tool(
    operations.tapeHandoff,
    'New phase',
    'Use it at the end of a phase of work that is kept on a tape, with a summary and next_steps as the state.',
  ),
  tool(operations.tapeAppend, 'Append to a tape', 'Use it to record something that must not be lost.'),
  tool(operations.tapeList, 'Tapes', 'Use it to find the tape of a session.'),
  tool(operations.taskList, 'Tasks', 'Use it to find the task that you work on, and what others have.'),
  tool(operations.taskShow, 'State of a task', 'Use it before you work on a task, and when its version has changed.'),
  tool(
    operations.taskReceive,
    'Take over a task',
    'Use it when a task was handed to you: it also names artifacts that changed since.',
  ),
  tool(
    operations.taskHandoff,
    'Hand on a task',
    'Use it when your part of a task is done, with the artifacts and decisions that the next agent needs.',
  ),
  tool(
    operations.relayAsk,
    'Ask an agent or a person',
    'Use it when you miss something that another agent or a person (to: human) knows or decides. People may take days: ask without wait, continue with other work, and fetch the answer later with relay_show.',
  ),
  tool(operations.relayShow, 'Answer to a request', 'Use it with the requestId of relay_ask to fetch the answer.'),
  tool(operations.relayInbox, 'Inbox', 'Use it to see what other agents want from you.'),
  tool(operations.relayClaim, 'Claim a request', 'Use it before you work on a request of the inbox.'),
  tool(operations.relayAnswer, 'Answer a request', 'Use it with the token of relay_claim.'),
  tool(
    operations.waitingList,
    'What waits for a person',
    'Use it to tell the user what they have to decide. You cannot decide it for them.',
  ),
]
