// OpenAI chat messages.

import { type Message, toolName } from '../pairing.ts'
import { outputText, type Piece, pieceText } from '../pieces.ts'

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

export function toOpenAi(messages: readonly Message[]): OpenAiMessage[] {
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
    return [{ role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }, ...results]
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
