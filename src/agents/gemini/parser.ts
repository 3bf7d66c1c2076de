// Parses sessions of Gemini CLI. A message is written again whenever it grows, and only what is new in it is reported each
// time. Tool calls are written only when they are done, so that a reply which will call a tool looks like the
// end of a turn until then. `$set` with messages repeats the whole history (see history.ts), `$rewindTo` cuts it.

import type { Part, ToolCall, ToolResult } from '../../tape/index.ts'
import { type Fact, type Parser, saidFact } from '../fact.ts'
import { date, fields, type Fields, given, isFields, list, number, text } from '../fields.ts'
import { limitEnd } from '../limit-end.ts'
import {
  contentOf,
  thoughtsOf,
  wordsOf,
  type Memory,
  remembered,
  remindOf,
  renewed,
  rewoundTo,
  type Shown,
} from './history.ts'

export function geminiParser(stored?: Fields): Parser {
  const memory: Memory = { shown: [], answered: [], prompts: [], ...(stored as Partial<Memory> | undefined) }
  return {
    facts: (line) => factsIn(line, memory),
    get memory() {
      return memory as unknown as Fields
    },
  }
}

function factsIn(line: Fields, memory: Memory): Fact[] {
  if (typeof line.$rewindTo === 'string') return [rewoundTo(line.$rewindTo, memory)]
  if (isFields(line.$set)) {
    const { messages, ...update } = line.$set
    if (!Array.isArray(messages)) return isTime(update) ? [] : [...about(update), noted('set', update)]
    return renewed(messages.map(fields), memory, message)
  }
  if (text(line.id) !== undefined && text(line.type) !== undefined) return message(line, memory)
  if (text(line.sessionId) === undefined) return [noted('unknown', line)]
  memory.begins = true
  return [...about(line), noted('session', line)]
}

