// Transcripts as Codex writes them, as large as wanted: prompts, reasoning, shell calls with some kilobytes of output, patches.

import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

const prose = 'The quick brown fox jumps over the lazy dog; then it runs the tests, reads what failed, and mends it. '
const log = ' ✓ test/shop/total.test.ts > adds what is in the basket (12 ms)\n'

/** Writes at least so many bytes, and returns how many lines that took. */
export function writeCodexTranscript(file: string, bytes: number): number {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  const fd = fs.openSync(file, 'w')
  const cwd = '/home/dev/shop'
  const so = { far: 0 }
  let lines = 0
  let time = Date.parse('2026-10-01T09:00:00Z')
  const put = (type: string, payload: Record<string, unknown>) => {
    const timestamp = new Date((time += 1_500)).toISOString()
    so.far += fs.writeSync(fd, `${JSON.stringify({ timestamp, ordinal: lines, type, payload })}\n`)
    lines++
  }
  const item = (payload: Record<string, unknown>) => put('response_item', payload)
  const id = randomUUID()
  put('session_meta', { session_id: id, id, timestamp: new Date(time).toISOString(), cwd, cli_version: '0.166.0' })
  for (let turn = 0; so.far < bytes; turn++) {
    const text = `Please look at part ${turn}. ${prose.repeat(2)}`
    put('event_msg', { type: 'task_started', turn_id: `turn-${turn}`, model_context_window: 258_400 })
    put('turn_context', { turn_id: `turn-${turn}`, cwd, approval_policy: 'never', model: 'gpt-5.4' })
    item({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
    put('event_msg', { type: 'user_message', message: text })
    for (let step = 0; step < 6 && so.far < bytes; step++) {
      const call_id = `call_${turn}_${step}`
      item({ type: 'reasoning', summary: [], encrypted_content: 'Z0FBQUFB'.repeat(80) })
      item({
        type: 'function_call',
        name: 'exec_command',
        arguments: JSON.stringify({ cmd: `npx vitest run test/part-${turn % 400}.test.ts`, workdir: cwd }),
        call_id,
      })
      const output = `Process exited with code 0\nOutput:\n${log.repeat(20 + ((turn * 7 + step * 13) % 120))}`
      item({ type: 'function_call_output', call_id, output })
    }
    put('event_msg', { type: 'agent_message', message: prose.repeat(3) })
    item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: prose.repeat(3) }] })
    put('event_msg', { type: 'task_complete', turn_id: `turn-${turn}`, last_agent_message: prose.repeat(3) })
  }
  fs.closeSync(fd)
  return lines
}
