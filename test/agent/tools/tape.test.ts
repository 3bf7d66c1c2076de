import { zodSchema } from 'ai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  agentSpawn,
  blobRead,
  codingTools,
  tapeAnchors,
  tapeFork,
  tapeHandoff,
  tapeInfo,
  tapeSearch,
} from '../../../src/agent/tools/index.ts'
import type { ChildRequest } from '../../../src/agent/tools/tool.ts'
import { collect, temporaryFolder } from '../../support/workspace.ts'
import { bench } from './calling.ts'

describe('tape.handoff', () => {
  it('has the schema of the seed [T20]', () => {
    expect(tapeHandoff.description).toMatch(/^Create tape anchor with optional summary and next_steps state/)
    expect(zodSchema(tapeHandoff.input).jsonSchema).toMatchObject({
      type: 'object',
      properties: {
        name: { type: 'string', description: "Anchor name (e.g., 'phase-1')" },
        summary: { type: 'string', description: 'Progress summary' },
        next_steps: { type: 'string', description: 'Next steps to take' },
      },
      required: ['name'],
    })
  })

  it('opens a context that begins with its state and holds the call with its result [T20]', async () => {
    const { tape, call } = await bench(temporaryFolder())
    await tape.record({ role: 'user', content: 'long ago' })
    const { output } = await call(tapeHandoff, { name: 'phase-1', summary: 'schema done', next_steps: 'routes' })
    await tape.append([
      { kind: 'tool_result', payload: { results: [{ call_id: 'call-1', name: 'tape.handoff', output }] } },
    ])
    expect(await tape.anchors({ limit: 1 })).toMatchObject([
      { name: 'phase-1', state: { summary: 'schema done', next_steps: 'routes' }, from: 3 },
    ])
    const [anchor, event] = await collect(tape.entries({ kinds: ['anchor', 'event'], after: 3 }))
    expect([anchor, event]).toMatchObject([{ meta: { run_id: 'run-1' } }, { payload: { name: 'handoff' } }])
    const { messages } = await tape.context()
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(JSON.stringify(messages[0])).toContain('schema done')
    expect(JSON.stringify(messages)).not.toContain('long ago')
    expect(messages[2]).toMatchObject({ tool_call_id: 'call-1', content: expect.stringContaining('phase-1') })
  })

  it('refuses a handoff without a name [T20]', () => {
    expect(tapeHandoff.input.safeParse({ summary: 'x' }).success).toBe(false)
    expect(tapeHandoff.input.safeParse({ name: '' }).success).toBe(false)
  })
})

it('anchors, search and info tell where the work stands [T20]', async () => {
  const { tape, call } = await bench(temporaryFolder())
  await tape.record({ role: 'user', content: 'The Blue Whale is the largest' })
  await tape.handoff('animals', { state: { seen: 1 } })
  await tape.handoff('plants', { state: { seen: 2 } })
  expect((await call(tapeAnchors, { limit: 2 })).output).toMatchObject([
    { name: 'animals', state: { seen: 1 } },
    { name: 'plants', state: { seen: 2 } },
  ])
  // What is behind a handoff is found; the call that searches for it is not.
  expect((await call(tapeSearch, { query: 'blue whale' })).output).toMatchObject([
    { id: 2, kind: 'message', excerpt: expect.stringContaining('The Blue Whale is'), ref: tape.uri({ entry: 2 }) },
  ])
  expect((await call(tapeSearch, { query: 'whale', kinds: ['error'] })).output).toEqual([])
  expect((await call(tapeInfo, {})).output).toMatchObject({ tape: 'main', lastAnchor: 'plants', anchors: 3 })
})

it('a fork is a tape of its own with an intention [T20]', async () => {
  const { tape, call } = await bench(temporaryFolder())
  await tape.record({ role: 'user', content: 'hello' })
  const { output } = await call(tapeFork, { name: 'side', next_steps: 'look into it', trigger_on_complete: 'notify' })
  expect(output).toMatchObject({ tape: 'side', ref: expect.stringMatching(/^tape:\/\/.*\/side\/anchor\/intention$/) })
  expect(await tape.store.anchors('side', { limit: 1 })).toMatchObject([
    { name: 'intention', state: { next_steps: 'look into it', trigger_on_complete: 'notify' } },
  ])
  await expect(call(tapeFork, { name: 'side' })).rejects.toMatchObject({ code: 'conflict' })
  await expect(call(tapeFork, { name: 'task/x' })).rejects.toThrow("Baton's own")
})

