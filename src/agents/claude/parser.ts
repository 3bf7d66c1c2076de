// Parses sessions of Claude Code. The file is read in its own order: parallel tool results and what follows a compaction have
// earlier lines as parents without leaving the conversation, so only a prompt with an earlier parent means a rewind.

import type { Draft } from '../../store/index.ts'
import type { Part, ToolCall, ToolResult } from '../../tape/index.ts'
import { type Compacted, type Fact, type Parser, type TurnMoved, type Used, saidFact, titleIn } from '../fact.ts'
import { date, fields, type Fields, given, isFields, list, number, text } from '../fields.ts'
import { limitEnd } from '../limit-end.ts'

interface Memory {
  /** Lines that may be the parent of a prompt without a rewind: the last message, and what was noted since. */
  tip: string[]
  talked: boolean
  /** Tool calls without a result: id to name. */
  calls: Record<string, string>
  /** The compaction whose summary comes next. */
  boundary?: Omit<Compacted, 'type' | 'summary'>
  /** The reply whose usage was reported last, with that usage. */
  usage?: string
  session?: string
  cwd?: string
  branch?: string
  titled?: boolean
  /** This is the file of a subagent: all its lines are marked as a side chain, but here they are the conversation. */
  subagent?: boolean
  /** Lines at the beginning of a file whose parents are still to come. */
  held: Fields[]
  /** Words typed while the agent worked that wait for their turn. */
  queue?: string[]
  /** Queued words that became facts a short while ago: some versions record the same words a second time. */
  delivered?: string[]
}

export function claudeParser(stored?: Fields): Parser {
  const memory: Memory = { tip: [], talked: false, calls: {}, held: [], ...(stored as Partial<Memory> | undefined) }
  return {
    facts: (line) => (memory.talked && memory.held.length === 0 ? factsOf(line, memory) : inOrder(line, memory)),
    rest: () => [...release(memory), ...undelivered(memory)],
    get memory() {
      return memory as unknown as Fields
    },
  }
}

function factsOf(line: Fields, memory: Memory): Fact[] {
  const place = about(line, memory)
  const facts = factsIn(line, memory)
  return place.length === 0 ? facts : [...place, ...facts]
}

/** How many lines are held back while the first prompt and what is noted with it are missing. */
const mostHeld = 50

/**
 * Claude Code makes a session's file while its first turn is under way, and the replies may be written before the prompt
 * that they answer. They are held back until the prompt is there, or until it is clear that it will not come.
 */
function inOrder(line: Fields, memory: Memory): Fact[] {
  const { held } = memory
  const parent = text(line.parentUuid)
  const isReply = line.type === 'assistant' || isResult(line)
  const known = parent === undefined || memory.tip.includes(parent)
  const follows = held.some((each) => each.uuid === parent)
  // The end of the turn may be written before its prompt, too.
  const belongs = isReply || line.type === 'system'
  if (held.length < mostHeld && ((belongs && follows) || (isReply && !memory.talked && !known))) {
    held.push(line)
    return []
  }
  // The conversation continues after what was held back, or without it.
  if (follows || isReply || held.length >= mostHeld) return [...release(memory), ...factsOf(line, memory)]
  const facts = factsOf(line, memory)
  const awaited = text(held[0]?.parentUuid)
  return awaited !== undefined && memory.tip.includes(awaited) ? [...facts, ...release(memory)] : facts
}

function release(memory: Memory): Fact[] {
  return memory.held.splice(0).flatMap((line) => factsOf(line, memory))
}

function isResult(line: Fields): boolean {
  return line.type === 'user' && list(fields(line.message).content).some((part) => fields(part).type === 'tool_result')
}

function factsIn(line: Fields, memory: Memory): Fact[] {
  if (line.isSidechain === true) {
    if (memory.subagent === undefined && !memory.talked) memory.subagent = true
    if (memory.subagent !== true) return sidechain(line, memory)
  }
  switch (line.type) {
    case 'user':
      return user(line, memory)
    case 'assistant':
      return assistant(line, memory)
    case 'system':
      return system(line, memory)
    case 'progress':
      return progress(line, memory)
    default:
      return [...titles(line, memory), noted(line, memory), ...queued(line, memory)]
  }
}

/** Some versions report what a subagent says and does in lines of the session that it works for. */
function progress(line: Fields, memory: Memory): Fact[] {
  const { type, message, agentId } = fields(line.data)
  if (type !== 'agent_progress' || !isFields(message)) return [noted(line, memory)]
  const uuid = text(line.uuid)
  if (uuid !== undefined) memory.tip.push(uuid)
  const inner = { timestamp: line.timestamp, ...message, agentId }
  return sidechain(inner, memory).filter((fact) => fact.type === 'said')
}

