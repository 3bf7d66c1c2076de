// A made-up sixth agent: everything that Baton would have to know about it, and nothing else. Its sessions are lines of
// JSON, its tools have names of its own, and its screen shows a `quill>` prompt.

import path from 'node:path'
import type { Agent, SessionFile } from '../../../src/agents/agent.ts'
import type { Fact, Parser } from '../../../src/agents/fact.ts'
import { fields, type Fields, number, text } from '../../../src/agents/fields.ts'
import { filesBelow } from '../../../src/agents/files.ts'

export const quill: Agent = {
  name: 'quill',
  label: 'Quill',
  folders: (env) => [path.join(env.QUILL_HOME || path.join(env.HOME ?? '', '.quill'), 'logs')],
  find: (folder) => sessionsIn(folder),
  projectFolders: (folder, cwd) => [path.join(folder, path.basename(cwd))],
  recognises: (line) => line.by === 'quill',
  parser: quillParser,
  program: 'quill',
  start: ({ args = [], prompt, session }) => [
    'write',
    ...(session === undefined ? [] : [`--as=${session}`]),
    ...args,
    ...(prompt === undefined ? [] : [`--first=${prompt}`]),
  ],
  resume: (session, { args = [] } = {}) => ['reopen', session, ...args],
  takesId: true,
  ruleFiles: ['QUILL.md'],
  compactsAt: ({ window }) => window,
  clear: '/blank',
  interrupt: ['Escape'],
  showsWork: true,
  readScreen({ lines, solid }) {
    const at = lines.findLastIndex((line) => line.startsWith('quill>'))
    if (at < 0) return { is: 'starting' }
    const draft = solid[at]!.slice('quill>'.length).trim()
    return lines.some((line) => line.includes('scratching')) ? { is: 'busy', draft } : { is: 'prompt', draft }
  },
}

function sessionsIn(folder: string): SessionFile[] {
  return filesBelow(folder, 1, (name) => name.endsWith('.quill')).map(({ path: file, name, bytes, changed }) => ({
    agent: 'quill',
    path: file,
    id: name.slice(0, -'.quill'.length),
    bytes,
    changed,
  }))
}

/** Its tools under the names that the ledger knows: what is particular to an agent ends here. */
const tools: Readonly<Record<string, string>> = { peruse: 'read', inscribe: 'write', summon: 'bash' }

function quillParser(memory: Fields = {}): Parser {
  let calls = number(memory.calls) ?? 0
  return {
    facts(line) {
      const at = text(line.at) ?? ''
      if (line.session !== undefined)
        return [{ type: 'about', session: text(line.session) ?? '', cwd: text(line.cwd) ?? '', window: 1_000 }]
      if (line.ask !== undefined) return asked(text(line.ask) ?? '', at)
      if (line.tool !== undefined) return called(line, `call-${++calls}`, at)
      return [
        { type: 'said', draft: { kind: 'message', payload: { role: 'assistant', content: line.say }, date: at } },
        { type: 'used', tokens: number(line.tokens) ?? 0, input: 10, output: 1, cacheRead: 0, cacheWrite: 0, date: at },
        { type: 'turn', to: 'idle', date: at },
      ]
    },
    get memory() {
      return { calls }
    },
  }
}

function asked(words: string, date: string): Fact[] {
  return [
    { type: 'said', draft: { kind: 'message', payload: { role: 'user', content: words }, date } },
    { type: 'turn', to: 'asked', date },
    { type: 'about', title: words, titleRank: 0 },
  ]
}

function called(line: Fields, id: string, date: string): Fact[] {
  const name = tools[text(line.tool) ?? ''] ?? 'unknown'
  const call = { id, name, arguments: fields(line.with) }
  const result = { call_id: id, name, output: text(line.got) ?? '' }
  return [
    { type: 'said', draft: { kind: 'tool_call', payload: { calls: [call] }, date } },
    { type: 'turn', to: 'working', date },
    { type: 'said', draft: { kind: 'tool_result', payload: { results: [result] }, date } },
  ]
}
