// What Gemini CLI was seen to write: its history told anew at every turn of events.

import { expect, test } from 'vitest'
import { geminiParser } from '../../src/agents/gemini/parser.ts'
import type { Fact } from '../../src/agents/fact.ts'
import { addFact, emptyStats } from '../../src/transcripts/session-stats.ts'

const head = { sessionId: 's', projectHash: 'h', startTime: '2026-11-16T03:00:00.000Z', kind: 'main' }
const folder = { text: '<session_context>\nThis is the Gemini CLI.\n</session_context>' }
const context = { id: 'c0', type: 'user', content: [folder] }
const prompt = (id: string, text: string) => ({ id, type: 'user', content: [{ text }] })
const reply = (id: string, content: string, input: number, more: object = {}) => ({
  id,
  type: 'gemini',
  content,
  tokens: { input, output: 10, cached: 0, thoughts: 0 },
  model: 'gemini-2.5-pro',
  ...more,
})
const history = (...messages: object[]) => ({ $set: { messages } })
const response = (id: string) => ({ functionResponse: { id, name: 'run_shell_command', response: { output: 'done' } } })
const called = {
  toolCalls: [
    { id: 'k1', name: 'run_shell_command', args: { command: 'x' }, status: 'success', result: [response('k1')] },
  ],
}
const answer = (id: string) => ({ id, type: 'user', content: [response('k1')] })

/** Through JSON from line to line, as a parser is kept. */
function read(lines: readonly object[]): Fact[] {
  const facts: Fact[] = []
  let memory: Readonly<Record<string, unknown>> | undefined
  for (const line of lines) {
    const parser = geminiParser(memory)
    facts.push(...parser.facts(JSON.parse(JSON.stringify(line)) as Record<string, unknown>))
    memory = JSON.parse(JSON.stringify(parser.memory)) as Record<string, unknown>
  }
  return facts
}

const of = <T extends Fact['type']>(facts: readonly Fact[], type: T) =>
  facts.filter((fact): fact is Extract<Fact, { type: T }> => fact.type === type)

const kinds = (facts: readonly Fact[]) =>
  of(facts, 'said').flatMap(({ draft }) => (draft.kind === 'event' ? [] : [draft.kind]))

const begun = [head, history(context), prompt('u1', 'one'), reply('g1', 'I run it.', 1_000)]
const worked = [...begun, reply('g1', 'I run it.', 1_000, called), answer('u2'), reply('g2', 'Done.', 2_000)]

test('a session begins with what Gemini CLI says of the folder, which is nobody’s prompt and no compaction [C2]', () => {
  const facts = read(worked)
  expect(kinds(facts)).toEqual(['message', 'message', 'tool_call', 'tool_result', 'message'])
  expect(of(facts, 'compacted')).toEqual([])
  const stats = emptyStats()
  for (const fact of facts) addFact(stats, fact)
  expect(stats).toMatchObject({ turns: 1, title: 'one', turn: { to: 'idle' }, ends: [2_000], compactions: 0 })
})

test('a prompt that was stopped or failed is taken back, and the context is as full as before it [C2]', () => {
  const cancelled = { id: 'i1', type: 'info', content: 'Request cancelled.' }
  const failed = { id: 'e1', type: 'error', content: '[API Error: You have exhausted your daily quota on this model.]' }
  const before = [
    context,
    prompt('u1', 'one'),
    reply('g1', 'I run it.', 1_000, called),
    answer('u2'),
    reply('g2', 'Done.', 2_000),
  ]
  for (const end of [
    [cancelled, history(...before)],
    [history(...before), failed],
  ]) {
    const facts = read([...worked, prompt('u3', 'two'), ...end])
    expect(of(facts, 'rewound')).toEqual([{ type: 'rewound', to: undefined, before: 'u3', tokens: 2_000 }])
    expect(of(facts, 'turn').at(-1)!.to).toBe('idle')
    expect(of(facts, 'compacted')).toEqual([])
    expect(of(facts, 'limited')).toHaveLength(end.includes(failed) ? 1 : 0)
  }
})