const nothing: readonly Fact[] = []

/** Every line names its session, folder and branch; only changes become facts. */
function about(line: Fields, memory: Memory): readonly Fact[] {
  if (line.sessionId === memory.session && line.cwd === memory.cwd && line.gitBranch === memory.branch) return nothing
  const session = text(line.sessionId)
  const cwd = text(line.cwd)
  const branch = text(line.gitBranch)
  const facts: Fact[] = []
  if (session !== undefined && session !== memory.session) {
    // A file may begin with lines of the session that `/clear` left; the lines after them have none of them as a parent.
    if (memory.session !== undefined && (line.parentUuid === null || line.parentUuid === undefined)) {
      facts.push({ type: 'about', clearedFrom: memory.session })
      if (memory.talked) facts.push({ type: 'cleared', ...given({ date: date(line.timestamp) }) })
      memory.talked = false
    }
    memory.session = session
    facts.push({ type: 'about', session })
  }
  if ((cwd !== undefined && cwd !== memory.cwd) || (branch !== undefined && branch !== memory.branch)) {
    memory.cwd = cwd ?? memory.cwd!
    memory.branch = branch ?? memory.branch!
    facts.push({ type: 'about', ...given({ cwd, branch }) })
  }
  return facts
}

function user(line: Fields, memory: Memory): Fact[] {
  const content = fields(line.message).content
  const at = date(line.timestamp)
  const source = text(line.uuid)
  if (line.isCompactSummary === true) {
    const { boundary = {} } = memory
    delete memory.boundary
    memory.tip = source === undefined ? [] : [source]
    return [{ type: 'compacted', summary: plain(content), ...boundary, ...given({ source, date: at }) }]
  }
  const results: ToolResult[] = []
  const parts: Part[] = []
  for (const block of typeof content === 'string' ? [{ type: 'text', text: content }] : list(content)) {
    const part = fields(block)
    if (part.type === 'tool_result') results.push(resultOf(part, memory))
    else parts.push(partOf(part))
  }
  const facts: Fact[] = []
  if (results.length > 0) {
    facts.push(said('tool_result', { results }, line))
    facts.push(moved('working', at))
  }
  if (parts.length === 0) return seen(facts, line, memory)
  const words = parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('\n')
  const hidden = line.isMeta === true
  const interrupted = words.startsWith('[Request interrupted by user')
  const command = /^\s*<(command-name|command-message|local-command-|bash-)/.test(words)
  const prompt = !hidden && !interrupted && !command && results.length === 0
  if (results.length === 0) facts.push(...rewind(line, memory))
  if (/<command-name>\/clear<\/command-name>/.test(words)) {
    facts.push({ type: 'cleared', ...given({ date: at }) })
  }
  const whole = parts.length === 1 && parts[0]!.type === 'text' && results.length === 0
  const payload = { role: 'user', content: whole ? words : parts, ...(hidden ? { display: false } : {}) }
  facts.push(said('message', payload, line, hidden ? { isMeta: true } : undefined))
  if (interrupted) facts.push({ ...moved('idle', at), because: 'aborted' })
  if (prompt) {
    facts.push(moved('asked', at))
    const title = memory.titled === true ? undefined : titleIn(words)
    if (title !== undefined) {
      memory.titled = true
      facts.push({ type: 'about', title, titleRank: 0 })
    }
  }
  return seen(facts, line, memory)
}

function assistant(line: Fields, memory: Memory): Fact[] {
  const message = fields(line.message)
  const at = date(line.timestamp)
  const facts: Fact[] = []
  const parts: Part[] = []
  const calls: ToolCall[] = []
  for (const block of list(message.content)) {
    const part = fields(block)
    if (part.type === 'tool_use') {
      const call = { id: text(part.id) ?? 'unknown', name: text(part.name) ?? 'unknown', arguments: part.input ?? {} }
      memory.calls[call.id] = call.name
      calls.push(call)
    } else if (part.type !== 'text' || text(part.text) !== undefined) parts.push(partOf(part))
  }
  const synthetic = message.model === '<synthetic>'
  if (line.isApiErrorMessage === true) {
    const words = plain(message.content)
    const kind = text(line.error) ?? 'api_error'
    const status = number(line.apiErrorStatus)
    facts.push(said('error', { kind, message: words, ...given({ details: status && { status } }) }, line))
    const limit = kind === 'rate_limit' ? limitIn(words, at) : undefined
    if (limit !== undefined) facts.push({ type: 'limited', message: words, ...limit, ...given({ date: at }) })
    facts.push({ ...moved('idle', at), because: 'failed' })
    return seen(facts, line, memory)
  }
  // What the program itself puts in the model's place, such as "No response requested.", is a notice.
  if (parts.length > 0)
    facts.push(said('message', { role: 'assistant', content: parts }, line, synthetic ? { isMeta: true } : undefined))
  if (calls.length > 0) facts.push(said('tool_call', { calls }, line))
  if (!synthetic) facts.push(...usageOf(line, memory))
  const over = ['end_turn', 'stop_sequence', 'refusal'].includes(String(message.stop_reason)) || synthetic
  facts.push(moved(over ? 'idle' : 'working', at))
  return seen(facts, line, memory)
}

