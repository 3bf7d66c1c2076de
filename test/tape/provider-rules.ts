// What the providers refuse, as checks on the messages they are sent. Each throws with what is wrong.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, type ModelMessage, modelMessageSchema } from 'ai'
import type { AnthropicMessage, OpenAiMessage } from '../../src/tape/context/render.ts'

const idPattern = /^[a-zA-Z0-9_-]{1,40}$/
const namePattern = /^[a-zA-Z0-9_-]{1,64}$/

export function checkOpenAi(messages: readonly OpenAiMessage[]): void {
  const ids = new Set<string>()
  let open: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      const at = open.indexOf(message.tool_call_id)
      demand(at >= 0, `result ${message.tool_call_id} has no open call right before it`)
      demand(typeof message.content === 'string', 'tool content is text')
      open.splice(at, 1)
      continue
    }
    demand(open.length === 0, `calls ${open.join()} are not answered`)
    if (message.role === 'user') {
      demand(message.content.length > 0, 'user content is empty')
      continue
    }
    demand(message.content !== null || (message.tool_calls ?? []).length > 0, 'assistant message is empty')
    for (const call of message.tool_calls ?? []) {
      demand(idPattern.test(call.id) && !ids.has(call.id), `call id ${call.id}`)
      demand(namePattern.test(call.function.name), `tool name ${call.function.name}`)
      const input: unknown = JSON.parse(call.function.arguments)
      demand(typeof input === 'object' && input !== null && !Array.isArray(input), 'arguments are an object')
      ids.add(call.id)
      open.push(call.id)
    }
  }
  demand(open.length === 0, `calls ${open.join()} are not answered at the end`)
}

export function checkAnthropic(messages: readonly AnthropicMessage[]): void {
  const ids = new Set<string>()
  let open: string[] = []
  messages.forEach((message, i) => {
    demand(message.role === (i % 2 === 0 ? 'user' : 'assistant'), `message ${i} is by ${message.role}`)
    demand(message.content.length > 0, `message ${i} is empty`)
    const results = message.content.filter((block) => block.type === 'tool_result')
    demand(new Set(results.map((each) => each.tool_use_id)).size === results.length, 'a call has two results')
    demand(
      open.every((id) => results.some((each) => each.tool_use_id === id)),
      `calls ${open.join()} are not answered`,
    )
    demand(
      results.every((each) => open.includes(each.tool_use_id)),
      'a result has no call right before it',
    )
    demand(
      message.content.slice(0, results.length).every((block) => block.type === 'tool_result'),
      'results come first',
    )
    open = []
    for (const block of message.content) {
      if (block.type === 'text') demand(block.text.trim() !== '', 'a text block is blank')
      if (block.type === 'tool_use') {
        demand(message.role === 'assistant', 'a call by the user')
        demand(idPattern.test(block.id) && !ids.has(block.id), `call id ${block.id}`)
        demand(namePattern.test(block.name), `tool name ${block.name}`)
        ids.add(block.id)
        open.push(block.id)
      }
    }
  })
  demand(open.length === 0, `calls ${open.join()} are not answered at the end`)
  const last = messages.at(-1)
  const block = last?.role === 'assistant' ? last.content.at(-1) : undefined
  if (block?.type === 'text') demand(block.text === block.text.trimEnd(), 'the last text ends in white space')
}

export function checkAiSdk(messages: readonly ModelMessage[]): void {
  for (const message of messages) modelMessageSchema.parse(message)
}

/** The requests that the AI SDK's own providers make of the messages: their conversion is a check in itself. */
export async function requestsOf(
  messages: ModelMessage[],
): Promise<{ openai: OpenAiMessage[]; anthropic: AnthropicMessage[] }> {
  const sent: Record<string, unknown> = {}
  const capture = (name: string) =>
    (async (_url: unknown, init?: { body?: unknown }) => {
      sent[name] = (JSON.parse(String(init?.body)) as { messages: unknown }).messages
      return new Response('{"type":"error","error":{"type":"x","message":"captured"}}', { status: 400 })
    }) as typeof fetch
  const openai = createOpenAI({ apiKey: 'none', fetch: capture('openai') }).chat('gpt-4o')
  const anthropic = createAnthropic({ apiKey: 'none', fetch: capture('anthropic') })('claude-sonnet-4-5')
  for (const model of [openai, anthropic]) {
    await generateText({ model, messages, maxRetries: 0 }).then(
      () => demand(false, 'the request was not captured'),
      (error: Error) => demand(error.message.includes('captured'), error.message),
    )
  }
  return sent as { openai: OpenAiMessage[]; anthropic: AnthropicMessage[] }
}

function demand(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}
