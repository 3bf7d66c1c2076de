// What entries say, in one form for all. Messages may have been recorded in the shape of any provider; from
// here on there is only this one, and each provider's shape is made from it at the door.

import type { Entry, MessagePayload, Part, ToolCall, ToolResult } from '../../store/index.ts'
import { blobText, isBlob } from './blob.ts'
import { type Media, isMedia, mediaOf, partsOf } from './media.ts'

export type Piece =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'reasoning'
      readonly text: string
      readonly signature?: string
      readonly redacted?: string
      readonly options?: Record<string, unknown>
    }
  | Media

export interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: Record<string, unknown>
}

export interface Result {
  readonly callId: string
  readonly name: string
  readonly output: unknown
  readonly isError: boolean
}

/** What a bound on tokens never leaves out, as far as it is the newest of its sort. */
export type Keep = 'state' | 'words' | 'document' | 'prompt'

/** One thing that was said or done, with the id of its entry. */
export type Item =
  | {
      readonly type: 'user' | 'assistant' | 'system'
      readonly id: number
      readonly pieces: readonly Piece[]
      readonly keep?: Keep | undefined
    }
  | { readonly type: 'calls'; readonly id: number; readonly calls: readonly Call[] }
  | { readonly type: 'results'; readonly id: number; readonly results: readonly Result[] }

/** Kinds that can become part of a context. */
export const contextKinds = ['message', 'system', 'tool_call', 'tool_result', 'anchor'] as const

/** What an entry contributes to a context, in order. Anchors are the context's own business. */
export function itemsOf(entry: Entry): Item[] {
  if (entry.meta.context === false) return []
  const { id } = entry
  switch (entry.kind) {
    case 'system':
      return [{ type: 'system', id, pieces: [text(String(entry.payload.content))] }]
    case 'message':
      return messageItems(id, entry.payload)
    case 'tool_call':
      return [{ type: 'calls', id, calls: entry.payload.calls.map(asCall) }]
    case 'tool_result':
      return [{ type: 'results', id, results: entry.payload.results.map(asResult) }]
    default:
      return []
  }
}

function messageItems(id: number, payload: MessagePayload): Item[] {
  const { role, content } = payload
  const parts: Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
  if (role === 'tool') return toolMessage(id, payload, parts)
  const type = role === 'assistant' ? 'assistant' : role === 'system' || role === 'developer' ? 'system' : 'user'
  const pieces: Piece[] = []
  const calls: Call[] = []
  const results: Result[] = []
  for (const part of parts) {
    const call = callIn(part)
    const result = resultIn(part)
    if (call !== undefined) calls.push(call)
    else if (result !== undefined) results.push(result)
    else pieces.push(asPiece(part))
  }
  for (const call of (payload.tool_calls as OpenAiCall[] | undefined) ?? []) {
    calls.push({ id: call.id, name: call.function.name, arguments: asArguments(call.function.arguments) })
  }
  const items: Item[] = []
  if (results.length > 0) items.push({ type: 'results', id, results })
  if (pieces.length > 0) items.push({ type, id, pieces, keep: keepOf(payload) })
  if (calls.length > 0) items.push({ type: 'calls', id, calls })
  return items
}

function keepOf({ role, customType }: MessagePayload): Keep | undefined {
  if (customType === 'handoff') return 'document'
  return role === 'user' && customType === undefined ? 'prompt' : undefined
}

interface OpenAiCall {
  id: string
  function: { name: string; arguments: unknown }
}

function toolMessage(id: number, payload: MessagePayload, parts: readonly Part[]): Item[] {
  const inside = parts.map(resultIn).filter((result) => result !== undefined)
  if (inside.length > 0) return [{ type: 'results', id, results: inside }]
  const callId = typeof payload.tool_call_id === 'string' ? payload.tool_call_id : ''
  const name = typeof payload.name === 'string' ? payload.name : 'tool'
  return [{ type: 'results', id, results: [{ callId, name, output: payload.content ?? '', isError: false }] }]
}

function callIn(part: Part): Call | undefined {
  if (part.type === 'tool_use')
    return { id: string(part.id), name: string(part.name), arguments: asArguments(part.input) }
  if (part.type === 'tool-call') {
    return { id: string(part.toolCallId), name: string(part.toolName), arguments: asArguments(part.input ?? part.args) }
  }
  return undefined
}

