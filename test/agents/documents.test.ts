// Sessions that are one JSON document, under whatever name, and lines that lack their newline.

import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { opencode } from '../../src/agents/opencode/agent.ts'
import { sessionEntries } from '../../src/transcripts/index.ts'
import { fileAt } from '../../src/transcripts/resolve.ts'
import { TranscriptReader } from '../../src/transcripts/transcript-reader.ts'
import { agentNamed, type Fact } from '../../src/agents/index.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { homeWith, sessionsIn } from '../transcripts/home.ts'

test('what `opencode export` prints is the same session as in the database [C2]', () => {
  const session = sessionsIn(homeWith('opencode'), 'opencode').at(-1)!
  const [about, ...messages] = [...opencode.records!(session)].map(({ value }) => value as Record<string, object>)
  const { parent_id: parentID, ...info } = about!.session as Record<string, unknown>
  const exported = {
    info: { ...info, parentID },
    messages: messages.map(({ id, message, parts }) => ({ info: { ...message, id }, parts })),
  }
  const file = path.join(temporaryFolder(), 'exported.jsonl')
  for (const text of [JSON.stringify(exported, null, 2), JSON.stringify(exported)]) {
    fs.writeFileSync(file, text)
    const found = fileAt(file)
    expect(found).toMatchObject({ agent: 'opencode', id: session.id })
    const payloads = (each: typeof found) => [...sessionEntries(each)].map(({ kind, payload }) => ({ kind, payload }))
    expect(payloads(found)).toEqual(payloads(session))
    expect(payloads(found).length).toBeGreaterThan(5)
  }
})

test('a session of Gemini CLI as one document is known by its content [C2]', () => {
  const document = {
    sessionId: '0b7e1c1e-9a3d-4a55-8a43-2f0d8e4c9b10',
    startTime: '2026-03-01T08:00:00.000Z',
    messages: [
      { id: 'm1', timestamp: '2026-03-01T08:00:00.000Z', type: 'user', content: 'Sort the shelves' },
      { id: 'm2', timestamp: '2026-03-01T08:00:04.000Z', type: 'gemini', content: 'Sorted.', model: 'gemini-3-pro' },
    ],
  }
  const file = path.join(temporaryFolder(), 'saved.jsonl')
  for (const indent of [0, 2]) {
    fs.writeFileSync(file, JSON.stringify(document, null, indent))
    const found = fileAt(file)
    expect(found).toMatchObject({ agent: 'gemini', id: document.sessionId })
    const said = [...sessionEntries(found)].filter(({ kind }) => kind === 'message')
    expect(said.map(({ payload }) => payload)).toMatchObject([{ role: 'user' }, { role: 'assistant' }])
  }
})

test('a last line without a newline counts once it is complete, and only once [C2]', () => {
  const file = path.join(temporaryFolder(), 'live.jsonl')
  const line = (n: number) =>
    JSON.stringify({
      type: 'user',
      uuid: `u${n}`,
      parentUuid: n === 1 ? null : `u${n - 1}`,
      sessionId: 's',
      message: { role: 'user', content: `Word ${n} {` },
    })
  fs.writeFileSync(file, `${line(1)}\n${line(2).slice(0, -3)}`)
  const reader = new TranscriptReader(agentNamed('claude'), fileAt(file))
  const read = () => [...reader.steps()].flatMap(({ facts }) => facts).flatMap(wordsOf)
  expect(read()).toEqual(['Word 1 {'])
  fs.appendFileSync(file, line(2).slice(-3))
  expect(read()).toEqual(['Word 2 {'])
  expect(read()).toEqual([])
  fs.appendFileSync(file, `\n${line(3)}\n`)
  expect(read()).toEqual(['Word 3 {'])
  expect(reader.cursor).toMatchObject({ line: 3, offset: fs.statSync(file).size })
  reader.close()
})

function wordsOf(fact: Fact): string[] {
  return fact.type === 'said' && fact.draft.kind === 'message'
    ? [String((fact.draft.payload as { content: unknown }).content)]
    : []
}
