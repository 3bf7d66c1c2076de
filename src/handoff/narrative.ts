// The part of a document that a model writes. A conversation too long for the model is condensed in parts first; a model
// that says its window is smaller than thought gets smaller parts.

import type { LanguageModel } from 'ai'
import { CancelledError, StorageError } from '../errors.ts'
import type { CountTokens } from '../tape/index.ts'
import { condenseText, narrativeSystemText } from './agent-prompts.ts'

/** What fits into one request when nothing else is known; most models take more. */
export const defaultWindow = 100_000
const smallestWindow = 2_000

export interface Progress {
  readonly step: 'reading' | 'condensing' | 'writing' | 'repairing'
  /** While condensing. */
  readonly part?: number
  readonly parts?: number
  /** Written so far in this step. */
  readonly tokens: number
  readonly elapsedMs: number
}

export interface Generation {
  readonly model: LanguageModel
  readonly signal: AbortSignal | undefined
  readonly onText: (written: string) => void
}

/** The model answered, but not with text. */
class NoTextError extends StorageError {
  constructor() {
    super('the model returned no text')
  }
}

/** What the model writes in answer to the prompt; reasoning, sources and other parts of its stream are ignored. */
export async function generate(prompt: string, { model, signal, onText }: Generation): Promise<string> {
  throwIfCancelled(signal)
  // Most documents need no model, and loading the SDK takes longer than writing one of them.
  const { streamText } = await import('ai')
  let text = ''
  try {
    const run = streamText({
      model,
      system: narrativeSystemText,
      prompt,
      abortSignal: signal,
      onError: () => {}, // it comes as a part of the stream, below
    })
    for await (const part of run.fullStream) {
      if (part.type === 'error') throw part.error
      if (part.type === 'abort') throw new CancelledError('Handoff cancelled')
      if (part.type !== 'text-delta') continue
      text += part.text
      onText(text)
    }
  } catch (error) {
    throwIfCancelled(signal)
    throw error
  }
  if (text.trim() === '') throw new NoTextError()
  return text
}

function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new CancelledError('Handoff cancelled')
}

/** Shortens a conversation to what fits into one request, by notes on all but its last part. */
export async function condense(
  conversation: string,
  window: number,
  goal: string | undefined,
  count: CountTokens,
  generation: Generation,
  onPart: (part: number, parts: number) => void,
): Promise<string> {
  const parts = split(conversation, window, count)
  if (parts.length === 1) return conversation
  const notes: string[] = []
  for (const [i, part] of parts.slice(0, -1).entries()) {
    onPart(i + 1, parts.length)
    notes.push(await generate(condenseText(part, i + 1, parts.length, goal), generation))
  }
  const joined = `[Notes on the earlier part]\n${notes.join('\n')}\n\n[The latest part, in full]\n${parts.at(-1)}`
  // Notes should be shorter than the text they are about; if they are not, another round would not end, so the text is cut.
  return count(joined) < count(conversation)
    ? condense(joined, window, goal, count, generation, onPart)
    : joined.slice(-window * 3)
}

/** Parts of at most `window` tokens, cut between paragraphs where there are any. */
function split(text: string, window: number, count: CountTokens): string[] {
  const parts: string[] = []
  let part = ''
  let room = window
  for (const paragraph of text.split(/(?<=\n\n)/).flatMap((each) => pieces(each, window))) {
    const cost = count(paragraph)
    if (cost > room && part !== '') {
      parts.push(part)
      part = ''
      room = window
    }
    part += paragraph
    room -= cost
  }
  return part === '' && parts.length > 0 ? parts : [...parts, part]
}

/** A paragraph of more characters than the window has tokens may not fit. */
function pieces(text: string, window: number): string[] {
  const found: string[] = []
  for (let at = 0; at < text.length; at += window) found.push(text.slice(at, at + window))
  return found
}

/** Does the work with the whole window, and with half of it each time the model says that it was too much. */
export async function withinWindow<T>(window: number, work: (window: number) => Promise<T>): Promise<T> {
  for (let size = window; ; size = Math.floor(size / 2)) {
    try {
      return await work(size)
    } catch (error) {
      if (!isTooLong(error) || size / 2 < smallestWindow) throw error
    }
  }
}

/** How providers say that the context is too long. */
export function isTooLong(error: unknown): boolean {
  const { message = '', responseBody = '' } = (error ?? {}) as { message?: unknown; responseBody?: unknown }
  const text = `${String(message)} ${String(responseBody)}`
  return tooLongWords.some((words) => words.test(text))
}

const tooLongWords = [
  /context.?(length|window|size|limit)|exceeds?.{0,40}context|context.{0,20}overflow/i,
  /(prompt|input) is too long|request.too.large|maximum (prompt|model|input) length/i,
  /too many tokens|token limit|maximum.{0,20}tokens|tokens?.{0,30}exceeds the limit/i,
  /must have less than [\d,]+ tokens|max_new_tokens.{0,5} must be <=/i,
  // DashScope, Zhipu, SGLang and Volcano.
  /range of input length should be|prompt exceeds max length|exceeds? the maximum (?:allowed )?length/i,
  /input (?:tokens|length).{0,60}(?:exceed|longer than|larger than)|输入.{0,20}(?:超过|超出)|(?:超过|超出).{0,20}(?:最大)?(?:长度|上下文)/i,
]