/** The lines of one reply repeat its usage, and the last of them has all of it: reported when it is new or has changed. */
function usageOf(line: Fields, memory: Memory, aside = false): Fact[] {
  const message = fields(line.message)
  if (!isFields(message.usage)) return []
  const { usage } = message
  const model = text(message.model)
  const input = number(usage.input_tokens) ?? 0
  const cacheRead = number(usage.cache_read_input_tokens) ?? 0
  const cacheWrite = number(usage.cache_creation_input_tokens) ?? 0
  const output = number(usage.output_tokens) ?? 0
  const reply = `${text(message.id) ?? ''}:${text(line.requestId) ?? ''}`
  const told = `${reply} ${input} ${output} ${cacheRead} ${cacheWrite}`
  if (!aside && told === memory.usage) return []
  if (!aside) memory.usage = told
  const used: Used = {
    type: 'used',
    reply,
    tokens: input + cacheRead + cacheWrite,
    input,
    output,
    cacheRead,
    cacheWrite,
    ...given({ model, date: date(line.timestamp) }),
    ...(aside ? { aside } : {}),
  }
  return model === undefined || aside ? [used] : [used, { type: 'about', model }]
}

function system(line: Fields, memory: Memory): Fact[] {
  const at = date(line.timestamp)
  if (line.subtype === 'compact_boundary') {
    const details = fields(line.compactMetadata)
    const kept = fields(details.preservedSegment).headUuid ?? list(fields(details.preservedMessages).uuids)[0]
    memory.boundary = given({
      keptFrom: text(kept),
      tokens: number(details.postTokens),
      details: given({ trigger: text(details.trigger), tokensBefore: number(details.preTokens) }),
    })
    delete memory.usage
    return [noted(line, memory)]
  }
  const facts: Fact[] = [noted(line, memory)]
  if (line.subtype === 'turn_duration') facts.push(moved('idle', at))
  return facts
}

/** A subagent's line in the file of the session it works for: kept, but never in the session's context. */
function sidechain(line: Fields, memory: Memory): Fact[] {
  const own: Memory = { tip: [], talked: false, calls: memory.calls, titled: true, held: [] }
  const agent = text(line.agentId)
  const inner = line.type === 'assistant' ? assistant(line, own) : line.type === 'user' ? user(line, own) : []
  const facts: Fact[] = []
  for (const fact of inner) {
    if (fact.type !== 'said') continue
    const meta = { ...fact.draft.meta, context: false, isSidechain: true, ...given({ subagent: agent }) }
    facts.push({ ...fact, draft: { ...fact.draft, meta } })
  }
  if (facts.length === 0) facts.push(noted(line, own))
  return [...facts, ...(line.type === 'assistant' ? usageOf(line, own, true) : [])]
}

function titles(line: Fields, memory: Memory): Fact[] {
  const title = text(line.customTitle) ?? text(line.aiTitle) ?? text(line.title) ?? text(line.summary)
  if (title === undefined) return []
  memory.titled = true
  const titleRank = line.type === 'custom-title' ? 3 : line.type === 'ai-title' ? 2 : 1
  return [{ type: 'about', title, titleRank }]
}

/** A prompt whose parent is neither the last message nor anything noted since then went back to that parent. */
function rewind(line: Fields, memory: Memory): Fact[] {
  const parent = line.parentUuid
  if (!memory.talked || line.isMeta === true || line.isCompactSummary === true || parent === undefined) return []
  if (typeof parent === 'string' && memory.tip.includes(parent)) return []
  return [{ type: 'rewound', to: text(parent), ...given({ date: date(line.timestamp) }) }]
}

