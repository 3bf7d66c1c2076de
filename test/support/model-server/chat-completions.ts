import { z } from 'zod'
import { content, Conversation, parsedArguments, textOf } from './conversation.ts'
import { openAiFailure } from './openai-failure.ts'
import type { Frame, Protocol } from './protocol.ts'
import type { Prompt } from './request.ts'
import type { Turn } from './turn.ts'

const bodySchema = z.looseObject({
  model: z.string(),
  stream: z.boolean().nullish(),
  messages: z.array(
    z.looseObject({
      role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
      content,
      tool_call_id: z.string().optional(),
      tool_calls: z
        .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
        .nullish(),
    }),
  ),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).nullish(),
})

const streamOptionsSchema = z.looseObject({
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
})

/** OpenAI chat completions, with the `reasoning_content` that compatible servers add to it. */
export const chatCompletions: Protocol = {
  api: 'chat-completions',
  read,
  whole: (turn) => ({
    ...head(turn, 'chat.completion'),
    choices: [{ index: 0, message: message(turn), logprobs: null, finish_reason: finishReason(turn) }],
    usage: usage(turn),
  }),
  stream,
  failure: (failure, turn) => openAiFailure(failure, turn, 'chat-completions'),
  streamFailure: (failure, turn) => [frame(openAiFailure(failure, turn, 'chat-completions').body)],
}

function read(body: unknown): Prompt {
  const { model, stream: wanted, messages, tools } = bodySchema.parse(body)
  const conversation = new Conversation()
  for (const each of messages) {
    const text = textOf(each.content)
    if (each.role === 'user') conversation.user(text)
    else if (each.role === 'tool') conversation.toolResult(each.tool_call_id ?? '', text)
    else if (each.role === 'assistant') {
      conversation.assistant(text)
      for (const { id, function: made } of each.tool_calls ?? [])
        conversation.toolCall(id, made.name, parsedArguments(made.arguments))
    } else conversation.system(text)
  }
  return conversation.prompt({ model, stream: wanted, tools: (tools ?? []).map((tool) => tool.function.name) })
}

function message(turn: Turn): object {
  const calls = turn.calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments.join('') },
  }))
  return {
    role: 'assistant',
    content: turn.text.length > 0 ? turn.text.join('') : null,
    refusal: turn.refusal.length > 0 ? turn.refusal.join('') : null,
    ...(turn.reasoning.length > 0 && { reasoning_content: turn.reasoning.join('') }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

function stream(turn: Turn, body: unknown): Frame[] {
  const counted = streamOptionsSchema.parse(body).stream_options?.include_usage === true
  const chunk = (delta: object, piece: boolean, finish: string | null = null): Frame =>
    frame(
      {
        ...head(turn, 'chat.completion.chunk'),
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
        ...(counted && { usage: null }),
      },
      piece,
    )
  return [
    chunk({ role: 'assistant', content: '', refusal: null }, false),
    ...turn.reasoning.map((piece) => chunk({ reasoning_content: piece }, true)),
    ...turn.text.map((piece) => chunk({ content: piece }, true)),
    ...turn.refusal.map((piece) => chunk({ refusal: piece }, true)),
    ...turn.calls.flatMap((call, index) => [
      chunk(
        { tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] },
        false,
      ),
      ...call.arguments.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] }, true)),
    ]),
    chunk({}, false, finishReason(turn)),
    ...(counted ? [frame({ ...head(turn, 'chat.completion.chunk'), choices: [], usage: usage(turn) })] : []),
    { data: 'data: [DONE]\n\n', piece: false },
  ]
}

function head(turn: Turn, object: string): object {
  return {
    id: `chatcmpl-${turn.id}`,
    object,
    created: turn.created,
    model: turn.model,
    system_fingerprint: 'fp_scripted',
  }
}

function frame(data: unknown, piece = false): Frame {
  return { data: `data: ${JSON.stringify(data)}\n\n`, piece }
}

function finishReason(turn: Turn): string {
  // A refusal in words ends with `stop`; only a filter that cuts the answer off says so.
  if (turn.stop === 'refusal') return turn.refusal.length > 0 ? 'stop' : 'content_filter'
  return turn.stop === 'tool-calls' ? 'tool_calls' : turn.stop
}

function usage({ usage: { input, output, cached }, reasoningTokens }: Turn): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoningTokens, audio_tokens: 0 },
  }
}
