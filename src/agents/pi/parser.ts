// Parses sessions of pi, versions 1 to 3. From version 2 on, entries form a tree by `parentId`: an entry whose parent is not
// the last entry means that the person went back.

import type { Draft } from '../../store/index.ts'
import type { Part, ToolCall } from '../../tape/index.ts'
import { type Fact, type Parser, type TurnMoved, saidFact, titleIn } from '../fact.ts'
import { date, fields, type Fields, given, isFields, list, number, text } from '../fields.ts'

interface Memory {
  leaf?: string
  titled?: boolean
  /** The number of entries so far, since compactions of version 1 refer to entries by number. */
  count: number
}

export function piParser(stored?: Fields): Parser {
  const memory: Memory = { count: 0, ...(stored as Partial<Memory> | undefined) }
  return {
    facts: (line) => factsIn(line, memory),
    get memory() {
      return memory as unknown as Fields
    },
  }
}

function factsIn(line: Fields, memory: Memory): Fact[] {
  if (line.type === 'session') return header(line)
  const source = text(line.id) ?? `#${memory.count}`
  memory.count++
  const facts: Fact[] = []
  const parent = line.parentId
  const moved = memory.leaf !== undefined && parent !== undefined && parent !== memory.leaf
  if (moved) facts.push({ type: 'rewound', to: text(parent), ...given({ date: date(line.timestamp) }) })
  if (line.id !== undefined) memory.leaf = source
  return [...facts, ...entry(line, source, memory)]
}

function header(line: Fields): Fact[] {
  const { type: _type, ...data } = line
  return [
    { type: 'about', ...given({ session: text(line.id), cwd: text(line.cwd), model: text(line.modelId) }) },
    said('event', { name: 'pi/session', data }, line),
  ]
}

function entry(line: Fields, source: string, memory: Memory): Fact[] {
  switch (line.type) {
    case 'message':
      return message(line, source, memory)
    case 'compaction': {
      const keptFrom = text(line.firstKeptEntryId) ?? oldStyle(line.firstKeptEntryIndex)
      const details = given({ tokensBefore: number(line.tokensBefore), details: line.details })
      const at = date(line.timestamp)
      return [
        {
          type: 'compacted',
          summary: text(line.summary) ?? '',
          source,
          ...given({ keptFrom, details: Object.keys(details).length > 0 ? details : undefined, date: at }),
        },
        ...spent(fields(line.usage), line, true),
      ]
    }
    case 'branch_summary': {
      const words = `The following is a summary of a branch that this conversation came back from:\n${text(line.summary) ?? ''}`
      return [said('message', { role: 'user', content: words, customType: 'branch_summary' }, line, source)]
    }
    case 'custom_message': {
      const customType = text(line.customType) ?? 'custom'
      const shown = typeof line.display === 'boolean' ? { display: line.display } : {}
      const payload = { role: 'user', content: contentOf(line.content), customType, ...shown }
      return [said('message', payload, line, source)]
    }
    case 'model_change':
      return [{ type: 'about', ...given({ model: text(line.modelId) }) }, noted(line, source)]
    case 'session_info': {
      const title = text(line.name)
      return [...(title === undefined ? [] : [{ type: 'about', title, titleRank: 3 } as const]), noted(line, source)]
    }
    case 'usage':
      return [...spent(fields(line.usage), line, true), noted(line, source)]
    default:
      return [noted(line, source)]
  }
}

function oldStyle(index: unknown): string | undefined {
  const at = number(index)
  // Version 1 counts the header as the first line.
  return at === undefined ? undefined : `#${Math.max(0, at - 1)}`
}

