// One call to a model of any provider: it is streamed, repeated after a passing failure, and cancelled with the turn.

import { setTimeout as sleep } from 'node:timers/promises'
import type { LanguageModel, ModelMessage, StepResult, SystemModelMessage, ToolSet } from 'ai'
import { aiSdkFor } from '../../config/index.ts'
import type { RetryOptions } from '../agent.ts'
import type { AgentEvent } from '../event.ts'
import { type ModelFailure, modelFailure } from './failure.ts'

export interface Request {
  readonly model: LanguageModel
  readonly system: string
  readonly messages: ModelMessage[]
  readonly tools: ToolSet
  readonly signal: AbortSignal
  readonly retry: RetryOptions
  readonly emit: (event: AgentEvent) => void
}

export type ModelReply =
  | { readonly status: 'done'; readonly step: StepResult<ToolSet> }
  /** Cancelled, or failed for good; `text` is what was said until then. */
  | { readonly status: 'aborted'; readonly text: string }
  | { readonly status: 'failed'; readonly text: string; readonly failure: ModelFailure }

/** The longest wait that a provider may ask for before the next attempt. */
const longestWait = 120
const longestBackoff = 30

// The SDK would write its warnings to the terminal, over whatever is shown there.
globalThis.AI_SDK_LOG_WARNINGS ??= false

export async function callModel(request: Request): Promise<ModelReply> {
  const { signal, emit } = request
  const { attempts = 5, seconds: first = 1 } = request.retry
  for (let attempt = 1; ; attempt++) {
    let text = ''
    try {
      const step = await stream(request, (delta) => {
        text += delta
      })
      return step === undefined ? { status: 'aborted', text } : { status: 'done', step }
    } catch (error) {
      if (signal.aborted) return { status: 'aborted', text }
      const failure = modelFailure(error)
      // Jitter, so that many agents of one key do not come back at the same moment.
      const backoff = Math.min(longestBackoff, first * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
      const seconds = failure.after ?? backoff
      if (failure.retry && seconds > longestWait)
        return { status: 'failed', text, failure: askedToWait(failure, seconds) }
      if (!failure.retry || attempt >= attempts) return { status: 'failed', text, failure }
      emit({ type: 'retry', attempt, of: attempts, seconds, reason: failure.message })
      await sleep(seconds * 1000, undefined, { signal }).catch(() => {})
      if (signal.aborted) return { status: 'aborted', text: '' }
    }
  }
}

/** Nobody waits that long here; the person should know how long it would be. */
function askedToWait(failure: ModelFailure, seconds: number): ModelFailure {
  const at = new Date(Date.now() + seconds * 1000)
  const until = seconds < 86_400 ? at.toTimeString().slice(0, 5) : at.toISOString().slice(0, 10)
  const hint = `The provider asks to wait ${duration(seconds)}, until ${until}.`
  return { ...failure, hint: failure.hint === undefined ? hint : `${hint} ${failure.hint}` }
}

function duration(seconds: number): string {
  if (seconds < 5_400) return `${Math.ceil(seconds / 60)} minutes`
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} hours` : `${Math.round(seconds / 86_400)} days`
}

/** Resolves with undefined if the call was cancelled. */
async function stream(request: Request, onText: (delta: string) => void): Promise<StepResult<ToolSet> | undefined> {
  const { model, tools, signal, emit } = request
  const { streamText } = await aiSdkFor(model)
  const run = streamText({
    model,
    ...(isAnthropic(model) ? cached(request) : { system: request.system, messages: request.messages }),
    tools,
    providerOptions: stateless,
    abortSignal: signal,
    maxRetries: 0,
    onError: () => {}, // it comes as a part of the stream, below
  })
  for await (const part of run.fullStream) {
    if (part.type === 'error') throw part.error
    if (part.type === 'abort') return undefined
    if (part.type === 'reasoning-delta') emit({ type: 'reasoning', delta: part.text })
    if (part.type !== 'text-delta') continue
    onText(part.text)
    emit({ type: 'text', delta: part.text })
  }
  return (await run.steps)[0]
}

/** The tape is what is kept: OpenAI need not keep responses, and a context must not depend on those that it has dropped. */
const stateless = { openai: { store: false } }

function isAnthropic(model: LanguageModel): boolean {
  return typeof model === 'string' ? model.startsWith('anthropic/') : model.provider.startsWith('anthropic')
}

/** Anthropic caches up to the marks in a request: one after the system prompt, one after the newest message. */
function cached({ system, messages }: Request) {
  const providerOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }
  const marked = messages.map((message, i) => (i === messages.length - 1 ? { ...message, providerOptions } : message))
  return {
    system: { role: 'system', content: system, providerOptions } satisfies SystemModelMessage,
    messages: marked as ModelMessage[],
  }
}
