import type { Reply, Stop, Usage } from './reply.ts'

/** A reply made definite: ids given, texts cut into pieces, usage counted. What a protocol renders. */
export interface Turn {
  /** Without the provider's prefix. */
  id: string
  /** Seconds since the epoch. */
  created: number
  model: string
  text: string[]
  reasoning: string[]
  refusal: string[]
  calls: { id: string; name: string; arguments: string[] }[]
  stop: Stop
  usage: Required<Usage>
  reasoningTokens: number
}

interface TurnSetting {
  model: string
  requestBytes: number
  id: () => string
  clock: () => number
}

export function turnOf(reply: Reply, { model, requestBytes, id, clock }: TurnSetting): Turn {
  const pieces = (text: string | undefined): string[] => cutUp(text ?? '', reply.chunk ?? 8)
  const calls = (reply.toolCalls ?? []).map((call) => ({
    id: call.id ?? `call_${id()}`,
    name: call.name,
    arguments: pieces(typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)),
  }))
  const spoken = [
    reply.text,
    reply.reasoning,
    reply.refusal,
    ...calls.flatMap((call) => [call.name, ...call.arguments]),
  ]
  if (!spoken.some(Boolean) && reply.noText === undefined && reply.error === undefined)
    throw new Error('the scripted reply says nothing: give it text or a tool call, or say noText: true')
  const usage = reply.usage ?? { input: tokens(requestBytes), output: tokens(Buffer.byteLength(spoken.join(''))) }
  return {
    id: id(),
    created: Math.floor(clock() / 1000),
    model,
    text: pieces(reply.text),
    reasoning: pieces(reply.reasoning),
    refusal: pieces(reply.refusal),
    calls,
    stop: reply.stop ?? naturalStop(reply),
    usage: { cached: 0, ...usage },
    reasoningTokens: reply.reasoning ? Math.min(usage.output, tokens(Buffer.byteLength(reply.reasoning))) : 0,
  }
}

/** The usual rule of thumb: four bytes to a token. */
export function tokens(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / 4))
}

function naturalStop(reply: Reply): Stop {
  if (reply.toolCalls?.length) return 'tool-calls'
  return reply.refusal === undefined ? 'stop' : 'refusal'
}

/** Cuts between code points, so that no piece ends in half a character. */
function cutUp(text: string, size: number): string[] {
  const points = Array.from(text)
  const step = Math.max(1, size)
  return Array.from({ length: Math.ceil(points.length / step) }, (_, at) =>
    points.slice(at * step, (at + 1) * step).join(''),
  )
}
