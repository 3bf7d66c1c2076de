// Gemini CLI's dialect. A message is written again whenever it grows, and the last writing counts: what is new in it is
// told each time. `$set` with messages puts a new history in the place of the old one, `$rewindTo` cuts it.

import type { Draft } from '../../store/index.ts'
import type { Part, ToolCall, ToolResult } from '../../tape/index.ts'
import type { Fact } from '../fact.ts'
import { date, fields, type Fields, given, isFields, list, number, text } from '../fields.ts'
import type { Parser } from '../parser.ts'

interface Shown {
  id: string
  words: boolean
  thoughts: number
  calls: number
  results: number
  used: boolean
}

interface Memory {
  /** The last messages, as far as they were told. */
  shown: Shown[]
  titled?: boolean
}

/** A message grows while its turn lasts; those before the last few are done. */
const remembered = 64

export function geminiParser(stored?: Fields): Parser {
  const memory: Memory = { shown: [], ...(stored as Partial<Memory> | undefined) }
  return {
    facts: (line) => factsIn(line, memory),
    get memory() {
      return memory as unknown as Fields
    },
  }
}

function factsIn(line: Fields, memory: Memory): Fact[] {
  if (typeof line.$rewindTo === 'string') {
    memory.shown = []
    return [{ type: 'rewound', to: undefined, before: line.$rewindTo }]
  }
  if (isFields(line.$set)) return set(line.$set, memory)
  if (text(line.id) !== undefined && text(line.type) !== undefined) return message(line, memory)
  if (text(line.sessionId) !== undefined) return [...about(line), noted('session', line)]
  return [noted('unknown', line)]
}

function about(line: Fields): Fact[] {
  const title = text(line.summary)
  return [
    {
      type: 'about',
      ...given({ session: text(line.sessionId), cwd: text(list(line.directories)[0]) }),
      ...(title === undefined ? {} : { title, titleRank: 2 }),
      ...(line.kind === 'subagent' ? { kind: 'subagent' as const } : {}),
    },
  ]
}

function set(update: Fields, memory: Memory): Fact[] {
  if (!Array.isArray(update.messages)) return [...about(update), noted('set', update)]
  const scratch: Memory = { shown: [], titled: true }
  const kept: Draft[] = []
  let summary = ''
  for (const each of update.messages) {
    const line = fields(each)
    const words = wordsOf(line.content)
    if (summary === '' && line.type === 'user' && words.includes('<state_snapshot>')) {
      summary = words
      continue
    }
    for (const fact of message(line, scratch))
      if (fact.type === 'said' && fact.draft.kind !== 'event') kept.push(fact.draft)
  }
  memory.shown = scratch.shown
  return [{ type: 'compacted', summary, kept }]
}

function message(line: Fields, memory: Memory): Fact[] {
  const id = text(line.id)!
  const at = date(line.timestamp)
  if (line.type === 'user') return user(line, memory, id, at)
  if (line.type === 'gemini') return gemini(line, memory, id, at)
  const facts: Fact[] = [noted(text(line.type) ?? 'unknown', line, at)]
  if (line.type === 'error') facts.push(said('error', { kind: 'error', message: wordsOf(line.content) }, id, at))
  if (wordsOf(line.content).startsWith('Request cancelled'))
    facts.push({ type: 'turn', to: 'idle', ...given({ date: at }) })
  return facts
}

function user(line: Fields, memory: Memory, id: string, at: string | undefined): Fact[] {
  const shown = shownOf(memory, id)
  if (shown.words) return []
  shown.words = true
  const content = contentOf(line.content)
  const facts: Fact[] = [
    said('message', { role: 'user', content }, id, at),
    { type: 'turn', to: 'asked', ...given({ date: at }) },
  ]
  if (memory.titled !== true) {
    memory.titled = true
    facts.push({ type: 'about', title: wordsOf(line.content).slice(0, 200), titleRank: 0 })
  }
  return facts
}