function seen(facts: Fact[], line: Fields, memory: Memory): Fact[] {
  const uuid = text(line.uuid)
  memory.talked = true
  memory.tip = uuid === undefined ? [] : [uuid]
  return facts
}

function moved(to: 'asked' | 'working' | 'idle', at: string | undefined): TurnMoved {
  return at === undefined ? { type: 'turn', to } : { type: 'turn', to, date: at }
}

/** Words that the model was given within a turn: an attachment or, in older versions, what is removed from the queue. */
function queued(line: Fields, memory: Memory): Fact[] {
  const words = line.type === 'queue-operation' ? removed(line, memory) : attached(line)
  if (words === undefined || words === '') return []
  const delivered = (memory.delivered ??= [])
  const before = delivered.indexOf(words)
  if (before >= 0) {
    delivered.splice(before, 1)
    return []
  }
  delivered.push(words)
  if (delivered.length > mostDelivered) delivered.shift()
  return [{ type: 'queued', text: words, ...given({ date: date(line.timestamp) }) }]
}

const mostDelivered = 20

function attached({ type, attachment }: Fields): string | undefined {
  const { type: kind, prompt } = fields(attachment)
  return type === 'attachment' && kind === 'queued_command' ? text(prompt) : undefined
}

/** What leaves the queue within a turn. What is dequeued becomes a prompt of its own, and what is popped goes back to be edited. */
function removed({ operation, content }: Fields, memory: Memory): string | undefined {
  const queue = (memory.queue ??= [])
  if (operation === 'enqueue') queue.push(text(content) ?? '')
  else if (operation === 'popAll') queue.length = 0
  else if (operation === 'dequeue') queue.shift()
  else if (operation === 'remove') return queue.shift()
  return undefined
}

/** What was typed while the model worked, and never reached it: the program was closed before. */
function undelivered(memory: Memory): Fact[] {
  const words = memory.queue?.splice(0).filter((each) => each.trim() !== '') ?? []
  return words.map((each) => ({ type: 'queued', text: each }))
}

/** A line that says nothing to the model, kept as it is. */
function noted(line: Fields, memory: Memory): Fact {
  const uuid = text(line.uuid)
  if (uuid !== undefined) memory.tip.push(uuid)
  if (memory.tip.length > 500) memory.tip.splice(0, memory.tip.length - 500)
  const name = typeof line.subtype === 'string' ? `claude/${line.subtype}` : `claude/${text(line.type) ?? 'unknown'}`
  const { timestamp: _t, uuid: _u, parentUuid: _p, sessionId: _s, cwd: _c, version: _v, ...data } = line
  return said('event', { name, data }, line)
}

function said(kind: string, payload: unknown, line: Fields, meta?: Draft['meta']): Fact {
  return saidFact(kind, payload, date(line.timestamp), text(line.uuid), meta)
}

function resultOf(part: Fields, memory: Memory): ToolResult {
  const id = text(part.tool_use_id) ?? 'unknown'
  const name = memory.calls[id] ?? 'tool'
  delete memory.calls[id]
  const content = Array.isArray(part.content) ? part.content.map((each) => partOf(fields(each))) : (part.content ?? '')
  return { call_id: id, name, output: content, ...(part.is_error === true ? { is_error: true } : {}) }
}

function partOf(part: Fields): Part {
  if (part.type === 'thinking') {
    const signature = text(part.signature)
    return { type: 'reasoning', text: text(part.thinking) ?? '', ...(signature === undefined ? {} : { signature }) }
  }
  const source = fields(part.source)
  if ((part.type === 'image' || part.type === 'document') && source.type === 'base64') {
    const kind = part.type === 'image' ? 'image' : 'file'
    return { type: kind, mediaType: text(source.media_type) ?? 'application/octet-stream', data: source.data ?? '' }
  }
  return { ...part, type: text(part.type) ?? 'unknown' }
}

function plain(content: unknown): string {
  if (typeof content === 'string') return content
  return list(content)
    .map((block) => text(fields(block).text) ?? '')
    .join('\n')
}

/**
 * When the limit of a plan ends, from the message that Claude Code shows: "You've hit your limit · resets 8:54pm (UTC)", or the
 * older "Claude AI usage limit reached|1760000000".
 */
export function limitIn(words: string, at: string | undefined): { until?: string } | undefined {
  const stamped = /limit reached\|(\d{9,11})/.exec(words)?.[1]
  if (stamped !== undefined) return { until: new Date(Number(stamped) * 1000).toISOString() }
  if (!/\blimit\b/i.test(words)) return undefined
  const until = limitEnd(words, at)
  return until === undefined ? {} : { until }
}
