// Parses sessions of opencode: rows of its database, each message together with its parts.

import type { Part } from '../../tape/index.ts'
import { type Fact, type Parser, type TurnMoved, saidFact, titleIn } from '../fact.ts'
import { date, fields, type Fields, given, isFields, list, number, text } from '../fields.ts'

interface Memory {
  /** What the compaction under way keeps. */
  tail?: string
  reverted?: string
}

export function opencodeParser(stored?: Fields): Parser {
  const memory: Memory = { ...(stored as Partial<Memory> | undefined) }
  return {
    facts: (line) => (isFields(line.session) ? session(line.session, memory) : message(line, memory)),
    get memory() {
      return memory as unknown as Fields
    },
  }
}

function session(row: Fields, memory: Memory): Fact[] {
  const model = fields(row.model)
  const title = text(row.title)
  const parent = text(row.parent_id)
  const facts: Fact[] = [
    {
      type: 'about',
      ...given({ session: text(row.id), cwd: text(row.directory), model: text(model.id), parent }),
      ...(title === undefined || title.startsWith('New session - ') ? {} : { title, titleRank: 2 }),
      ...(parent === undefined ? {} : { kind: 'subagent' as const }),
    },
  ]
  const reverted = text(fields(row.revert).messageID)
  if (reverted !== undefined && reverted !== memory.reverted)
    facts.push({ type: 'rewound', to: undefined, before: reverted })
  if (reverted === undefined) delete memory.reverted
  else memory.reverted = reverted
  return facts
}

function message(line: Fields, memory: Memory): Fact[] {
  const data = fields(line.message)
  const id = text(line.id) ?? 'unknown'
  const at = date(fields(data.time).created)
  const parts = list(line.parts).map(fields)
  if (data.role === 'user') return user(parts, memory, id, at)
  if (data.role === 'assistant') return assistant(data, parts, memory, id, at)
  return [saidFact('event', { name: `opencode/${text(data.role) ?? 'unknown'}`, data: line }, at, id)]
}

function user(parts: readonly Fields[], memory: Memory, id: string, at: string | undefined): Fact[] {
  const facts: Fact[] = []
  const compaction = parts.find((part) => part.type === 'compaction')
  if (compaction !== undefined) {
    const tail = text(compaction.tail_start_id)
    if (tail === undefined) delete memory.tail
    else memory.tail = tail
    return [
      saidFact('event', { name: 'opencode/compaction', data: compaction }, at, id),
      { type: 'compacting', ...given({ date: at }) },
    ]
  }
  const content: Part[] = []
  let typed = false
  for (const part of parts) {
    if (part.type === 'text') {
      const synthetic = part.synthetic === true
      content.push({ type: 'text', text: text(part.text) ?? '', ...(synthetic && { synthetic }) })
      typed ||= !synthetic
    } else if (part.type === 'file') content.push(fileOf(part))
    else facts.push(saidFact('event', { name: `opencode/${text(part.type) ?? 'unknown'}`, data: part }, at, id))
  }
  if (content.length === 0) return facts
  const only = content.length === 1 && content[0]!.type === 'text' ? String(content[0]!.text) : content
  const shown = { role: 'user', content: only, ...(typed ? {} : { display: false }) }
  facts.unshift(saidFact('message', shown, at, id, typed ? undefined : { isMeta: true }))
  facts.push({ type: 'turn', to: typed ? 'asked' : 'working', ...given({ date: at }) })
  const words = parts.filter((part) => part.type === 'text' && part.synthetic !== true).map((part) => text(part.text))
  const title = typed ? titleIn(words.join('\n')) : undefined
  if (title !== undefined) facts.push({ type: 'about', title, titleRank: 0 })
  return facts
}

