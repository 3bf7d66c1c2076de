// Codex's dialect. What was said is taken from `response_item`, the stream that goes back to the model; its copy in
// `event_msg` is only listened to for turns, usage and limits.

import type { Draft } from '../../store/index.ts'
import type { Part } from '../../tape/index.ts'
import type { Fact, Quota } from '../fact.ts'
import { date, fields, type Fields, given, isFields, json, list, number, text } from '../fields.ts'
import type { Parser } from '../parser.ts'
import { titleIn } from '../title.ts'

interface Memory {
  calls: Record<string, string>
  titled?: boolean
  model?: string
  /** A forked rollout repeats the lines of its origin, with that one's `session_meta`. */
  session?: string
  /** Tokens of the whole thread so far. */
  total: number
}

export function codexParser(stored?: Fields): Parser {
  const memory: Memory = { calls: {}, total: 0, ...(stored as Partial<Memory> | undefined) }
  return {
    facts: (line) => factsIn(line, memory),
    get memory() {
      return memory as unknown as Fields
    },
  }
}

function factsIn(line: Fields, memory: Memory): Fact[] {
  const payload = fields(line.payload)
  const at = date(line.timestamp)
  switch (line.type) {
    case 'session_meta':
      return [...meta(payload, memory), noted('session_meta', without(payload, 'base_instructions'), at)]
    case 'turn_context':
      return [...turnContext(payload, memory), noted('turn_context', payload, at)]
    case 'response_item':
      return item(payload, memory, at)
    case 'event_msg':
      return event(payload, memory, at)
    case 'compacted':
      return [compacted(payload, at)]
    default:
      return [noted(text(line.type) ?? 'unknown', line.payload === undefined ? line : payload, at)]
  }
}

function meta(payload: Fields, memory: Memory): Fact[] {
  const session = text(payload.id) ?? text(payload.session_id)
  if (memory.session !== undefined) return []
  if (session !== undefined) memory.session = session
  const spawn = fields(fields(fields(payload.source).subagent).thread_spawn)
  const subagent = isFields(fields(payload.source).subagent) || text(payload.thread_source) === 'subagent'
  const parent = subagent ? (text(payload.parent_thread_id) ?? text(spawn.parent_thread_id)) : undefined
  const facts: Fact[] = [
    {
      type: 'about',
      ...given({ session, cwd: text(payload.cwd), branch: text(fields(payload.git).branch), parent }),
      ...(subagent ? { kind: 'subagent' as const } : {}),
    },
  ]
  const instructions = text(fields(payload.base_instructions).text)
  if (instructions !== undefined) facts.push(said('system', { content: instructions }, undefined))
  return facts
}

function turnContext(payload: Fields, memory: Memory): Fact[] {
  const model = text(payload.model)
  if (model !== undefined) memory.model = model
  return [{ type: 'about', ...given({ cwd: text(payload.cwd), model }) }]
}

function item(payload: Fields, memory: Memory, at: string | undefined): Fact[] {
  const id = text(payload.call_id) ?? text(payload.id) ?? 'unknown'
  switch (payload.type) {
    case 'message':
      return message(payload, memory, at)
    case 'reasoning':
      return [reasoning(payload, at)]
    case 'function_call':
    case 'custom_tool_call':
    case 'local_shell_call': {
      const name = text(payload.name) ?? (payload.type === 'local_shell_call' ? 'local_shell' : 'unknown')
      memory.calls[id] = name
      const input = payload.arguments ?? payload.input ?? payload.action ?? {}
      // The text of a custom tool is its argument as it stands; that of a function is JSON.
      const args = typeof input === 'string' && payload.type === 'function_call' ? json(input) : input
      return [
        said('tool_call', { calls: [{ id, name, arguments: args }] }, at, text(payload.id)),
        { type: 'turn', to: 'working', ...given({ date: at }) },
      ]
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const name = memory.calls[id] ?? 'tool'
      delete memory.calls[id]
      return [
        said('tool_result', { results: [{ call_id: id, name, ...outcome(payload.output) }] }, at, text(payload.id)),
        { type: 'turn', to: 'working', ...given({ date: at }) },
      ]
    }
    default:
      return [noted(text(payload.type) ?? 'response_item', payload, at)]
  }
}

