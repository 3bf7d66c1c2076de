// Whose words a transcript holds, and that none of them are lost.

import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { ledger } from '../../src/handoff/ledger/ledger.ts'
import { agentNamed } from '../../src/agents/registry.ts'
import { EntryBuilder, sessionEntries } from '../../src/transcripts/facts-to-entries.ts'
import type { AgentName, Fact } from '../../src/agents/index.ts'
import { fileAt } from '../../src/transcripts/resolve.ts'
import { addFact, emptyStats } from '../../src/transcripts/session-stats.ts'
import { temporaryFolder } from '../support/workspace.ts'

function factsOf(agent: AgentName, lines: readonly Record<string, unknown>[]): Fact[] {
  const parser = agentNamed(agent).parser()
  return lines.flatMap((line) => parser.facts(line))
}

function titleOf(facts: readonly Fact[]): string | undefined {
  return facts.flatMap((fact) => (fact.type === 'about' && fact.title !== undefined ? [fact.title] : []))[0]
}

const codexSays = (text: string) => ({
  type: 'response_item',
  timestamp: '2026-01-01T00:00:00Z',
  payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
})
const piSays = (text: string) => ({ type: 'message', message: { role: 'user', content: [{ type: 'text', text }] } })

describe('a Claude Code file whose first prompt is missing', () => {
  const lines = [
    { type: 'file-history-snapshot', messageId: 'm' },
    ...[1, 2].map((n) => ({
      type: 'assistant',
      uuid: `a${n}`,
      parentUuid: n === 1 ? 'gone' : 'a1',
      sessionId: 's',
      timestamp: `2026-01-01T00:00:0${n}Z`,
      message: {
        id: 'm1',
        role: 'assistant',
        model: 'claude-opus-4-6',
        content:
          n === 1
            ? [{ type: 'text', text: 'Let me read the key files.' }]
            : [{ type: 'tool_use', id: 't1', name: 'Read', input: { file_path: '/r/a.go' } }],
        usage: { input_tokens: 3, cache_creation_input_tokens: 37_611, output_tokens: 9 },
      },
    })),
  ]

  function file(age: number): string {
    const name = path.join(temporaryFolder(), 'x.jsonl')
    fs.writeFileSync(name, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const then = new Date(Date.now() - age)
    fs.utimesSync(name, then, then)
    return name
  }

  test('loses nothing once nobody writes to it any more [C2]', () => {
    const found = fileAt(file(600_000), 'claude')
    expect(ledger(sessionEntries(found)).lastWords?.text).toBe('Let me read the key files.')
    const stats = emptyStats()
    expect([...sessionEntries(found, { onFact: (fact) => addFact(stats, fact) })]).not.toEqual([])
    expect(stats.context).toMatchObject({ tokens: 37_614 })
  })

  test('waits for it while it may still come [C2]', () => {
    expect(ledger(sessionEntries(fileAt(file(0), 'claude'))).counts.assistantMessages).toBe(0)
  })
})

describe('the title of a session', () => {
  test.each<[AgentName, Record<string, unknown>[]]>([
    ['pi', [piSays('/mode'), piSays('Port the page')]],
    ['codex', [codexSays('# Context from my IDE setup:\n\n## My request for Codex:\nPort the page')]],
    [
      'codex',
      [codexSays('<environment_context>\n  <cwd>/r</cwd>\n</environment_context>'), codexSays('Port the page')],
    ],
    [
      'claude',
      ['<ide_opened_file>a.ts</ide_opened_file>', 'Port the page'].map((content, at) => ({
        type: 'user',
        uuid: `u${at}`,
        parentUuid: at === 0 ? null : 'u0',
        message: { role: 'user', content },
      })),
    ],
  ])('of %s is what its user asked for, not what its program added [C2]', (agent, lines) => {
    expect(titleOf(factsOf(agent, lines))).toBe('Port the page')
  })
})

test('a prompt for Codex that begins with an element of HTML is the user’s [H14]', () => {
  const said = factsOf('codex', [codexSays('<select> is too narrow'), codexSays('<turn_aborted>x</turn_aborted>')])
    .flatMap((fact) => (fact.type === 'said' && fact.draft.kind === 'message' ? [fact.draft] : []))
    .map(({ meta }) => meta?.isMeta)
  expect(said).toEqual([undefined, true])
})

test('what Baton asks of Codex begins a turn as the words of a person do [C3, C6]', () => {
  const prompts = [
    'Create handoff document now - context at 87%. Write it to a.md',
    'Read handoff from a.md and resume work',
  ]
  const turns = factsOf('codex', prompts.map(codexSays)).filter(({ type }) => type === 'turn')
  expect(turns).toMatchObject([{ to: 'asked' }, { to: 'asked' }])
})

describe('the end of a turn', () => {
  const at = '2026-01-01T00:00:00Z'
  const claudeSays = (uuid: string, text: string, stop_reason: string | null) => ({
    type: 'assistant',
    uuid,
    parentUuid: null,
    sessionId: 's',
    timestamp: at,
    message: { id: uuid, role: 'assistant', model: 'm', stop_reason, content: [{ type: 'text', text }] },
  })
  const claudeHears = (uuid: string, content: string) => ({
    type: 'user',
    uuid,
    parentUuid: null,
    sessionId: 's',
    timestamp: at,
    message: { role: 'user', content },
  })
  const ends = (agent: AgentName, lines: readonly Record<string, unknown>[]) => {
    const builder = new EntryBuilder(1)
    return factsOf(agent, lines)
      .flatMap((fact) => builder.drafts(fact))
      .flatMap(({ payload }) => {
        const { name, data } = payload as { name?: string; data?: { status?: string } }
        return name === 'turn_ended' ? [data?.status] : []
      })
  }

  test.each<[string, AgentName, Record<string, unknown>[], string[]]>([
    ['a reply that ends it', 'claude', [claudeSays('a', 'Done.', 'end_turn')], ['done']],
    ['a reply that may go on', 'claude', [claudeSays('a', 'I look.', null)], []],
    [
      'an interruption by the person',
      'claude',
      [claudeSays('a', 'I look.', null), claudeHears('b', '[Request interrupted by user]')],
      ['aborted'],
    ],
    [
      'an error of the provider',
      'claude',
      [{ ...claudeSays('a', 'API Error: 529', null), isApiErrorMessage: true }],
      ['failed'],
    ],
    [
      'two turns of Codex, the second one aborted',
      'codex',
      [
        { type: 'event_msg', timestamp: at, payload: { type: 'task_started' } },
        { type: 'event_msg', timestamp: at, payload: { type: 'task_complete' } },
        { type: 'event_msg', timestamp: at, payload: { type: 'task_started' } },
        { type: 'event_msg', timestamp: at, payload: { type: 'turn_aborted', reason: 'interrupted' } },
      ],
      ['done', 'aborted'],
    ],
    [
      'a turn of pi that the person aborted',
      'pi',
      [{ type: 'message', message: { role: 'assistant', content: [], stopReason: 'aborted' } }],
      ['aborted'],
    ],
  ])('%s is on the tape once [H13]', (_, agent, lines, expected) => {
    expect(ends(agent, lines)).toEqual(expected)
  })

  test('what the person typed while the agent worked is on the tape as their words [H9]', () => {
    const line = {
      type: 'attachment',
      uuid: 'q',
      sessionId: 's',
      timestamp: at,
      attachment: { type: 'queued_command', prompt: 'and keep the old flag' },
    }
    const builder = new EntryBuilder(1)
    const drafts = factsOf('claude', [line]).flatMap((fact) => builder.drafts(fact))
    expect(drafts.map(({ payload }) => payload)).toContainEqual({ role: 'user', content: 'and keep the old flag' })
  })

  test('so is what left the queue of an older version within the turn, once, and nothing else of the queue [H9]', () => {
    const queue = (operation: string, content?: string) => ({
      type: 'queue-operation',
      operation,
      sessionId: 's',
      timestamp: at,
      ...(content !== undefined && { content }),
    })
    const attachment = { type: 'queued_command', prompt: 'und bitte mit Tests' }
    const facts = factsOf('claude', [
      queue('enqueue', 'mit Tsets'),
      queue('popAll', 'mit Tsets'),
      queue('enqueue', 'und bitte mit Tests'),
      queue('remove'),
      { type: 'attachment', uuid: 'q', sessionId: 's', timestamp: at, attachment },
      queue('enqueue', 'a prompt of its own'),
      queue('dequeue'),
    ])
    expect(facts.flatMap((fact) => (fact.type === 'queued' ? [fact.text] : []))).toEqual(['und bitte mit Tests'])
  })
})
