// A failure that the user pasted: the log of a server, the output of a command that they ran themselves. Nothing on the tape
// shows whether it was put right, except that something was changed since.

import type { Failure, Quote } from '../facts.ts'
import { line } from './tool-calls.ts'

/** Lines of programs that stopped because of an error. */
const stoppedLine =
  /^(?:.*\s)?(?:fatal: |##\[error\]|error: |ERROR:? |panic: |npm (?:ERR!|error) |remote: (?:error|Permission)\b|\w*(?:Error|Exception): |FAIL(?:ED)?[ \t]|curl: \(\d+\))|\bexit(?:ed)? (?:with )?(?:code|status) [1-9]\d*\b/

/** A paste has several lines; one line of an error within a sentence is part of a question. */
const leastLines = 3

export function reportedFailure({ text, id }: Quote): Failure | undefined {
  if (text.length > 100_000) return undefined
  const lines = text.split('\n').filter((each) => each.trim() !== '')
  if (lines.length < leastLines) return undefined
  const found = lines.filter((each) => stoppedLine.test(each.trim()))
  const [first] = found
  if (first === undefined) return undefined
  // The line that says why stands before the one that says that it ended.
  const why = found.find((each) => !/\bexit(?:ed)? (?:with )?(?:code|status)\b/.test(each)) ?? first
  const message = line(why)
  return {
    what: 'Reported by the user',
    kind: 'command',
    role: 'report',
    message,
    times: 1,
    firstId: id,
    lastId: id,
  }
}