function message(payload: Fields, memory: Memory, at: string | undefined): Fact[] {
  const role = text(payload.role) ?? 'user'
  const parts = list(payload.content).map((part) => partOf(fields(part)))
  const words = wordsOf(parts)
  const source = text(payload.id)
  const own = isOwn(role, words)
  const content = parts.length === 1 && parts[0]!.type === 'text' ? words : parts
  const shown = { role: role === 'developer' ? 'user' : role, content, ...(own ? { display: false } : {}) }
  const facts: Fact[] = [said('message', shown, at, source, own ? { isMeta: true } : undefined)]
  if (role === 'user' && !own) {
    facts.push({ type: 'turn', to: 'asked', ...given({ date: at }) })
    const title = memory.titled === true ? undefined : titleIn(words)
    if (title !== undefined) {
      memory.titled = true
      facts.push({ type: 'about', title, titleRank: 0 })
    }
  }
  return facts
}

/** What the program itself tells the model: it sees it, but nobody typed it. */
function isOwn(role: string, words: string): boolean {
  if (role !== 'user') return role === 'developer'
  // Codex wraps what it adds in an element; its names have an underscore, other than those of HTML that a person may type.
  return /^\s*(?:# AGENTS\.md instructions|<([a-z]+_[a-z_]+|skill)>[\s\S]*<\/\1>\s*$)/.test(words)
}

function reasoning(payload: Fields, at: string | undefined): Fact {
  const shown = [...list(payload.summary), ...list(payload.content)]
    .map((part) => text(fields(part).text) ?? '')
    .filter((words) => words !== '')
  const encrypted = text(payload.encrypted_content)
  const part = {
    type: 'reasoning',
    text: shown.join('\n'),
    ...(encrypted === undefined ? {} : { signature: encrypted }),
  }
  return said('message', { role: 'assistant', content: [part] }, at, text(payload.id))
}

function event(payload: Fields, memory: Memory, at: string | undefined): Fact[] {
  const turn = (to: 'working' | 'idle'): Fact => ({ type: 'turn', to, ...given({ date: at }) })
  switch (payload.type) {
    case 'token_count':
      return [...usage(payload, memory, at), noted('token_count', payload, at)]
    case 'task_started':
    case 'turn_started': {
      const window = number(payload.model_context_window)
      return [
        ...(window === undefined ? [] : [{ type: 'about', window } as const]),
        turn('working'),
        noted('task_started', payload, at),
      ]
    }
    case 'task_complete':
    case 'turn_complete': {
      const error = fields(payload.error)
      const limited = error.codex_error_info === 'usage_limit_exceeded'
      const words = text(error.message)
      const facts: Fact[] = [noted('task_complete', payload, at)]
      if (words !== undefined) {
        const kind = text(error.codex_error_info) ?? Object.keys(fields(error.codex_error_info))[0] ?? 'error'
        facts.push(said('error', { kind, message: words }, at))
      }
      if (limited) facts.push({ type: 'limited', message: words ?? 'usage limit', ...given({ date: at }) })
      return [...facts, turn('idle')]
    }
    case 'turn_aborted':
      return [noted('turn_aborted', payload, at), turn('idle')]
    case 'thread_rolled_back':
      return [noted('thread_rolled_back', payload, at)]
    case 'thread_name_updated': {
      const title = text(payload.thread_name) ?? text(payload.name)
      return [
        ...(title === undefined ? [] : [{ type: 'about', title, titleRank: 3 } as const]),
        noted('thread_name_updated', payload, at),
      ]
    }
    // The second stream: the same words and deeds as in `response_item`.
    case 'user_message':
    case 'agent_message':
    case 'agent_reasoning':
    case 'item_completed':
      return []
    default:
      return [noted(text(payload.type) ?? 'event_msg', payload, at)]
  }
}

function usage(payload: Fields, memory: Memory, at: string | undefined): Fact[] {
  const facts: Fact[] = []
  const info = fields(payload.info)
  if (isFields(info.last_token_usage)) {
    const last = info.last_token_usage
    const window = number(info.model_context_window)
    const cached = number(last.cached_input_tokens) ?? 0
    const written = number(last.cache_write_input_tokens) ?? 0
    // Only a growing total is a new reply: news of limits and compactions repeat or estimate the last usage.
    const total = number(fields(info.total_token_usage).total_tokens) ?? memory.total + 1
    const grown = total > memory.total
    memory.total = total
    facts.push({
      type: 'used',
      tokens: number(last.total_tokens) ?? 0,
      input: grown ? Math.max(0, (number(last.input_tokens) ?? 0) - cached - written) : 0,
      output: grown ? (number(last.output_tokens) ?? 0) : 0,
      cacheRead: grown ? cached : 0,
      cacheWrite: grown ? written : 0,
      ...given({ window, model: memory.model, date: at }),
    })
  }
  const limits = fields(payload.rate_limits)
  const quotas = ['primary', 'secondary'].flatMap((name) => quotaOf(name, limits[name], at))
  if (quotas.length > 0) facts.push({ type: 'quotas', quotas, ...given({ date: at }) })
  return facts
}

function quotaOf(name: string, value: unknown, at: string | undefined): Quota[] {
  const limit = fields(value)
  const usedPercent = number(limit.used_percent)
  if (usedPercent === undefined) return []
  const resets = number(limit.resets_at)
  const later = number(limit.resets_in_seconds)
  const moment =
    resets !== undefined
      ? resets * 1000
      : later !== undefined && at !== undefined
        ? Date.parse(at) + later * 1000
        : undefined
  return [{ name, usedPercent, ...given({ windowMinutes: number(limit.window_minutes), resetsAt: date(moment) }) }]
}

/** The new history takes the place of the old one; the summary is its last message. */
function compacted(payload: Fields, at: string | undefined): Fact {
  const summary = text(payload.message) ?? ''
  const kept: Draft[] = []
  let found = summary
  for (const each of list(payload.replacement_history)) {
    const part = fields(each)
    if (part.type !== 'message') continue
    const parts = list(part.content).map((one) => partOf(fields(one)))
    const words = wordsOf(parts)
    const isSummary = summary === '' ? part.role === 'user' && isLast(payload, each) : words.includes(summary)
    if (isSummary) found = summary === '' ? words : summary
    else {
      const role = part.role === 'developer' ? 'user' : (text(part.role) ?? 'user')
      const own = isOwn(text(part.role) ?? 'user', words)
      const payload = { role, content: words, ...(own ? { display: false } : {}) }
      kept.push({ kind: 'message', payload, ...(own ? { meta: { isMeta: true } } : {}) })
    }
  }
  return { type: 'compacted', summary: found, ...(kept.length === 0 ? {} : { kept }), ...given({ date: at }) }
}

function isLast(payload: Fields, item: unknown): boolean {
  return list(payload.replacement_history).at(-1) === item
}

function outcome(output: unknown): { output: unknown; is_error?: boolean } {
  const wrapped = fields(output)
  if (wrapped.content === undefined) return { output: output ?? '' }
  return { output: wrapped.content, ...(wrapped.success === false ? { is_error: true } : {}) }
}

function partOf(part: Fields): Part {
  const type = text(part.type) ?? 'unknown'
  if (type === 'input_text' || type === 'output_text') return { type: 'text', text: text(part.text) ?? '' }
  if (type === 'input_image')
    return { type: 'image', url: part.image_url ?? '', ...(part.detail ? { detail: part.detail } : {}) }
  return { ...part, type }
}

function wordsOf(parts: readonly Part[]): string {
  return parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('\n')
}

function without(payload: Fields, field: string): Fields {
  return Object.fromEntries(Object.entries(payload).filter(([name]) => name !== field))
}

function noted(name: string, data: unknown, at: string | undefined): Fact {
  return said('event', { name: `codex/${name}`, data }, at)
}

function said(kind: string, payload: unknown, at: string | undefined, source?: string, meta?: Draft['meta']): Fact {
  const draft: Draft = {
    kind,
    payload,
    ...(meta === undefined ? {} : { meta }),
    ...(at === undefined ? {} : { date: at }),
  }
  return source === undefined ? { type: 'said', draft } : { type: 'said', draft, source }
}
