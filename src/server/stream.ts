// Answers that come piece by piece: as events for a browser, as JSON lines for programs.

import type { LiveOperation } from '../operations/index.ts'
import type { Answer, Chunk, Streamed } from './exchange.ts'

export function eventStream(parts: AsyncIterable<string | Chunk>, end: () => void): Streamed {
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    // A proxy that collects events before it passes them on would hold them back.
    'x-accel-buffering': 'no',
  }
  return { status: 200, headers, parts, heartbeat: ': alive\n\n', end }
}

/** Records as JSON lines. A failure on the way is the last line, since the status has been sent. */
export function lines(
  records: ReturnType<LiveOperation['run']>,
  problem: (error: unknown) => Answer,
  end: () => void,
): Streamed {
  async function* parts(): AsyncGenerator<string> {
    try {
      for await (const record of records) yield `${JSON.stringify(record)}\n`
    } catch (error) {
      yield `{"problem":${problem(error).body}}\n`
    }
  }
  return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, parts: parts(), end }
}