/** An update of the time follows every message, and says nothing new. */
function isTime(update: Fields): boolean {
  return Object.keys(update).join() === 'lastUpdated'
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

function message(line: Fields, memory: Memory): Fact[] {
  const id = text(line.id)!
  const at = date(line.timestamp)
  // The history is repeated message by message before `$set` contains all of it.
  if (isReplayed(line, memory)) return []
  if (line.type === 'user') return user(line, memory, id, at)
  if (line.type === 'gemini') return gemini(line, memory, id, at)
  const words = wordsOf(line.content)
  const idle = (because: 'aborted' | 'failed'): Fact => ({ type: 'turn', to: 'idle', because, ...given({ date: at }) })
  if (line.type === 'error') {
    const facts: Fact[] = [saidFact('error', { kind: 'error', message: words }, at, id), idle('failed')]
    return isLimit(words)
      ? [...facts, { type: 'limited', message: words, ...given({ until: limitEnd(words, at), date: at }) }]
      : facts
  }
  const facts: Fact[] = [noted(text(line.type) ?? 'unknown', line, at)]
  return words.startsWith('Request cancelled') ? [...facts, idle('aborted')] : facts
}

/** A repeated history begins with what Gemini CLI says about the folder; only new replies name the model. */
function isReplayed({ type, content, model }: Fields, memory: Memory): boolean {
  if (type === 'user' && wordsOf(content).startsWith(opening)) memory.replays = true
  else if (text(model) !== undefined || (type !== 'user' && type !== 'gemini')) delete memory.replays
  return memory.replays === true
}

const opening = '<session_context>'

/** Whether the daily quota is used up; Gemini CLI waits for quotas of a minute by itself. */
export function isLimit(words: string): boolean {
  return /exhausted your (daily )?(quota|capacity)|quota limit|usage limit reached/i.test(words)
}

function user(line: Fields, memory: Memory, id: string, at: string | undefined): Fact[] {
  const parts = list(line.content).map(fields)
  const responses = parts.flatMap(({ functionResponse }) => (isFields(functionResponse) ? [functionResponse] : []))
  if (responses.length > 0) return answers(responses, memory, id, at)
  const shown = shownOf(memory, id)
  if (shown.words) return []
  shown.words = true
  remindOf(line, memory)
  const facts: Fact[] = [saidFact('message', { role: 'user', content: contentOf(line.content) }, at, id)]
  const words = wordsOf(line.content)
  // The model sees a command that the person ran together with the next prompt.
  if (words.startsWith('I ran the following shell command:')) return facts
  facts.push({ type: 'turn', to: 'asked', ...given({ date: at }) })
  if (memory.titled !== true) {
    memory.titled = true
    facts.push({ type: 'about', title: words.slice(0, 200), titleRank: 0 })
  }
  return facts
}

/** Results as the model saw them; already reported, unless the calls were written as parts of a message. */
function answers(responses: readonly Fields[], memory: Memory, id: string, at: string | undefined): Fact[] {
  const news = responses.filter((each) => !memory.answered.includes(text(each.id) ?? ''))
  const working: Fact = { type: 'turn', to: 'working', ...given({ date: at }) }
  if (news.length === 0) return [working]
  const results = news.map((each) => resultOf({ id: each.id, name: each.name, result: [{ functionResponse: each }] }))
  return [saidFact('tool_result', { results: answered(results, memory) }, at, id), working]
}

function answered(results: ToolResult[], memory: Memory): ToolResult[] {
  memory.answered.push(...results.map(({ call_id }) => call_id))
  memory.answered.splice(0, memory.answered.length - remembered)
  return results
}

function gemini(line: Fields, memory: Memory, id: string, at: string | undefined): Fact[] {
  const shown = shownOf(memory, id)
  const facts: Fact[] = []
  const thoughts = thoughtsOf(line)
  const parts: Part[] = thoughts.slice(shown.thoughts).map((words) => ({ type: 'reasoning', text: words }))
  shown.thoughts = Math.max(shown.thoughts, thoughts.length)
  const words = wordsOf(line.content)
  if (words !== '' && !shown.words) {
    shown.words = true
    parts.push({ type: 'text', text: words })
  }
  if (parts.length > 0) facts.push(saidFact('message', { role: 'assistant', content: parts }, at, id))
  const made = callsOf(line)
  const calls: ToolCall[] = made.slice(shown.calls).map((call) => ({
    id: text(call.id) ?? 'unknown',
    name: text(call.name) ?? 'unknown',
    arguments: call.args ?? {},
  }))
  if (calls.length > 0) facts.push(saidFact('tool_call', { calls }, at, id))
  shown.calls = Math.max(shown.calls, made.length)
  const done = made.filter((call) => Array.isArray(call.result) || text(call.result) !== undefined)
  const results = done.slice(shown.results).map(resultOf)
  if (results.length > 0) facts.push(saidFact('tool_result', { results: answered(results, memory) }, at, id))
  shown.results = Math.max(shown.results, done.length)
  const model = text(line.model)
  if (isFields(line.tokens) && !shown.used) {
    shown.used = true
    const fact = used(line.tokens, model, id, at)
    memory.tokens = fact.tokens
    facts.push(fact)
  }
  if (model !== undefined) facts.push({ type: 'about', model })
  // A reply without text is in the middle of a call. One with text may be too: only the screen shows that.
  const over = words !== '' && made.length === 0
  facts.push({ type: 'turn', to: over ? 'idle' : 'working', ...given({ date: at }) })
  return facts
}

/** The calls as they were run; in a repeated history, as the model wrote them. */
function callsOf(line: Fields): Fields[] {
  if (Array.isArray(line.toolCalls)) return line.toolCalls.map(fields)
  return list(line.content).flatMap((part) => {
    const { functionCall } = fields(part)
    return isFields(functionCall) ? [functionCall] : []
  })
}

function used(tokens: Fields, model: string | undefined, reply: string, at: string | undefined) {
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
  } satisfies Fact
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

function noted(name: string, data: unknown, at?: string): Fact {
  return saidFact('event', { name: `gemini/${name}`, data }, at)
}
