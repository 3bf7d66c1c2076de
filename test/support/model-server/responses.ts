import { z } from 'zod'
import { content, Conversation, parsedArguments, textOf } from './conversation.ts'
import { openAiFailure } from './openai-failure.ts'
import { type Protocol, typedFrame } from './protocol.ts'
import type { Prompt } from './request.ts'
import { type Item, itemsOf, responsesStream } from './response-items.ts'
import type { Turn } from './turn.ts'

const itemSchema = z.looseObject({
  type: z.string().optional(),
  id: z.string().nullish(),
  role: z.enum(['system', 'developer', 'user', 'assistant']).optional(),
  content,
  call_id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  input: z.string().optional(),
  output: content,
})

const bodySchema = z.looseObject({
  model: z.string(),
  stream: z.boolean().nullish(),
  instructions: z.string().nullish(),
  input: z.union([z.string(), z.array(itemSchema)]),
  tools: z
    .array(
      z.looseObject({
        type: z.string(),
        name: z.string().optional(),
        tools: z.array(z.looseObject({ name: z.string() })).optional(),
      }),
    )
    .nullish(),
})

const toolsSchema = bodySchema.pick({ tools: true })

/**
 * OpenAI responses. It remembers the items it sent, as OpenAI does unless told `store: false`: clients name them by
 * `item_reference` in later requests instead of repeating them.
 */
export function responses(): Protocol {
  const sent = new Map<string, Item>()
  const items = (turn: Turn, body: unknown): Item[] => {
    const made = itemsOf(turn, freeformTools(body))
    for (const item of made) sent.set(item.id, item)
    return made
  }
  return {
    api: 'responses',
    read: (body) => read(body, sent),
    whole: (turn, body) => ended(turn, items(turn, body)),
    stream(turn, body) {
      const output = items(turn, body)
      const response = ended(turn, output)
      return responsesStream(turn, output, { begun: begun(turn), ended: response })
    },
    failure: (failure, turn) => openAiFailure(failure, turn, 'responses'),
    streamFailure(failure, turn, count) {
      const { error } = openAiFailure(failure, turn, 'responses').body
      const response = {
        ...begun(turn),
        status: 'failed',
        error: { code: error.code ?? 'server_error', message: error.message },
      }
      return [typedFrame('response.failed', { sequence_number: count, response })]
    },
  }
}

function read(body: unknown, sent: ReadonlyMap<string, Item>): Prompt {
  const { model, stream, instructions, input, tools } = bodySchema.parse(body)
  const conversation = new Conversation()
  conversation.system(instructions ?? '')
  for (const given of typeof input === 'string' ? [{ role: 'user' as const, content: input }] : input) {
    const item = itemSchema.parse(given.type === 'item_reference' ? recalled(given.id ?? '', sent) : given)
    const text = textOf(item.content)
    if (item.type === 'function_call' || item.type === 'custom_tool_call')
      conversation.toolCall(item.call_id ?? '', item.name ?? '', parsedArguments(item.arguments ?? item.input ?? ''))
    else if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output')
      conversation.toolResult(item.call_id ?? '', textOf(item.output))
    else if (item.role === 'user') conversation.user(text)
    else if (item.role === 'assistant') conversation.assistant(text)
    else if (item.role !== undefined) conversation.system(text)
  }
  // The tools of a group are called as `group.tool`.
  const names = (tools ?? []).flatMap(({ type, name = type, tools: group = [] }) => [
    name,
    ...group.map((each) => `${name}.${each.name}`),
  ])
  return conversation.prompt({ model, stream, tools: names })
}

function recalled(id: string, sent: ReadonlyMap<string, Item>): Item {
  const item = sent.get(id)
  if (item === undefined)
    throw new Error(`Item with id '${id}' not found: keep one server over the conversation, or send store: false`)
  return item
}

/** Codex offers tools that take plain text; a call to one is an item of another type. */
function freeformTools(body: unknown): Set<string> {
  const { tools } = toolsSchema.parse(body)
  return new Set((tools ?? []).flatMap((tool) => (tool.type === 'custom' && tool.name ? [tool.name] : [])))
}

type Response = { status: 'in_progress' | 'completed' | 'incomplete' } & Record<string, unknown>

function begun(turn: Turn): Response {
  return {
    id: `resp_${turn.id}`,
    object: 'response',
    created_at: turn.created,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: null,
    model: turn.model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    tool_choice: 'auto',
    tools: [],
    usage: null,
    metadata: {},
  }
}

function ended(turn: Turn, output: Item[]): Response {
  const reason = incompleteReason(turn)
  const { input, output: written, cached } = turn.usage
  return {
    ...begun(turn),
    status: reason === null ? 'completed' : 'incomplete',
    incomplete_details: reason === null ? null : { reason },
    output,
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: written,
      output_tokens_details: { reasoning_tokens: turn.reasoningTokens },
      total_tokens: input + written,
    },
  }
}

function incompleteReason(turn: Turn): string | null {
  if (turn.stop === 'length') return 'max_output_tokens'
  // A refusal in words is a completed response; only a filter that cuts the answer off is not.
  return turn.stop === 'refusal' && turn.refusal.length === 0 ? 'content_filter' : null
}