function assistant(data: Fields, parts: readonly Fields[], memory: Memory, id: string, at: string | undefined): Fact[] {
  const facts: Fact[] = []
  const model = text(data.modelID)
  const summary = data.summary === true
  if (summary) {
    const words = parts
      .map((part) => (part.type === 'text' ? (text(part.text) ?? '') : ''))
      .join('\n')
      .trim()
    const keptFrom = memory.tail
    delete memory.tail
    facts.push({ type: 'compacted', summary: words, source: id, ...given({ keptFrom, date: at }) })
  } else facts.push(...spoken(parts, id, at))
  const error = fields(data.error)
  if (error.name !== undefined) {
    const details = fields(error.data)
    const words = text(details.message) ?? text(error.name) ?? 'error'
    facts.push(saidFact('error', { kind: text(error.name) ?? 'error', message: words }, at, id))
  }
  const end = date(fields(data.time).completed)
  const isFinished = end !== undefined || error.name !== undefined
  // The counts of a reply that was cut off by a kill are zero.
  if (isFinished && isFields(data.tokens)) facts.push(used(data, data.tokens, model, id, summary, at))
  if (model !== undefined) facts.push({ type: 'about', model })
  const over = isFinished && (error.name !== undefined || data.finish !== 'tool-calls')
  const because: TurnMoved['because'] = error.name === 'MessageAbortedError' ? 'aborted' : 'failed'
  facts.push({
    type: 'turn',
    to: over ? 'idle' : 'working',
    ...(error.name === undefined ? {} : { because }),
    ...given({ date: end ?? at }),
  })
  return facts
}

/** Text, then the calls that follow it, then their results, in the order in which the model wrote and saw them. */
function spoken(parts: readonly Fields[], id: string, at: string | undefined): Fact[] {
  const facts: Fact[] = []
  const words: Part[] = []
  const flush = () => {
    if (words.length > 0) facts.push(saidFact('message', { role: 'assistant', content: words.splice(0) }, at, id))
  }
  for (const part of parts) {
    if (part.type === 'text') words.push({ type: 'text', text: text(part.text) ?? '' })
    else if (part.type === 'reasoning') words.push({ type: 'reasoning', text: text(part.text) ?? '' })
    else if (part.type === 'tool') {
      flush()
      facts.push(...tool(part, id, at))
    } else if (part.type !== 'step-start' && part.type !== 'step-finish') {
      flush()
      facts.push(saidFact('event', { name: `opencode/${text(part.type) ?? 'unknown'}`, data: part }, at, id))
    }
  }
  flush()
  return facts
}

function tool(part: Fields, id: string, at: string | undefined): Fact[] {
  const state = fields(part.state)
  const callId = text(part.callID) ?? 'unknown'
  const name = text(part.tool) ?? 'unknown'
  const facts = [saidFact('tool_call', { calls: [{ id: callId, name, arguments: state.input ?? {} }] }, at, id)]
  const failed = state.status === 'error'
  if (state.status === 'completed' || failed) {
    const exit = number(fields(state.metadata).exit)
    const result = {
      call_id: callId,
      name,
      output: (failed ? state.error : state.output) ?? '',
      ...(failed || (exit !== undefined && exit !== 0) ? { is_error: true } : {}),
      ...(exit === undefined ? {} : { exit }),
    }
    facts.push(saidFact('tool_result', { results: [result] }, date(fields(state.time).end) ?? at, id))
  }
  return facts
}

function used(
  data: Fields,
  tokens: Fields,
  model: string | undefined,
  reply: string,
  aside: boolean,
  at: string | undefined,
): Fact {
  const cache = fields(tokens.cache)
  const input = number(tokens.input) ?? 0
  const output = number(tokens.output) ?? 0
  const cacheRead = number(cache.read) ?? 0
  const cacheWrite = number(cache.write) ?? 0
  return {
    type: 'used',
    reply,
    tokens: number(tokens.total) ?? input + output + cacheRead + cacheWrite,
    input,
    output,
    cacheRead,
    cacheWrite,
    ...(aside ? { aside } : {}),
    ...given({ model, cost: number(data.cost), date: at }),
  }
}

function fileOf(part: Fields): Part {
  const mediaType = text(part.mime) ?? 'application/octet-stream'
  const type = mediaType.startsWith('image/') ? 'image' : 'file'
  return { type, mediaType, url: part.url ?? '', ...given({ filename: text(part.filename) }) }
}