function message(line: Fields, source: string, memory: Memory): Fact[] {
  const body = fields(line.message)
  const at = date(line.timestamp)
  switch (body.role) {
    case 'user': {
      const content = contentOf(body.content)
      const facts: Fact[] = [
        said('message', { role: 'user', content }, line, source),
        { type: 'turn', to: 'asked', ...given({ date: at }) },
      ]
      const title = memory.titled === true ? undefined : titleIn(words(content))
      if (title !== undefined) {
        memory.titled = true
        facts.push({ type: 'about', title, titleRank: 0 })
      }
      return facts
    }
    case 'assistant':
      return assistant(body, line, source)
    case 'toolResult': {
      const result = {
        call_id: text(body.toolCallId) ?? 'unknown',
        name: text(body.toolName) ?? 'tool',
        output: contentOf(body.content),
        ...(body.isError === true ? { is_error: true } : {}),
        ...given({ details: body.details }),
      }
      return [
        said('tool_result', { results: [result] }, line, source),
        { type: 'turn', to: 'working', ...given({ date: at }) },
      ]
    }
    case 'bashExecution': {
      const exit = number(body.exitCode) ?? 0
      const failed = exit === 0 ? '' : `\n\nCommand exited with code ${exit}`
      const run = `Ran \`${text(body.command) ?? ''}\`\n\`\`\`\n${text(body.output) ?? ''}\n\`\`\`${failed}`
      const left = body.excludeFromContext === true ? { context: false } : {}
      return [said('message', { role: 'user', content: run, customType: 'bash' }, line, source, left)]
    }
    default: {
      const role = text(body.role) ?? 'user'
      const known = role === 'system' || role === 'custom' || role === 'hookMessage'
      if (!known) return [noted(line, source)]
      const customType = text(body.customType)
      const payload = {
        role: role === 'system' ? 'system' : 'user',
        content: contentOf(body.content),
        ...given({ customType }),
      }
      return [said('message', payload, line, source)]
    }
  }
}

function assistant(body: Fields, line: Fields, source: string): Fact[] {
  const at = date(line.timestamp)
  const parts: Part[] = []
  const calls: ToolCall[] = []
  for (const each of list(body.content)) {
    const part = fields(each)
    if (part.type === 'toolCall') {
      calls.push({
        id: text(part.id) ?? 'unknown',
        name: text(part.name) ?? 'unknown',
        arguments: part.arguments ?? {},
      })
    } else parts.push(partOf(part))
  }
  const facts: Fact[] = []
  const stop = text(body.stopReason)
  if (parts.length > 0) facts.push(said('message', { role: 'assistant', content: parts }, line, source))
  if (calls.length > 0) facts.push(said('tool_call', { calls }, line, source))
  const problem = text(body.errorMessage)
  if (problem !== undefined) facts.push(said('error', { kind: stop ?? 'error', message: problem }, line, source))
  if (facts.length === 0) facts.push(noted(line, source))
  const model = text(body.model)
  if (model !== undefined) facts.push({ type: 'about', model })
  if (isFields(body.usage))
    facts.push(...spent(body.usage, line, stop === 'aborted' || stop === 'error', model, source))
  const because: TurnMoved['because'] = stop === 'aborted' ? 'aborted' : 'failed'
  facts.push({
    type: 'turn',
    to: stop === 'toolUse' ? 'working' : 'idle',
    ...(stop === 'aborted' || stop === 'error' ? { because } : {}),
    ...given({ date: at }),
  })
  return facts
}

function spent(usage: Fields, line: Fields, aside: boolean, model?: string, reply?: string): Fact[] {
  if (Object.keys(usage).length === 0) return []
  const input = number(usage.input) ?? 0
  const output = number(usage.output) ?? 0
  const cacheRead = number(usage.cacheRead) ?? 0
  const cacheWrite = number(usage.cacheWrite) ?? 0
  return [
    {
      type: 'used',
      tokens: number(usage.totalTokens) ?? input + output + cacheRead + cacheWrite,
      input,
      output,
      cacheRead,
      cacheWrite,
      ...(aside ? { aside } : {}),
      ...given({ reply, model, cost: number(fields(usage.cost).total), date: date(line.timestamp) }),
    },
  ]
}

function contentOf(content: unknown): string | Part[] {
  if (typeof content === 'string') return content
  const parts = list(content).map((part) => partOf(fields(part)))
  return parts.length === 1 && parts[0]!.type === 'text' ? String(parts[0]!.text) : parts
}

function partOf(part: Fields): Part {
  const type = text(part.type) ?? 'unknown'
  if (type === 'thinking') {
    const signature = text(part.thinkingSignature)
    return { type: 'reasoning', text: text(part.thinking) ?? '', ...(signature === undefined ? {} : { signature }) }
  }
  if (type === 'image') return { type, mediaType: text(part.mimeType) ?? 'image/png', data: part.data ?? '' }
  return { ...part, type }
}

function words(content: string | Part[]): string {
  return typeof content === 'string'
    ? content
    : content.map((part) => (typeof part.text === 'string' ? part.text : '')).join('\n')
}

function noted(line: Fields, source: string): Fact {
  const { id: _id, parentId: _parent, timestamp: _time, ...data } = line
  return said('event', { name: `pi/${text(line.type) ?? 'unknown'}`, data }, line, source)
}

function said(kind: string, payload: unknown, line: Fields, source?: string, meta?: Draft['meta']): Fact {
  return saidFact(kind, payload, date(line.timestamp), source, meta)
}
