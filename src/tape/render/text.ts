// A context for people to read.

import type { Message } from '../pairing.ts'
import { outputText, pieceText } from '../pieces.ts'

export function toText(messages: readonly Message[]): string {
  return messages
    .map((message) => {
      const said = message.pieces.map((piece) => (piece.type === 'reasoning' ? `(${piece.text})` : pieceText(piece)))
      if (message.role === 'user') return `user: ${said.join('\n')}`
      const steps = message.steps.map(({ call, result }) => {
        const failed = result.isError ? ' (error)' : ''
        return `-> ${call.name} ${JSON.stringify(call.arguments)}\n<-${failed} ${outputText(result.output)}`
      })
      return [...(said.length > 0 ? [`assistant: ${said.join('\n')}`] : []), ...steps].join('\n')
    })
    .join('\n\n')
}
