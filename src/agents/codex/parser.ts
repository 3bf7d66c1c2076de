// Parses rollouts of Codex. Messages are taken from `response_item`, the stream that goes back to the model; their copies in
// `event_msg` are ignored, which is only read for turns, usage and limits.

import { createHash } from 'node:crypto'
import type { Draft } from '../../store/index.ts'
import type { Part } from '../../tape/index.ts'
import { type Fact, type Quota, type Parser, saidFact, titleIn } from '../fact.ts'
import { date, fields, type Fields, given, isFields, json, list, number, text } from '../fields.ts'
import { limitEnd } from '../limit-end.ts'
import {
  beginCell,
  beginWait,
  changeFacts,
  type CodeMode,
  commandFacts,
  emptyCodeMode,
  endCells,
  outputOfCell,
  wrapping,
} from './code-mode.ts'

interface Memory {
  calls: Record<string, string>
  titled?: boolean
  model?: string
  /** A forked rollout repeats the lines of its origin, with that one's `session_meta`. */
  session?: string
  /** Tokens of the whole thread so far. */
  total: number
  code: CodeMode
  /** The last calls that the model made, which Codex also records as items. */
  told: string[]
}

export function codexParser(stored?: Fields): Parser {
  const memory: Memory = {
    calls: {},
    total: 0,
    code: emptyCodeMode(),
    told: [],
    ...(stored as Partial<Memory> | undefined),
  }
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
  if (instructions !== undefined) facts.push(saidFact('system', { content: instructions }, undefined))
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
      const isScript = payload.type === 'custom_tool_call' && name === 'exec' && typeof input === 'string'
      if (isScript) beginCell(memory.code, id, input)
      if (name === 'wait') beginWait(memory.code, id, args)
      remember(memory, id)
      return [
        saidFact(
          'tool_call',
          { calls: [{ id, name, arguments: args }] },
          at,
          text(payload.id),
          isScript ? wrapping(input) : undefined,
        ),
        { type: 'turn', to: 'working', ...given({ date: at }) },
      ]
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const name = memory.calls[id] ?? 'tool'
      delete memory.calls[id]
      return [
        ...outputOfCell(memory.code, id, payload.output, nested(at)),
        saidFact('tool_result', { results: [{ call_id: id, name, ...outcome(payload.output) }] }, at, text(payload.id)),
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
  const own = isOwn(role, words) || isHarness(payload)
  const content = parts.length === 1 && parts[0]!.type === 'text' ? words : parts
  const shown = { role: role === 'developer' ? 'user' : role, content, ...(own ? { display: false } : {}) }
  const facts: Fact[] = [saidFact('message', shown, at, source, own ? { isMeta: true } : undefined)]
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

/** Whether Codex itself wrote the message: the model sees it, but nobody typed it. */
function isOwn(role: string, words: string): boolean {
  if (role !== 'user') return role === 'developer'
  // Codex wraps what it adds in an element whose name has an underscore, unlike HTML that a person may type.
  return /^\s*(?:# AGENTS\.md instructions|<([a-z]+_[a-z_]+|skill)>[\s\S]*<\/\1>\s*$)/.test(words)
}

/** Newer versions say of each part of a message where it comes from. */
function isHarness(payload: Fields): boolean {
  const origins = list(fields(payload.internal_chat_message_metadata_passthrough).content_item_metadata).map((each) =>
    text(fields(fields(each).provenance).type),
  )
  return payload.role === 'user' && origins.length > 0 && origins.every((each) => each !== undefined && each !== 'user')
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
  return saidFact('message', { role: 'assistant', content: [part] }, at, text(payload.id))
}

function event(payload: Fields, memory: Memory, at: string | undefined): Fact[] {
  const turn = (to: 'working' | 'idle', because?: 'aborted' | 'failed'): Fact => ({
    type: 'turn',
    to,
    ...given({ because, date: at }),
  })
  switch (payload.type) {
    case 'token_count':
      return [...usage(payload, memory, at), noted('token_count', payload, at)]
    case 'task_started':
    case 'turn_started': {
      const window = number(payload.model_context_window)
      return [
        ...(window === undefined ? [] : [{ type: 'about', window } as const]),
        { type: 'turn', to: 'working', begins: true, ...given({ date: at }) },
        noted('turn_started', payload, at),
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
        facts.push(saidFact('error', { kind, message: words }, at))
      }
      if (limited) {
        const until = limitEnd(words ?? '', at)
        facts.push({ type: 'limited', message: words ?? 'usage limit', ...given({ until, date: at }) })
      }
      return [...endCells(memory.code, nested(at)), ...facts, turn('idle', words === undefined ? undefined : 'failed')]
    }
    case 'turn_aborted':
      return [...endCells(memory.code, nested(at)), noted('turn_aborted', payload, at), turn('idle', 'aborted')]
    case 'thread_rolled_back':
      return [noted('thread_rolled_back', payload, at)]
    case 'thread_name_updated': {
      const title = text(payload.thread_name) ?? text(payload.name)
      return [
        ...(title === undefined ? [] : [{ type: 'about', title, titleRank: 3 } as const]),
        noted('thread_name_updated', payload, at),
      ]
    }
    // Copies of what `response_item` says.
    case 'user_message':
    case 'agent_message':
    case 'agent_reasoning':
      return []
    case 'item_completed':
      return happened(fields(payload.item), memory, at)
    case 'exec_command_end':
      return happened({ ...payload, type: 'CommandExecution', id: payload.call_id }, memory, at)
    case 'patch_apply_end':
      return happened({ ...payload, type: 'FileChange', id: payload.call_id }, memory, at)
    default:
      return [noted(text(payload.type) ?? 'event_msg', payload, at)]
  }
}

/** What Codex recorded as it happened. Most of it repeats calls of the model; the rest was called by a script. */
function happened(item: Fields, memory: Memory, at: string | undefined): Fact[] {
  const named = text(item.id)
  if (named === undefined || (item.type !== 'CommandExecution' && item.type !== 'FileChange')) return []
  // The item may bear the id of its script, as other items of the same script do.
  const id = named in memory.code.cells ? `${named}/${hash(item.changes ?? item.command)}` : named
  if (memory.told.includes(id)) return []
  remember(memory, id)
  return item.type === 'CommandExecution'
    ? commandFacts(memory.code, id, item, nested(at))
    : changeFacts(memory.code, id, item, nested(at))
}

function hash(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value ?? null))
    .digest('hex')
    .slice(0, 12)
}

/** How many calls are remembered: what is recorded of a call comes soon after it. */
const mostTold = 200

function remember(memory: Memory, id: string): void {
  memory.told.push(id)
  if (memory.told.length > mostTold) memory.told.shift()
}

function nested(at: string | undefined) {
  return (kind: string, payload: unknown, meta: Draft['meta']) => saidFact(kind, payload, at, undefined, meta)
}

function usage(payload: Fields, memory: Memory, at: string | undefined): Fact[] {
  const facts: Fact[] = []
  const info = fields(payload.info)
  if (isFields(info.last_token_usage)) {
    const last = info.last_token_usage
    const window = number(info.model_context_window)
    const cached = number(last.cached_input_tokens) ?? 0
    const written = number(last.cache_write_input_tokens) ?? 0
    // Only a growing total means a new reply: reports of limits and compactions repeat or estimate the last usage.
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

/** A new history replaces the old one; its last message is the summary. */
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
  return saidFact('event', { name: `codex/${name}`, data }, at)
}