test('a history that is told once more, message by message, is told once [C2]', () => {
  const again = [
    { id: 'r1', type: 'user', content: [folder, { text: 'one' }] },
    {
      id: 'r2',
      type: 'gemini',
      content: [{ text: 'I run it.' }, { functionCall: { id: 'k1', name: 'run_shell_command', args: {} } }],
      tokens: null,
    },
    { id: 'r3', type: 'user', content: [response('k1')] },
    { id: 'r4', type: 'gemini', content: [{ text: 'Done.' }], tokens: null },
  ]
  const facts = read([...worked, prompt('u3', 'two'), ...again, history(...again), prompt('u4', 'three')])
  expect(kinds(facts)).toEqual([...kinds(read(worked)), 'message', 'message'])
  expect(of(facts, 'rewound').map(({ before }) => before)).toEqual(['u3'])
  // It goes by its new names from then on.
  const back = read([...worked, ...again, history(...again), { $rewindTo: 'r1' }])
  expect(of(back, 'rewound').map(({ before }) => before)).toEqual(['u1'])
})

test('one that is resumed goes on, in the same file or after an empty beginning in it [C2]', () => {
  const same = history(
    context,
    prompt('u1', 'one'),
    reply('g1', 'I run it.', 1_000, called),
    answer('u2'),
    reply('g2', 'Done.', 2_000),
  )
  const facts = read([...worked, head, history(context), { $set: { sessionId: 's' } }, same, prompt('u3', 'two')])
  expect(of(facts, 'rewound')).toEqual([])
  expect(of(facts, 'compacted')).toEqual([])
  expect(of(facts, 'turn').filter(({ to }) => to === 'asked')).toHaveLength(2)
})

test('a compaction is one, once, however often its history is told [C2]', () => {
  const summary = { id: 'm1', type: 'user', content: [{ text: '<state_snapshot>all of it</state_snapshot>' }] }
  const thanks = { id: 'm2', type: 'gemini', content: [{ text: 'Got it. Thanks for the additional context!' }] }
  const kept = [context, summary, thanks]
  const facts = read([
    ...worked,
    history(...kept),
    prompt('u3', 'two'),
    reply('g3', 'Yes.', 50),
    history(...kept, prompt('u3', 'two')),
  ])
  const [compacted, ...more] = of(facts, 'compacted')
  expect(more).toEqual([])
  expect(compacted).toMatchObject({ summary: '<state_snapshot>all of it</state_snapshot>' })
  expect(compacted!.kept).toMatchObject([{ kind: 'message', source: 'm2' }])
})

test('what is remembered of a session does not grow with its prompts, and a history of it is still told from another [C2]', () => {
  const prompts = Array.from({ length: 500 }, (_, i) => prompt(`u${i}`, `Prompt ${i}`))
  const after = (...lines: object[]) => {
    const parser = geminiParser()
    for (const line of [head, ...prompts]) parser.facts(line)
    expect(JSON.stringify(parser.memory).length).toBeLessThan(16_000)
    return lines.flatMap((line) => parser.facts(line as Record<string, unknown>))
  }
  expect(after(history(context, ...prompts))).toEqual([])
  expect(after(history(context, ...prompts.slice(0, 490)))).toMatchObject([{ type: 'rewound', before: 'u490' }])
  expect(after({ $rewindTo: 'u495' }, history(context, ...prompts.slice(0, 495)))).toMatchObject([
    { type: 'rewound', before: 'u495' },
  ])
  const others = [prompt('x0', 'Another'), ...prompts.slice(1)]
  for (const other of [others, prompts.slice(0, 100)]) {
    const [fact, ...more] = of(after(history(context, ...other)), 'compacted')
    expect([fact?.kept?.length, more]).toEqual([other.length, []])
  }
  const back = after(
    { $rewindTo: 'u100' },
    history(context, ...prompts.slice(0, 100)),
    history(context, ...prompts.slice(0, 99)),
  )
  expect(of(back, 'rewound').map(({ before }) => before)).toEqual(['u100', 'u99'])
})
