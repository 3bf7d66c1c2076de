import type { Reply } from './reply.ts'
import type { ModelRequest } from './request.ts'

/** Decides each reply: in order of arrival from a list, or by looking at the request. */
export type Script = readonly Reply[] | ((request: ModelRequest) => Reply | Promise<Reply>)

/**
 * The replies one after another. As a function it can be part of a larger script, for agents that ask on the side:
 * `(request) => (request.tools.length > 0 ? turns(request) : say('A title'))`.
 */
export function inOrder(replies: readonly Reply[]): (request: ModelRequest) => Reply {
  let given = 0
  return (request) => {
    const reply = replies[given]
    given += 1
    if (reply !== undefined) return reply
    const last = request.messages.at(-1)
    throw new Error(
      `the script ran out: it has ${replies.length} replies and this is request ${given} ` +
        `(${request.api}, last message ${last?.role ?? 'none'}: ${JSON.stringify((last?.text ?? '').slice(-80))})`,
    )
  }
}

export function asFunction(script: Script): (request: ModelRequest) => Reply | Promise<Reply> {
  return typeof script === 'function' ? script : inOrder(script)
}
