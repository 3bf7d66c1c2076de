import fs from 'node:fs'
import path from 'node:path'
import type { LanguageModel, ToolSet } from 'ai'
import { streamText } from 'ai'
import { expect, test } from 'vitest'
import { type Entry, openTape, Tape, writeHandoff } from '../../src/index.ts'
import { collect, temporaryStore } from '../support/workspace.ts'

/** What an entry says, without a cast: that this compiles is half of the test. */
function said(entry: Entry): string {
  switch (entry.kind) {
    case 'message':
      return `${entry.payload.role} ${typeof entry.payload.content}`
    case 'system':
      return entry.payload.content
    case 'tool_call':
      return entry.payload.calls.map((call) => call.name).join()
    case 'tool_result':
      return entry.payload.results.map((result) => result.call_id).join()
    case 'anchor':
      return `${entry.payload.name} ${entry.payload.from ?? 'here'}`
    case 'event':
      return entry.payload.name
    case 'error':
      return entry.payload.message
    default: {
      const kind: string = entry.kind
      const payload: unknown = entry.payload
      return `${kind} ${JSON.stringify(payload)}`
    }
  }
}

test('an entry is typed by its kind, and one of an unknown kind is kept [T1]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  await tape.append([
    { kind: 'message', payload: { role: 'user', content: 'hello' } },
    { kind: 'system', payload: { content: 'be brief' } },
    { kind: 'tool_call', payload: { calls: [{ id: 'c1', name: 'look' }] } },
    { kind: 'tool_result', payload: { results: [{ call_id: 'c1', output: 'blue' }] } },
    { kind: 'error', payload: { kind: 'timeout', message: 'too slow' } },
    { kind: 'plan', payload: { steps: 2 } },
  ])
  await tape.handoff('phase', { from: 3 })
  expect((await collect(tape.entries())).map(said)).toEqual([
    'user string',
    'be brief',
    'look',
    'c1',
    'too slow',
    'plan {"steps":2}',
    'phase 3',
    'handoff',
  ])
})

/** The example of the README, as it stands there. */
export async function example(input: string, model: LanguageModel, tools: ToolSet): Promise<void> {
  const tape = await openTape('support:42') // finds or creates the workspace
  await tape.record({ role: 'user', content: input })

  const { system, messages } = await tape.context({ format: 'ai-sdk', maxTokens: 120_000 })
  const run = streamText({ model, tools, system, messages, onStepFinish: (step) => tape.recordStep(step) })
  await run.consumeStream()

  if ((await tape.info()).contextTokens > 100_000)
    await writeHandoff(tape, { goal: 'finish refunds', model, budget: 2_000 })

  for await (const entry of tape.entries())
    if (entry.kind === 'tool_call') console.log(entry.payload.calls.map((call) => call.name)) // typed by its kind
}

test('the example of the README compiles without a cast', () => {
  const root = path.join(import.meta.dirname, '../..')
  const lines = (text: string) => text.split('\n').map((line) => line.trim())
  const readme = fs.readFileSync(path.join(root, 'README.md'), 'utf8')
  const block = /import \{ openTape, writeHandoff \} from '@baton\/baton'\n\n(.*?)\n```/s.exec(readme)![1]!
  const here = lines(fs.readFileSync(import.meta.filename, 'utf8')).join('\n')
  expect(here).toContain(lines(block).join('\n'))
})
