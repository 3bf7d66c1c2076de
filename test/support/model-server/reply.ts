/** What a script answers: plain data, the same for every protocol, plus how it is to be delivered. */
export interface Reply {
  text?: string
  /** Shown thinking: `reasoning_content`, a reasoning summary or a thinking block. */
  reasoning?: string
  /** The model declines: a refusal part at OpenAI, stop reason `refusal` with this explanation at Anthropic. */
  refusal?: string
  toolCalls?: ToolCall[]
  /** An answer without any content. Said aloud, because an empty reply is usually a mistake in the script. */
  noText?: true
  /** Derived from the content when absent. */
  stop?: Stop
  /** Estimated from the bytes of request and reply when absent. */
  usage?: Usage
  /** Characters in each streamed piece (8 when absent). */
  chunk?: number
  /** Milliseconds before the first byte and before each piece. */
  delayMs?: number
  /** Nothing more is sent until this resolves; see `holdAfter`. */
  hold?: Promise<unknown>
  /** Hold in mid-stream after this many pieces; when absent, hold before the first byte, headers included. */
  holdAfter?: number
  /**
   * Break the connection after this many pieces. A client may throw away what it has not read by then: to be sure that
   * it read the pieces, hold after as many and open the gate once they are seen.
   */
  cut?: number
  error?: Failure
}

interface ToolCall {
  id?: string
  name: string
  /** An object is sent as JSON; a string is sent as it stands, so a script can send broken JSON. */
  arguments: Record<string, unknown> | string
}

export type Stop = 'stop' | 'tool-calls' | 'length' | 'refusal'

/** `input` counts the whole prompt; `cached` is the part of it that was read from a cache. */
export interface Usage {
  input: number
  output: number
  cached?: number
}

export type Failure = (
  | { kind: 'context-length'; used: number; max: number }
  | { kind: 'rate-limit'; retryAfter: number }
  | { kind: 'overloaded' }
  | { kind: 'server' }
  | { kind: 'auth' }
  | { kind: 'status'; status: number; message: string }
  /** The quota of a plan is used up; `message` is what the agent of that provider reads. */
  | { kind: 'plan-limit'; message: string; resetsAt: Date }
) & {
  /** Fail inside an opened stream, after this many pieces, rather than with an HTTP status. */
  after?: number
}

export function say(text: string, more: Omit<Reply, 'text'> = {}): Reply {
  return { ...more, text }
}

/** One tool call; give several as `{ toolCalls: [...] }`. */
export function call(name: string, args: ToolCall['arguments'] = {}, more: Omit<Reply, 'toolCalls'> = {}): Reply {
  return { ...more, toolCalls: [{ name, arguments: args }] }
}

export function refuse(refusal: string, more: Omit<Reply, 'refusal'> = {}): Reply {
  return { ...more, refusal }
}

export function cutAfter(pieces: number, reply: Reply): Reply {
  return { ...reply, cut: pieces }
}

/** Failures in the providers' own shape and wording. `after` moves one into the stream: `failAfter(0, fail.server())`. */
export const fail = {
  contextLength: (used = 210_000, max = 200_000): Reply => ({ error: { kind: 'context-length', used, max } }),
  rateLimit: (seconds = 1): Reply => ({ error: { kind: 'rate-limit', retryAfter: seconds } }),
  overloaded: (): Reply => ({ error: { kind: 'overloaded' } }),
  server: (): Reply => ({ error: { kind: 'server' } }),
  auth: (): Reply => ({ error: { kind: 'auth' } }),
  status: (status: number, message: string): Reply => ({ error: { kind: 'status', status, message } }),
  planLimit: (message: string, resetsAt: Date): Reply => ({ error: { kind: 'plan-limit', message, resetsAt } }),
}

/** The failure arrives in a stream that began well, after this many pieces of `begun`. */
export function failAfter(pieces: number, failure: Reply, begun: Reply = {}): Reply {
  if (failure.error === undefined) throw new Error('failAfter needs a reply made by fail.*')
  return { ...begun, ...failure, error: { ...failure.error, after: pieces } }
}

/** A promise a test opens by hand, for `hold`: `const gate = closedGate()`, `hold: gate.opened`, `gate.open()`. */
export function closedGate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
