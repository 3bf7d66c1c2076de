import { z } from 'zod'
import { anthropicFailure } from './anthropic-failure.ts'
import { content, Conversation, textOf } from './conversation.ts'
import { type Frame, type Protocol, typedFrame } from './protocol.ts'
import type { Prompt } from './request.ts'
import type { Turn } from './turn.ts'

const toolUse = z.looseObject({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown() })
const toolResult = z.looseObject({ type: z.literal('tool_result'), tool_use_id: z.string(), content })

const bodySchema = z.looseObject({
  model: z.string(),
  stream: z.boolean().nullish(),
  system: content,
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content })),
  tools: z.array(z.looseObject({ name: z.string() })).nullish(),
})

/** Anthropic messages. */
export const messages: Protocol = {
  api: 'messages',
  read,
  whole: (turn) => ({
    ...head(turn),
    content: blocks(turn).map((block) => block.whole()),
    ...ending(turn),
    usage: usage(turn),
  }),
  stream,
  failure: anthropicFailure,
  streamFailure: (failure, turn) => [typedFrame('error', anthropicFailure(failure, turn).body)],
}

function read(body: unknown): Prompt {
  const { model, stream: wanted, system, messages: sent, tools } = bodySchema.parse(body)
  const conversation = new Conversation()
  conversation.system(textOf(system))
  for (const each of sent) {
    const parts = Array.isArray(each.content) ? each.content : []
    const text = textOf(each.content)
    if (each.role === 'system') conversation.system(text)
    else if (each.role === 'assistant') {
      conversation.assistant(text)
      for (const made of parts.filter((part) => part.type === 'tool_use').map((part) => toolUse.parse(part)))
        conversation.toolCall(made.id, made.name, made.input)
    } else {
      const results = parts.filter((part) => part.type === 'tool_result').map((part) => toolResult.parse(part))
      for (const result of results) conversation.toolResult(result.tool_use_id, textOf(result.content))
      if (text !== '' || results.length === 0) conversation.user(text)
    }
  }
  return conversation.prompt({ model, stream: wanted, tools: (tools ?? []).map((tool) => tool.name) })
}

interface Block {
  whole(): object
  start: object
  deltas: object[]
  /** Sent after the deltas, as part of the envelope. */
  closing?: object
}

function blocks(turn: Turn): Block[] {
  const all: Block[] = []
  if (turn.reasoning.length > 0) {
    const signature = Buffer.from(`scripted ${turn.id}`).toString('base64')
    all.push({
      whole: () => ({ type: 'thinking', thinking: turn.reasoning.join(''), signature }),
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: turn.reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })),
      closing: { type: 'signature_delta', signature },
    })
  }
  if (turn.text.length > 0)
    all.push({
      whole: () => ({ type: 'text', text: turn.text.join('') }),
      start: { type: 'text', text: '' },
      deltas: turn.text.map((text) => ({ type: 'text_delta', text })),
    })
  for (const call of turn.calls) {
    const named = { type: 'tool_use', id: call.id, name: call.name }
    all.push({
      whole: () => ({ ...named, input: JSON.parse(call.arguments.join('')) as unknown }),
      start: { ...named, input: {} },
      deltas: call.arguments.map((json) => ({ type: 'input_json_delta', partial_json: json })),
    })
  }
  return all
}

function stream(turn: Turn): Frame[] {
  const begun = {
    ...head(turn),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage(turn), output_tokens: 1 },
  }
  return [
    typedFrame('message_start', { message: begun }),
    typedFrame('ping'),
    ...blocks(turn).flatMap((block, index) => [
      typedFrame('content_block_start', { index, content_block: block.start }),
      ...block.deltas.map((delta) => typedFrame('content_block_delta', { index, delta }, true)),
      ...(block.closing ? [typedFrame('content_block_delta', { index, delta: block.closing })] : []),
      typedFrame('content_block_stop', { index }),
    ]),
    typedFrame('message_delta', { delta: ending(turn), usage: usage(turn) }),
    typedFrame('message_stop'),
  ]
}

function head(turn: Turn): object {
  return { id: `msg_${turn.id}`, type: 'message', role: 'assistant', model: turn.model }
}

function ending(turn: Turn): object {
  const refusal = { type: 'refusal', category: null, explanation: turn.refusal.join('') || null }
  return {
    stop_reason: { stop: 'end_turn', 'tool-calls': 'tool_use', length: 'max_tokens', refusal: 'refusal' }[turn.stop],
    stop_sequence: null,
    ...(turn.stop === 'refusal' && { stop_details: refusal }),
  }
}

/** Anthropic counts what came from the cache apart from `input_tokens`. */
function usage({ usage: { input, output, cached } }: Turn): object {
  return {
    input_tokens: input - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: output,
  }
}
