// Messages of the AI SDK (`ModelMessage`).

import type { ModelMessage } from 'ai'
import { isBlob } from '../blob.ts'
import { type Message, toolName } from '../pairing.ts'
import { outputText, type Piece, pieceText, type Result } from '../pieces.ts'

type Content<Role extends ModelMessage['role']> = Exclude<Extract<ModelMessage, { role: Role }>['content'], string>
type ToolOutput = Extract<Content<'tool'>[number], { type: 'tool-result' }>['output']

export function toAiSdk(messages: readonly Message[]): ModelMessage[] {
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
    return [assistant, { role: 'tool', content: results }]
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
  const plain = typeof output === 'string' || isBlob(output) || Array.isArray(output)
  if (plain || output === undefined) return { type: isError ? 'error-text' : 'text', value: outputText(output) }
  type Json = Extract<ToolOutput, { type: 'json' }>['value']
  return { type: isError ? 'error-json' : 'json', value: output as Json }
}
