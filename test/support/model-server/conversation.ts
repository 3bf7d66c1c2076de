import { z } from 'zod'
import type { Message, Prompt } from './request.ts'

// Lenient on purpose: agents send many part types, and only text is common to all protocols.
const part = z.looseObject({ type: z.string().optional(), text: z.string().nullish() })
export const content = z.union([z.string(), z.array(part)]).nullish()

export function textOf(value: z.infer<typeof content>): string {
  if (typeof value === 'string') return value
  return (value ?? []).flatMap((each) => each.text ?? []).join('\n')
}

/** Arguments as the model wrote them: parsed when they are JSON, else the bare string. */
export function parsedArguments(json: string): unknown {
  try {
    return JSON.parse(json) as unknown
  } catch {
    return json
  }
}

/**
 * Gathers a conversation piece by piece. The protocols cut turns differently (one message per tool result, one item per
 * call), so neighbouring pieces of an assistant or tool turn are joined into one message.
 */
export class Conversation {
  readonly #system: string[] = []
  readonly #messages: Message[] = []

  system(text: string): void {
    if (text !== '') this.#system.push(text)
  }

  user(text: string): void {
    this.#messages.push({ role: 'user', text, toolCalls: [], toolResults: [] })
  }

  assistant(text: string): void {
    const message = this.#joined('assistant')
    message.text = [message.text, text].filter((each) => each !== '').join('\n')
  }

  toolCall(id: string, name: string, args: unknown): void {
    this.#joined('assistant').toolCalls.push({ id, name, arguments: args })
  }

  toolResult(id: string, text: string): void {
    const made = this.#messages.flatMap((each) => each.toolCalls).findLast((each) => each.id === id)
    this.#joined('tool').toolResults.push({ id, name: made?.name ?? '', text })
  }

  prompt(rest: { model: string; tools: string[]; stream: boolean | null | undefined }): Prompt {
    return {
      model: rest.model,
      system: this.#system.join('\n\n'),
      messages: this.#messages,
      tools: rest.tools,
      stream: rest.stream ?? false,
    }
  }

  #joined(role: 'assistant' | 'tool'): Message {
    const last = this.#messages.at(-1)
    if (last?.role === role) return last
    const message: Message = { role, text: '', toolCalls: [], toolResults: [] }
    this.#messages.push(message)
    return message
  }
}
