// Transcripts as Claude Code writes them, as large and as many as wanted. Sizes are those of real ones: short prompts,
// replies in a few lines of their own, tool results of some kilobytes with a structured copy, a compaction when full.

import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

const prose = 'The quick brown fox jumps over the lazy dog; then it runs the tests, reads what failed, and mends it. '
const code =
  'export function total(items: readonly Item[]): number {\n  return items.reduce((sum, item) => sum + item.price, 0)\n}\n'

/** Writes at least so many bytes, and returns how many lines that took. */
export function writeTranscript(file: string, bytes: number, session: string = randomUUID()): number {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  const fd = fs.openSync(file, 'w')
  let parent: string | null = null
  const so = { far: 0 }
  let lines = 0
  let context = 8_000
  let time = Date.parse('2026-10-01T09:00:00Z')
  const put = (line: Record<string, unknown>) => {
    const uuid = randomUUID()
    const text = `${JSON.stringify({ parentUuid: parent, isSidechain: false, userType: 'external', cwd: '/home/dev/shop', sessionId: session, version: '2.1.197', gitBranch: 'main', ...line, uuid, timestamp: new Date((time += 1_500)).toISOString() })}\n`
    so.far += fs.writeSync(fd, text)
    lines++
    parent = uuid
    return uuid
  }
  for (let turn = 0; so.far < bytes; turn++) {
    put({ type: 'user', message: { role: 'user', content: `Please look at part ${turn}. ${prose.repeat(2)}` } })
    for (let step = 0; step < 6 && so.far < bytes; step++) {
      const id = `msg_${turn}_${step}`
      const call = `toolu_${turn}_${step}`
      context += 900
      const usage = {
        input_tokens: 12,
        cache_creation_input_tokens: 900,
        cache_read_input_tokens: context,
        output_tokens: 310,
      }
      const say = (block: unknown) =>
        put({
          type: 'assistant',
          requestId: `req_${turn}_${step}`,
          message: {
            id,
            type: 'message',
            role: 'assistant',
            model: 'claude-sonnet-4-5',
            content: [block],
            stop_reason: 'tool_use',
            usage,
          },
        })
      say({ type: 'thinking', thinking: prose.repeat(4), signature: 'c2lnbmF0dXJl'.repeat(30) })
      say({ type: 'text', text: prose.repeat(2) })
      say({
        type: 'tool_use',
        id: call,
        name: 'Read',
        input: { file_path: `/home/dev/shop/src/part-${turn % 400}.ts` },
      })
      const content = code.repeat(10 + ((turn * 7 + step * 13) % 60))
      put({
        type: 'user',
        message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: call, content }] },
        toolUseResult: {
          type: 'text',
          file: { filePath: `/home/dev/shop/src/part-${turn % 400}.ts`, content, numLines: 200 },
        },
      })
    }
    put({
      type: 'assistant',
      requestId: `req_${turn}`,
      message: {
        id: `msg_${turn}`,
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [{ type: 'text', text: prose.repeat(3) }],
        stop_reason: 'end_turn',
        usage: {
          input_tokens: 10,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: context,
          output_tokens: 200,
        },
      },
    })
    put({ type: 'system', subtype: 'turn_duration', durationMs: 30_000, isMeta: false })
    if (context < 160_000) continue
    const logical = parent
    parent = null
    put({
      type: 'system',
      subtype: 'compact_boundary',
      logicalParentUuid: logical,
      content: 'Conversation compacted',
      compactMetadata: { trigger: 'auto', preTokens: context, postTokens: 9_000 },
    })
    put({
      type: 'user',
      isCompactSummary: true,
      message: { role: 'user', content: `This session is being continued. ${prose.repeat(40)}` },
    })
    context = 9_000
  }
  fs.closeSync(fd)
  return lines
}
