import { type Frame, typedFrame } from './protocol.ts'
import type { Turn } from './turn.ts'

/** One entry of a response's `output`, as it stands when finished. */
export type Item = { id: string } & (
  | { type: 'reasoning'; summary: { type: 'summary_text'; text: string }[] }
  | { type: 'message'; role: 'assistant'; status: 'completed'; content: Content[] }
  | { type: 'function_call'; status: 'completed'; call_id: string; name: string; namespace?: string; arguments: string }
  | { type: 'custom_tool_call'; status: 'completed'; call_id: string; name: string; input: string }
)

type Content =
  | { type: 'output_text'; text: string; annotations: []; logprobs: [] }
  | { type: 'refusal'; refusal: string }

/** `freeform` names the tools whose argument is plain text: the script gives it as a string. */
export function itemsOf(turn: Turn, freeform: ReadonlySet<string>): Item[] {
  const items: Item[] = []
  if (turn.reasoning.length > 0)
    items.push({
      id: `rs_${turn.id}`,
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: turn.reasoning.join('') }],
    })
  const parts: Content[] = []
  if (turn.text.length > 0) parts.push({ type: 'output_text', text: turn.text.join(''), annotations: [], logprobs: [] })
  if (turn.refusal.length > 0) parts.push({ type: 'refusal', refusal: turn.refusal.join('') })
  if (parts.length > 0)
    items.push({ id: `msg_${turn.id}`, type: 'message', role: 'assistant', status: 'completed', content: parts })
  for (const [at, call] of turn.calls.entries()) {
    const named = { status: 'completed', call_id: call.id, ...nameOf(call.name) } as const
    items.push(
      freeform.has(call.name)
        ? { id: `ctc_${turn.id}_${at}`, type: 'custom_tool_call', ...named, input: call.arguments.join('') }
        : { id: `fc_${turn.id}_${at}`, type: 'function_call', ...named, arguments: call.arguments.join('') },
    )
  }
  return items
}

/** `group.tool`, as Codex offers the tools of an MCP server. */
function nameOf(name: string): { name: string; namespace?: string } {
  const [group, tool] = name.split('.')
  return tool === undefined ? { name } : { name: tool, namespace: group! }
}

export function responsesStream(
  turn: Turn,
  items: Item[],
  response: { begun: object; ended: { status: string } },
): Frame[] {
  const events: Event[] = [
    envelope('response.created', { response: response.begun }),
    envelope('response.in_progress', { response: response.begun }),
    ...items.flatMap((item, index) => [
      envelope('response.output_item.added', { output_index: index, item: started(item) }),
      ...itemEvents(turn, item, index),
      envelope('response.output_item.done', { output_index: index, item }),
    ]),
    envelope(`response.${response.ended.status}`, { response: response.ended }),
  ]
  return events.map(({ type, fields, piece }, at) => typedFrame(type, { sequence_number: at, ...fields }, piece))
}

interface Event {
  type: string
  fields: object
  piece: boolean
}

function envelope(type: string, fields: object): Event {
  return { type, fields, piece: false }
}

function started(item: Item): object {
  switch (item.type) {
    case 'reasoning':
      return { ...item, summary: [] }
    case 'message':
      return { ...item, status: 'in_progress', content: [] }
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' }
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' }
  }
}

function itemEvents(turn: Turn, item: Item, index: number): Event[] {
  const place = { item_id: item.id, output_index: index }
  const deltas = (type: string, at: object, pieces: string[]): Event[] =>
    pieces.map((delta) => ({ type: `${type}.delta`, fields: { ...at, delta }, piece: true }))
  switch (item.type) {
    case 'reasoning': {
      const at = { ...place, summary_index: 0 }
      return [
        envelope('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } }),
        ...deltas('response.reasoning_summary_text', at, turn.reasoning),
        envelope('response.reasoning_summary_text.done', { ...at, text: turn.reasoning.join('') }),
        envelope('response.reasoning_summary_part.done', { ...at, part: item.summary[0] }),
      ]
    }
    case 'message':
      return item.content.flatMap((part, content_index) => {
        const at = { ...place, content_index }
        const text = part.type === 'output_text'
        return [
          envelope('response.content_part.added', {
            ...at,
            part: text ? { ...part, text: '' } : { ...part, refusal: '' },
          }),
          ...(text
            ? deltas('response.output_text', { ...at, logprobs: [] }, turn.text)
            : deltas('response.refusal', at, turn.refusal)),
          text
            ? envelope('response.output_text.done', { ...at, text: part.text, logprobs: [] })
            : envelope('response.refusal.done', { ...at, refusal: part.refusal }),
          envelope('response.content_part.done', { ...at, part }),
        ]
      })
    case 'function_call':
      return [
        ...deltas('response.function_call_arguments', place, argumentsOf(turn, item.call_id)),
        envelope('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments }),
      ]
    case 'custom_tool_call':
      return [
        ...deltas('response.custom_tool_call_input', place, argumentsOf(turn, item.call_id)),
        envelope('response.custom_tool_call_input.done', { ...place, input: item.input }),
      ]
  }
}

function argumentsOf(turn: Turn, id: string): string[] {
  return turn.calls.find((call) => call.id === id)?.arguments ?? []
}
