// The messages of a context in the format of each provider, and as text for people.

import type { ModelMessage } from 'ai'
import { isBlob } from '../content/blob.ts'
import { type ContextMessage, type CallWithResult, toolName } from './pairing.ts'
import { outputMedia, outputPieces, outputText, type Piece, pieceText, type Result } from '../content/content.ts'

type Content<Role extends ModelMessage['role']> = Exclude<Extract<ModelMessage, { role: Role }>['content'], string>
type ToolOutput = Extract<Content<'tool'>[number], { type: 'tool-result' }>['output']

/** Messages of the AI SDK. */
export function toAiSdk(messages: readonly ContextMessage[]): ModelMessage[] {
  return messages.flatMap((message): ModelMessage[] => {
    if (message.role === 'user') return [{ role: 'user', content: message.pieces.map(userPart) }]
    const said = message.pieces.map(assistantPart)
    const calls = message.steps.map(({ call }) => ({
      type: 'tool-call' as const,
      toolCallId: call.id,
      toolName: toolName(call.name),
      input: call.arguments,
    }))
    const assistant: ModelMessage = { role: 'assistant', content: [...said, ...calls] }
    if (calls.length === 0) return [assistant]
    const results = message.steps.map(({ call, result }) => ({
      type: 'tool-result' as const,
      toolCallId: call.id,
      toolName: toolName(call.name),
      output: toolOutput(result),
    }))
    const shown = toolMedia(message.steps)
    const images: ModelMessage[] = shown.length === 0 ? [] : [{ role: 'user', content: shown.map(userPart) }]
    return [assistant, { role: 'tool', content: results }, ...images]
  })
}

/**
 * The images of tool results as the content of a user message behind them. Chat completions take text alone in a tool's message, and the
 * AI SDK would write the data of an image into that text.
 */
function toolMedia(steps: readonly CallWithResult[]): Piece[] {
  return steps.flatMap(({ call, result }): Piece[] => {
    const media = outputMedia(result.output)
    if (media.length === 0) return []
    return [{ type: 'text', text: `[from the result of ${toolName(call.name)}, ${call.id}]` }, ...media]
  })
}

function userPart(piece: Piece): Content<'user'>[number] {
  if (piece.type !== 'media') return { type: 'text', text: pieceText(piece) }
  const data = piece.url === undefined ? (piece.data ?? '') : new URL(piece.url)
  if (piece.kind === 'image') return { type: 'image', image: data, mediaType: piece.mediaType }
  const name = piece.filename === undefined ? {} : { filename: piece.filename }
  return { type: 'file', data, mediaType: piece.mediaType, ...name }
}

function assistantPart(piece: Piece): Content<'assistant'>[number] {
  if (piece.type === 'text') return { type: 'text', text: piece.text }
  if (piece.type === 'media') return { type: 'text', text: pieceText(piece) }
  const own =
    piece.signature === undefined && piece.redacted === undefined
      ? undefined
      : {
          anthropic: {
            ...(piece.signature === undefined ? {} : { signature: piece.signature }),
            ...(piece.redacted === undefined ? {} : { redactedData: piece.redacted }),
          },
        }
  const providerOptions = (piece.options ?? own) as Extract<
    Content<'assistant'>[number],
    { type: 'reasoning' }
  >['providerOptions']
  return { type: 'reasoning', text: piece.text, ...(providerOptions === undefined ? {} : { providerOptions }) }
}

function toolOutput(result: Result): ToolOutput {
  const { output, isError } = result
  const plain = typeof output === 'string' || isBlob(output) || Array.isArray(output) || outputMedia(output).length > 0
  if (plain || output === undefined) return { type: isError ? 'error-text' : 'text', value: outputText(output) }
  type Json = Extract<ToolOutput, { type: 'json' }>['value']
  return { type: isError ? 'error-json' : 'json', value: output as Json }
}

export interface AnthropicMessage {
  role: 'user' | 'assistant'
  content: AnthropicBlock[]
}

type Source = { type: 'base64'; media_type: string; data: string } | { type: 'url'; url: string }

type AnthropicBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'image'; source: Source }
  | { type: 'document'; source: Source }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }
  | { type: 'tool_result'; tool_use_id: string; content: string | AnthropicBlock[]; is_error?: boolean }

/** Roles alternate, results open the next user message, and reasoning is included only with its signature. */
export function toAnthropic(messages: readonly ContextMessage[]): AnthropicMessage[] {
  const rendered: AnthropicMessage[] = []
  const add = (role: 'user' | 'assistant', content: AnthropicBlock[]) => {
    if (content.length === 0) return
    const last = rendered.at(-1)
    // After calls come their results, and what follows joins those results; other neighbours with the same role are merged too.
    if (last?.role === role && !(role === 'assistant' && last.content.some((block) => block.type === 'tool_use'))) {
      last.content.push(...content)
    } else rendered.push({ role, content })
  }
  for (const message of messages) {
    if (message.role === 'user') {
      add('user', message.pieces.map(userBlock))
      continue
    }
    const said = message.pieces.flatMap(assistantBlock)
    add('assistant', [
      ...said,
      ...message.steps.map(({ call }): AnthropicBlock => ({
        type: 'tool_use',
        id: call.id,
        name: toolName(call.name),
        input: call.arguments,
      })),
    ])
    add(
      'user',
      message.steps.map(({ call, result }): AnthropicBlock => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content:
          outputMedia(result.output).length === 0
            ? outputText(result.output)
            : outputPieces(result.output)!.map(userBlock),
        ...(result.isError ? { is_error: true } : {}),
      })),
    )
  }
  return trimEnd(rendered)
}

