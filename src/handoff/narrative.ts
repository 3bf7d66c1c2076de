// The part of a document that a model writes. A conversation too long for the model is condensed in parts first; a model
// that says its window is smaller than thought gets smaller parts.

import type { LanguageModel } from 'ai'
import { aiSdkFor } from '../config/index.ts'
import { BatonError, CancelledError } from '../errors.ts'
import { contentText, type CountTokens, type Formats } from '../tape/index.ts'
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
  readonly spent: Spent
}

/** What the requests to a model took, counted up as they are made. */
export interface Spent {
  requests: number
  inputTokens: number
  outputTokens: number
  ms: number
}

/** The model answered, but not with text. */
class NoTextError extends BatonError {
  constructor() {
    super('refused', 'the model returned no text')
  }
}

/** What the model writes in answer to the prompt; reasoning, sources and other parts of its stream are ignored. */
export async function generate(prompt: string, { model, signal, onText, spent }: Generation): Promise<string> {
  throwIfCancelled(signal)
  const started = performance.now()
  spent.requests++
  // Most documents need no model, and loading the SDK takes longer than writing one of them.
  const { streamText } = await aiSdkFor(model)
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
      if (part.type === 'finish') {
        spent.inputTokens += part.totalUsage.inputTokens ?? 0
        spent.outputTokens += part.totalUsage.outputTokens ?? 0
      }
      if (part.type !== 'text-delta') continue
      text += part.text
      onText(text)
    }
  } catch (error) {
    throwIfCancelled(signal)
    throw error
  } finally {
    spent.ms += performance.now() - started
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

/** A paragraph of more characters than the window has tokens may not fit. It is cut between lines: each says whose it is. */
function pieces(text: string, window: number): string[] {
  const found: string[] = []
  for (let at = 0; at < text.length;) {
    const end = at + window >= text.length ? text.length : text.lastIndexOf('\n', at + window - 1) + 1
    const next = end > at ? end : at + window
    found.push(text.slice(at, next))
    at = next
  }
  return found
}

/** Longer lines are cut. */
const longestLine = 1_500

/** The conversation with each line marked by who it comes from, so that no output of a program can pass for the user's words. */
export function conversationText(messages: Formats['openai']): string {
  return messages.map((message) => messageLines(message)).join('\n\n')
}

function messageLines(message: Formats['openai'][number]): string {
  const said = contentText(message.content).text
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : []
  const lines = [
    ...(said === '' ? [] : said.split('\n')),
    ...calls.map((call) => `-> ${call.function.name} ${call.function.arguments}`),
  ]
  const cut = (line: string) => (line.length <= longestLine ? line : `${line.slice(0, longestLine - 1)}…`)
  return lines.map((line) => `${message.role}| ${cut(line.replaceAll(/[\r\u2028\u2029\v\f]/g, ' '))}`).join('\n')
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
