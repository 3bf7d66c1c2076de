// Answers that come piece by piece. A piece is made when the reader has taken the one before, so a reader that does not read
// costs no more than one piece.

import type { AnyOperation } from '../operations/index.ts'

type Records = Extract<AnyOperation, { each: unknown }> extends { run: (...given: never[]) => infer R } ? R : never

/** `onEnd` is called when the stream is over, however it ended. */
export function eventStream(events: AsyncIterable<string>, onEnd: () => void): Response {
  return new Response(pulled(events, onEnd), {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // A proxy that collects events before it passes them on would hold them back.
      'x-accel-buffering': 'no',
    },
  })
}

/** Records as JSON lines. A failure on the way is the last line, since the status has been sent. */
export function lines(records: Records, problem: (error: unknown) => Response, onEnd: () => void): Response {
  async function* texts(): AsyncGenerator<string> {
    try {
      for await (const record of records) yield `${JSON.stringify(record)}\n`
    } catch (error) {
      yield `${JSON.stringify({ problem: JSON.parse(await problem(error).text()) as unknown })}\n`
    }
  }
  return new Response(pulled(texts(), onEnd), {
    headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
  })
}

const encoder = new TextEncoder()

function pulled(texts: AsyncIterable<string>, onEnd: () => void): ReadableStream<Uint8Array> {
  const iterator = texts[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await iterator.next()
          if (next.done !== true) return controller.enqueue(encoder.encode(next.value))
        } catch (error) {
          onEnd()
          throw error
        }
        onEnd()
        controller.close()
      },
      async cancel() {
        onEnd()
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