/** A final assistant text must not end in white space. */
function trimEnd(messages: AnthropicMessage[]): AnthropicMessage[] {
  const last = messages.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== 'assistant' || block?.type !== 'text') return messages
  return [
    ...messages.slice(0, -1),
    { ...last, content: [...last.content.slice(0, -1), { ...block, text: block.text.trimEnd() }] },
  ]
}

function assistantBlock(piece: Piece): AnthropicBlock[] {
  if (piece.type === 'text') return [{ type: 'text', text: piece.text }]
  if (piece.type === 'media') return [{ type: 'text', text: pieceText(piece) }]
  if (piece.redacted !== undefined) return [{ type: 'redacted_thinking', data: piece.redacted }]
  return piece.signature === undefined ? [] : [{ type: 'thinking', thinking: piece.text, signature: piece.signature }]
}

const images = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

function userBlock(piece: Piece): AnthropicBlock {
  if (piece.type !== 'media') return { type: 'text', text: pieceText(piece) || '(empty)' }
  const { mediaType, data, url } = piece
  const source: Source =
    url === undefined ? { type: 'base64', media_type: mediaType, data: data ?? '' } : { type: 'url', url }
  if (piece.kind === 'image' && (url !== undefined || images.has(mediaType))) return { type: 'image', source }
  if (mediaType === 'application/pdf') return { type: 'document', source }
  return { type: 'text', text: pieceText(piece) }
}

export type OpenAiMessage =
  | { role: 'user'; content: string | OpenAiPart[] }
  | { role: 'assistant'; content: string | null; tool_calls?: OpenAiCall[] }
  | { role: 'tool'; tool_call_id: string; content: string }

type OpenAiPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'file'; file: { filename: string; file_data: string } }

interface OpenAiCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** Messages of the chat completions API. */
export function toOpenAi(messages: readonly ContextMessage[]): OpenAiMessage[] {
  return messages.flatMap((message): OpenAiMessage[] => {
    if (message.role === 'user') return [{ role: 'user', content: userContent(message.pieces) }]
    // Reasoning has no place in chat messages; it stays on the tape.
    const said = message.pieces.filter((piece) => piece.type !== 'reasoning')
    const content = said.map(pieceText).join('\n') || null
    const calls = message.steps.map(({ call }): OpenAiCall => ({
      id: call.id,
      type: 'function',
      function: { name: toolName(call.name), arguments: JSON.stringify(call.arguments) },
    }))
    const results = message.steps.map(({ call, result }): OpenAiMessage => ({
      role: 'tool',
      tool_call_id: call.id,
      content: outputText(result.output),
    }))
    if (content === null && calls.length === 0) return []
    const shown = toolMedia(message.steps)
    const images: OpenAiMessage[] = shown.length === 0 ? [] : [{ role: 'user', content: userContent(shown) }]
    return [{ role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }, ...results, ...images]
  })
}

function userContent(pieces: readonly Piece[]): string | OpenAiPart[] {
  if (pieces.every((piece) => piece.type === 'text')) return pieces.map(pieceText).join('\n')
  return pieces.map((piece): OpenAiPart => {
    if (piece.type !== 'media') return { type: 'text', text: pieceText(piece) || '(empty)' }
    if (piece.kind === 'image')
      return { type: 'image_url', image_url: { url: piece.url ?? dataUrl(piece.mediaType, piece.data) } }
    if (piece.data === undefined) return { type: 'text', text: `${pieceText(piece)} ${piece.url}` }
    return {
      type: 'file',
      file: { filename: piece.filename ?? 'file', file_data: dataUrl(piece.mediaType, piece.data) },
    }
  })
}

function dataUrl(mediaType: string, data = ''): string {
  return `data:${mediaType};base64,${data}`
}

/** No line of a tool or a model can look like the beginning of a turn of the user. */
function indented(text: string): string {
  return text.replaceAll('\n', '\n  ')
}

/** For people to read. */
export function toText(messages: readonly ContextMessage[]): string {
  return messages
    .map((message) => {
      const said = message.pieces.map((piece) => (piece.type === 'reasoning' ? `(${piece.text})` : pieceText(piece)))
      if (message.role === 'user') return `user: ${said.join('\n')}`
      const steps = message.steps.map(({ call, result }) => {
        const failed = result.isError ? ' (error)' : ''
        return `-> ${call.name} ${JSON.stringify(call.arguments)}\n<-${failed} ${indented(outputText(result.output))}`
      })
      return [...(said.length > 0 ? [`assistant: ${indented(said.join('\n'))}`] : []), ...steps].join('\n')
    })
    .join('\n\n')
}