function resultIn(part: Part): Result | undefined {
  if (part.type === 'tool_result') {
    return {
      callId: string(part.tool_use_id),
      name: 'tool',
      output: part.content ?? '',
      isError: part.is_error === true,
    }
  }
  if (part.type !== 'tool-result') return undefined
  const output = (part.output ?? part.result ?? '') as { type?: unknown; value?: unknown } | string
  const wrapped = typeof output === 'object' && output !== null && 'type' in output && 'value' in output
  const isError = wrapped && String(output.type).startsWith('error')
  return {
    callId: string(part.toolCallId),
    name: string(part.toolName),
    output: wrapped ? output.value : output,
    isError,
  }
}

function asCall(call: ToolCall): Call {
  return { id: call.id, name: call.name, arguments: asArguments(call.arguments) }
}

function asResult(result: ToolResult): Result {
  const { call_id: callId, name = 'tool', output = '', is_error: isError = false } = result
  return { callId, name, output, isError }
}

/** Every provider wants an object; whatever else was recorded is kept inside one. */
function asArguments(value: unknown): Record<string, unknown> {
  const parsed = typeof value === 'string' ? parseJson(value) : value
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Record<string, unknown>
  return parsed === undefined || parsed === null || parsed === '' ? {} : { input: parsed }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text // a model may write anything; it is shown as it was
  }
}

function asPiece(part: Part): Piece {
  if (isBlob(part)) return text(blobText(part))
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return text(string(part.text))
    case 'reasoning':
    case 'thinking':
    case 'redacted_thinking':
      return reasoning(part)
    default:
      return (isMedia(part) ? mediaOf(part) : undefined) ?? text(JSON.stringify(part))
  }
}

function reasoning(part: Part): Piece {
  const options = (part.providerOptions ?? part.providerMetadata) as Record<string, Record<string, unknown>> | undefined
  const signature = part.signature ?? options?.anthropic?.signature
  const redacted = part.type === 'redacted_thinking' ? part.data : options?.anthropic?.redactedData
  return {
    type: 'reasoning',
    text: string(part.text ?? part.thinking),
    ...(typeof signature === 'string' ? { signature } : {}),
    ...(typeof redacted === 'string' ? { redacted } : {}),
    ...(options === undefined ? {} : { options }),
  }
}

/**
 * What a message says, whatever its shape: its text parts, and the preview of text that is in a blob, with the name of the blob.
 * Parts that the agent's program has added by itself, such as a file that was named, are left out.
 */
export function contentText(content: unknown): { text: string; blob?: string; hasImage: boolean } {
  if (typeof content === 'string') return { text: content, hasImage: false }
  const texts: string[] = []
  let blob: string | undefined
  let hasImage = false
  for (const part of Array.isArray(content) ? (content as unknown[]) : []) {
    if (typeof part !== 'object' || part === null) continue
    const { type, text, preview, synthetic, of, sha256 } = part as Record<string, unknown>
    if (synthetic === true) continue
    if (type === 'blob' && of === undefined && typeof preview === 'string') {
      texts.push(preview)
      if (typeof sha256 === 'string') blob = sha256
    } else if (of !== undefined || isMedia(part as Part)) hasImage = true
    else if ((type === 'text' || type === 'input_text' || type === 'output_text') && typeof text === 'string') {
      texts.push(text)
    }
  }
  return { text: texts.join('\n'), blob, hasImage }
}

/** A tool's output as text, for people and for providers that take nothing else. */
export function outputText(output: unknown): string {
  if (typeof output === 'string') return output
  if (isBlob(output)) return blobText(output)
  const pieces = outputPieces(output)
  return pieces === undefined ? (JSON.stringify(output) ?? '') : pieces.map(pieceText).join('\n')
}

/** The parts of a tool's output that has some, such as images. */
export function outputPieces(output: unknown): Piece[] | undefined {
  return partsOf(output)?.map(asPiece)
}

/** The images and files in a tool's output. */
export function outputMedia(output: unknown): Media[] {
  return outputPieces(output)?.filter((piece) => piece.type === 'media') ?? []
}

export function pieceText(piece: Piece): string {
  if (piece.type === 'text') return piece.text
  if (piece.type === 'reasoning') return piece.text
  return `[${piece.kind}${piece.filename === undefined ? '' : ` ${piece.filename}`}, ${piece.mediaType}]`
}

function text(value: string): Piece {
  return { type: 'text', text: value }
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)
}
