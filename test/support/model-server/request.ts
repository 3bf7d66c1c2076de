import type { IncomingHttpHeaders } from 'node:http'

/** Those that our own agent speaks too. */
export type Api = 'chat-completions' | 'responses' | 'messages'

export type AnyApi = Api | 'generate-content'

/** A model call as it arrived: what the protocols have in common, and the parsed body for the rest. */
export interface ModelRequest extends Prompt {
  api: AnyApi
  /** Pathname only: Claude Code adds `?beta=true`. */
  path: string
  headers: IncomingHttpHeaders
  /** The parsed body. */
  raw: unknown
  /** Milliseconds since the epoch. */
  when: number
  /** Resolves when the exchange is over: all sent, cut by the script, or left by the client (or by `close`). */
  ended: Promise<Ending>
}

export type Ending = 'answered' | 'cut' | 'aborted'

/** What a protocol reads out of a body. */
export interface Prompt {
  model: string
  /** All system and developer text, joined by blank lines. */
  system: string
  messages: Message[]
  /** Names of the tools on offer. */
  tools: string[]
  stream: boolean
}

/** Tool results are always a message of their own with role `tool`, parallel ones together in one. */
export interface Message {
  role: 'user' | 'assistant' | 'tool'
  text: string
  toolCalls: { id: string; name: string; arguments: unknown }[]
  toolResults: { id: string; name: string; text: string }[]
}
