// Whether a person said no to a call: then nothing was run.

import type { Output } from './output.ts'
import type { Call } from './vocabulary.ts'

const REJECTED =
  /^(?:<tool_use_error>)?(?:The user doesn't want to (?:proceed|take)|The user rejected|User rejected|rejected by user|\[Operation Cancelled\]|User denied)/i
/** Codex and Gemini CLI do not mark it as an error. */
const REJECTED_UNMARKED = /^(?:(?:exec command|patch) )?rejected by user\b|^\[Operation Cancelled\] Reason: User/

/** Only for tools whose errors the agent itself words: what a server, a page or a subagent says is not a person's no. */
export function isRejected(call: Call, { isError, head, exit }: Output): boolean {
  if (call.kind === 'unknown' || call.kind === 'subagent' || call.kind === 'look' || call.kind === 'poll') return false
  if (isError) return REJECTED.test(head)
  const marked = call.kind === 'shell' && call.marksFailure
  return !marked && exit === undefined && head.length < 300 && REJECTED_UNMARKED.test(head)
}
