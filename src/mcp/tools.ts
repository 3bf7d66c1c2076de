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
  tool(operations.tapeAnchors, 'Anchors of a tape', 'Use it to see the phases of the work.'),
  tool(
    operations.tapeHandoff,
    'New phase',
    'Use it at the end of a phase of work that is kept on a tape, with a summary and next_steps as the state.',
  ),
  tool(operations.tapeAppend, 'Append to a tape', 'Use it to record something that must not be lost.'),
  tool(operations.tapeList, 'Tapes', 'Use it to find the tape of a session.'),
  tool(operations.lineageShow, 'Lineage', 'Use it to see which session came from which.'),
  tool(operations.workspaceInfo, 'Workspace', 'Use it to see where Baton keeps everything.'),
]