describe('blob.read', () => {
  it('pages of any size are together what was stored, byte for byte [T25]', async () => {
    const { tape, call } = await bench(temporaryFolder())
    const text = fc.string({ unit: 'grapheme', maxLength: 60 }).map((given) => Buffer.from(given))
    const bytes = fc.uint8Array({ maxLength: 60 }).map((given) => Buffer.from(given))
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, bytes), fc.integer({ min: 1, max: 20 }), async (content, length) => {
        const { sha256 } = await tape.store.putBlob(content)
        const pages: Buffer[] = []
        for (let offset: number | undefined = 0; offset !== undefined;) {
          const { output } = await call(blobRead, { sha256, offset, length })
          const page = output as { content: string; encoding: BufferEncoding; next_offset?: number; bytes: number }
          pages.push(Buffer.from(page.content, page.encoding))
          expect(page.bytes).toBe(pages.at(-1)!.length)
          offset = page.next_offset
        }
        expect(Buffer.concat(pages).equals(content)).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it('an unknown or malformed name is refused', async () => {
    const { call } = await bench(temporaryFolder())
    await expect(call(blobRead, { sha256: 'a'.repeat(64) })).rejects.toThrow('There is no blob')
    await expect(call(blobRead, { sha256: '../../etc/passwd' })).rejects.toThrow('64 hexadecimal digits')
  })
})

describe('agent.spawn', () => {
  it('runs a child on a fork, tells the parent once and brings back its words [T14]', async () => {
    const seen: ChildRequest[] = []
    const { tape, call } = await bench(temporaryFolder(), async (child) => {
      seen.push(child)
      await child.tape.record({ role: 'assistant', content: 'found it' })
      await child.tape.handoff('found', { state: { line: 45 } })
      return { status: 'done', text: 'The bug is on line 45.' }
    })
    await tape.record({ role: 'user', content: 'We look for a bug' })
    const { output, isError } = await call(agentSpawn, { task: 'Find the bug', name: 'hunt', merge: true })
    expect(isError).toBeUndefined()
    expect(output).toMatchObject({ tape: 'hunt', status: 'done', text: 'The bug is on line 45.', last_anchor: 'found' })
    expect(seen[0]!.prompt).toContain('Find the bug')
    const { messages } = await seen[0]!.tape.context({ anchor: 'intention' })
    expect(JSON.stringify(messages)).toContain('We look for a bug')
    const told = (await collect(tape.entries({ kinds: ['event'] }))).filter(
      ({ payload }) => (payload as { name: string }).name === 'child_completed',
    )
    expect(told).toMatchObject([{ payload: { data: { child: 'hunt', anchor: 'found', state: { line: 45 } } } }])
    expect(await seen[0]!.tape.complete()).toBe(false)
    // On the tape, for search and the ledger, but not among the parent's own words.
    expect(await tape.search('found it', { kinds: ['message'] })).toHaveLength(1)
    expect(JSON.stringify(await tape.context())).not.toContain('found it')
  })

  it('a child that failed is neither merged nor told of as complete [T14]', async () => {
    const { tape, call } = await bench(temporaryFolder(), async () => ({
      status: 'failed',
      text: '',
      error: 'no model',
    }))
    const { output, isError } = await call(agentSpawn, { task: 'x', merge: true })
    expect(isError).toBe(true)
    expect(output).toMatchObject({ status: 'failed', error: 'no model', tape: expect.stringMatching(/^main\//) })
    expect((await collect(tape.entries({ kinds: ['event'] }))).map(({ payload }) => payload)).toEqual([])
  })

  it('without the means to run a child it says so', async () => {
    const { call } = await bench(temporaryFolder())
    await expect(call(agentSpawn, { task: 'x' })).rejects.toThrow('cannot have children')
  })
})

it('every tool has a name of its own, says what it does and takes an object', () => {
  const tools = codingTools()
  expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length)
  for (const { input, description } of tools) {
    expect(zodSchema(input).jsonSchema).toMatchObject({ type: 'object' })
    expect(description.length).toBeGreaterThan(40)
  }
})