function gemini(line: Fields, memory: Memory, id: string, at: string | undefined): Fact[] {
  const shown = shownOf(memory, id)
  const facts: Fact[] = []
  const thoughts = list(line.thoughts).map(fields)
  const parts: Part[] = thoughts.slice(shown.thoughts).map((thought) => ({
    type: 'reasoning',
    text: [text(thought.subject), text(thought.description)].filter((words) => words !== undefined).join(': '),
  }))
  shown.thoughts = Math.max(shown.thoughts, thoughts.length)
  const words = wordsOf(line.content)
  if (words !== '' && !shown.words) {
    shown.words = true
    parts.push({ type: 'text', text: words })
  }
  if (parts.length > 0) facts.push(said('message', { role: 'assistant', content: parts }, id, at))
  const made = list(line.toolCalls).map(fields)
  const calls: ToolCall[] = made.slice(shown.calls).map((call) => ({
    id: text(call.id) ?? 'unknown',
    name: text(call.name) ?? 'unknown',
    arguments: call.args ?? {},
  }))
  if (calls.length > 0) facts.push(said('tool_call', { calls }, id, at))
  shown.calls = Math.max(shown.calls, made.length)
  const answered = made.filter((call) => Array.isArray(call.result) || text(call.result) !== undefined)
  const results = answered.slice(shown.results).map(resultOf)
  if (results.length > 0) facts.push(said('tool_result', { results }, id, at))
  shown.results = Math.max(shown.results, answered.length)
  const model = text(line.model)
  if (isFields(line.tokens) && !shown.used) {
    shown.used = true
    facts.push(used(line.tokens, model, id, at))
  }
  if (model !== undefined) facts.push({ type: 'about', model })
  // Empty words: the answer of a person to a permission question may still be awaited.
  const over = words !== '' && made.length === 0
  facts.push({ type: 'turn', to: over ? 'idle' : 'working', ...given({ date: at }) })
  return facts
}

function used(tokens: Fields, model: string | undefined, reply: string, at: string | undefined): Fact {
  const prompt = number(tokens.input) ?? 0
  const cacheRead = Math.min(prompt, number(tokens.cached) ?? 0)
  return {
    type: 'used',
    reply,
    tokens: prompt,
    input: prompt - cacheRead,
    output: (number(tokens.output) ?? 0) + (number(tokens.thoughts) ?? 0),
    cacheRead,
    cacheWrite: 0,
    ...given({ model, date: at }),
  }
}

function resultOf(call: Fields): ToolResult {
  const outputs = list(call.result).map((each) => fields(fields(each).functionResponse).response)
  const [response] = outputs.length === 0 ? [call.result] : outputs
  const answer = fields(response)
  const failed = answer.error !== undefined || call.status === 'error' || call.status === 'cancelled'
  return {
    call_id: text(call.id) ?? 'unknown',
    name: text(call.name) ?? 'tool',
    output: answer.output ?? answer.error ?? response ?? '',
    ...(failed ? { is_error: true } : {}),
  }
}

function shownOf(memory: Memory, id: string): Shown {
  const known = memory.shown.find((each) => each.id === id)
  if (known !== undefined) return known
  const fresh = { id, words: false, thoughts: 0, calls: 0, results: 0, used: false }
  memory.shown.push(fresh)
  if (memory.shown.length > remembered) memory.shown.shift()
  return fresh
}

function contentOf(content: unknown): string | Part[] {
  if (typeof content === 'string') return content
  const parts = list(Array.isArray(content) ? content : [content]).map(partOf)
  return parts.every((part) => part.type === 'text') ? wordsOf(content) : parts
}

function partOf(value: unknown): Part {
  if (typeof value === 'string') return { type: 'text', text: value }
  const part = fields(value)
  if (typeof part.text === 'string') return { type: 'text', text: part.text }
  const inline = fields(part.inlineData)
  if (typeof inline.data === 'string') {
    const mediaType = text(inline.mimeType) ?? 'application/octet-stream'
    return { type: mediaType.startsWith('image/') ? 'image' : 'file', mediaType, data: inline.data }
  }
  return { ...part, type: 'unknown' }
}

function wordsOf(content: unknown): string {
  if (typeof content === 'string') return content
  return (Array.isArray(content) ? content : [content])
    .map((part) => (typeof part === 'string' ? part : (text(fields(part).text) ?? '')))
    .join('')
}

function noted(name: string, data: unknown, at?: string): Fact {
  return said('event', { name: `gemini/${name}`, data }, undefined, at)
}

function said(kind: string, payload: unknown, source: string | undefined, at: string | undefined): Fact {
  const draft: Draft = { kind, payload, ...(at === undefined ? {} : { date: at }) }
  return source === undefined ? { type: 'said', draft } : { type: 'said', draft, source }
}
