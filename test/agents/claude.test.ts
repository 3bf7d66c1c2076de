import { expect, test } from 'vitest'
import { claudeParser } from '../../src/agents/claude/parser.ts'
import type { Fields } from '../../src/agents/fields.ts'

const line = (type: string, uuid: string, parentUuid: string | null, more: Fields): Fields => ({
  type,
  uuid,
  parentUuid,
  sessionId: 's1',
  timestamp: '2026-11-18T03:06:51.000Z',
  ...more,
})
const asked = line('user', 'u1', null, { message: { role: 'user', content: 'Fill the shelves.' } })
const listed = line('attachment', 'a1', 'u1', { attachment: { type: 'skill_listing', content: '' } })
const replied = line('assistant', 'r1', 'a1', {
  message: { id: 'm1', role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
})
const ended = line('system', 'd1', 'r1', { subtype: 'turn_duration', durationMs: 5 })
const next = line('user', 'u2', 'd1', { message: { role: 'user', content: 'Go on.' } })

/** What is said, in order, and whether the conversation went back. */
function told(lines: readonly Fields[]): string[] {
  const parser = claudeParser()
  return [...lines.flatMap((each) => parser.facts(each)), ...(parser.rest?.() ?? [])].flatMap((fact) => {
    if (fact.type === 'rewound') return ['rewound']
    if (fact.type !== 'said' || fact.draft.kind !== 'message') return []
    return [JSON.stringify((fact.draft.payload as Fields).content).replaceAll(/.*"([A-Z][^"]*\.)".*/g, '$1')]
  })
}

test('a first turn that is written before its prompt, to its very end, is told behind it, and nothing is taken back [T2]', () => {
  const words = ['Fill the shelves.', 'Done.', 'Go on.']
  expect(told([asked, listed, replied, ended, next])).toEqual(words)
  expect(told([replied, asked, listed, ended, next])).toEqual(words)
  expect(told([replied, ended, asked, listed, next])).toEqual(words)
})

test('words that were typed but never delivered are told at the end, once; what was delivered or taken back is not [H9]', () => {
  const queue = (operation: string, content?: string) =>
    line('queue-operation', `q-${operation}-${content}`, null, { operation, ...(content !== undefined && { content }) })
  const parser = claudeParser()
  for (const each of [
    asked,
    queue('enqueue', 'Und die Regale abstauben.'),
    queue('dequeue'),
    queue('enqueue', 'Taken back.'),
    queue('popAll', 'Taken back.'),
    queue('enqueue', '最後に床を掃除してください。'),
    replied,
  ])
    parser.facts(each)
  const late = () => (parser.rest?.() ?? []).flatMap((fact) => (fact.type === 'queued' ? [fact.text] : []))
  expect(late()).toEqual(['最後に床を掃除してください。'])
  expect(late()).toEqual([])
})
