// Anthropic messages: roles alternate, results open the next user message, reasoning only with its signature.

import { type Message, toolName } from '../pairing.ts'
import { outputText, type Piece, pieceText } from '../pieces.ts'

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
  | { type: 'tool_result'; tool_use_id: string; content: string; is_error?: boolean }

export function toAnthropic(messages: readonly Message[]): AnthropicMessage[] {
  const rendered: AnthropicMessage[] = []
  const add = (role: 'user' | 'assistant', content: AnthropicBlock[]) => {
    if (content.length === 0) return
    const last = rendered.at(-1)
    // Behind calls their results come first, so what follows them joins those; other neighbours of one role merge too.
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
        content: outputText(result.output),
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
