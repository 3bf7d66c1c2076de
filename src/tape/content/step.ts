// A step of the AI SDK as entries: what was said, what was called, what came back, and what it used.

import type { Draft, Meta, Part, ToolCall, ToolResult } from '../../store/index.ts'

/** The part of the AI SDK's `StepResult` that is recorded. */
export interface Step {
  readonly content: readonly object[]
  readonly finishReason?: string
  readonly usage?: Usage
  readonly response?: { readonly modelId?: string }
  /** How many bytes of a large message the model was given whole, where its context said so. */
  readonly wholeText?: number
  /** How many tokens the model takes, where that is known. */
  readonly window?: number | undefined
}

type StepPart = { readonly type: string } & Record<string, unknown>

interface Usage {
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly totalTokens?: number | undefined
  readonly cachedInputTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
}

/** The key of the newest usage on a tape. */
export const usageKey = 'usage'

/** What `Tape.recordStep` appends. */
export function stepDrafts(step: Step, meta: Meta = {}): Draft[] {
  const said: Part[] = []
  const calls: ToolCall[] = []
  const results: ToolResult[] = []
  for (const part of step.content as readonly StepPart[]) {
    switch (part.type) {
      case 'text':
        if (part.text !== '') said.push({ type: 'text', text: part.text, ...metadata(part) })
        break
      case 'reasoning':
        said.push({ type: 'reasoning', text: part.text, ...metadata(part) })
        break
      case 'file':
        said.push(filePart(part.file as { base64: string; mediaType: string }))
        break
      case 'tool-call':
        calls.push({ id: String(part.toolCallId), name: String(part.toolName), arguments: part.input })
        break
      case 'tool-result':
        results.push({ call_id: String(part.toolCallId), name: String(part.toolName), output: part.output ?? null })
        break
      case 'tool-error': {
        const output = part.error instanceof Error ? part.error.message : (part.error ?? null)
        results.push({ call_id: String(part.toolCallId), name: String(part.toolName), output, is_error: true })
        break
      }
      default:
        said.push(part)
    }
  }
  const drafts: Draft[] = []
  if (said.length > 0) drafts.push({ kind: 'message', payload: { role: 'assistant', content: said } })
  if (calls.length > 0) drafts.push({ kind: 'tool_call', payload: { calls } })
  if (results.length > 0) drafts.push({ kind: 'tool_result', payload: { results } })
  drafts.push(usageEvent(step))
  return drafts.map((draft) => ({ ...draft, meta: { ...meta, ...draft.meta } }))
}

function metadata(part: StepPart): { providerOptions?: unknown } {
  return part.providerMetadata === undefined ? {} : { providerOptions: part.providerMetadata }
}

function filePart(file: { base64: string; mediaType: string }): Part {
  const type = file.mediaType.startsWith('image/') ? 'image' : 'file'
  return { type, mediaType: file.mediaType, data: file.base64 }
}

function usageEvent({ usage, finishReason, response, wholeText, window }: Step): Draft {
  const data = {
    input: usage?.inputTokens,
    output: usage?.outputTokens,
    total: usage?.totalTokens,
    cached: usage?.cachedInputTokens,
    reasoning: usage?.reasoningTokens,
    model: response?.modelId,
    finish: finishReason,
    whole_text: wholeText,
    window,
  }
  return { kind: 'event', payload: { name: 'usage', data }, meta: { key: usageKey, context: false } }
}
