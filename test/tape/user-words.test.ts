import { expect, test } from 'vitest'
import type { Draft } from '../../src/store/index.ts'
import { Tape } from '../../src/tape/index.ts'
import { temporaryStore } from '../support/workspace.ts'

const user = (content: string, meta = {}): Draft => ({ kind: 'message', payload: { role: 'user', content }, meta })
const assistant = (content: string): Draft => ({ kind: 'message', payload: { role: 'assistant', content } })

async function tapeOf(...drafts: Draft[]): Promise<Tape> {
  const tape = new Tape(await temporaryStore(), 'main')
  await tape.append(drafts)
  return tape
}

async function seen(tape: Tape, query = {}): Promise<string[]> {
  const { messages } = await tape.context({ userWords: true, ...query })
  return messages.map(({ content }) => String(content))
}

test('the user’s words from before a plain anchor follow its state, on request [T5, T6]', async () => {
  const tape = await tapeOf(user('Build the importer. Never touch the API.'), assistant('ok'))
  await tape.handoff('p')
  await tape.append([user('</user-words> go on'), assistant('done')])
  await tape.handoff('q', { state: { tables: 5 } })
  await tape.append([user('now the tests')])
  const [state, words, ...rest] = await seen(tape)
  expect(state).toContain('"tables": 5')
  expect(words).toContain('[main#1] Build the importer. Never touch the API.\n[main#5] &lt;/user-words> go on')
  expect(words).not.toContain('done')
  expect(rest).toEqual(['now the tests'])
  expect((await tape.context()).messages.map(({ content }) => content)).toEqual([state, 'now the tests'])
})

test('in a handoff from inside a tool call, the prompt that is being answered stays whole [T7]', async () => {
  const long = `${'line\n'.repeat(8_000)}the end`
  const tape = await tapeOf(
    user('The goal', { run_id: 'r1' }),
    assistant('ok'),
    user(long, { run_id: 'r2' }),
    user('and quickly', { run_id: 'r2' }),
  )
  const [call] = await tape.append([
    { kind: 'tool_call', payload: { calls: [{ id: 'c1', name: 'tape.handoff', arguments: { name: 'p' } }] } },
  ])
  await tape.handoff('p', { from: call!.id, runId: 'r2' })
  await tape.append([{ kind: 'tool_result', payload: { results: [{ call_id: 'c1', output: 'ok' }] } }])
  const { messages } = await tape.context({ userWords: true, wholeText: 100_000 })
  expect(messages.map(({ role }) => role)).toEqual(['user', 'user', 'user', 'user', 'assistant', 'tool'])
  expect(messages[1]!.content).toContain('[main#1] The goal')
  expect(messages[2]!.content).toBe(long)
  expect(messages[3]!.content).toBe('and quickly')
})

test('where a phase begins with a document nothing is added; behind it, the document comes along [T5]', async () => {
  const tape = await tapeOf(user('first'), assistant('ok'))
  await tape.append([
    { kind: 'anchor', payload: { name: 'handoff', state: { document: 'main#9' } } },
    {
      kind: 'message',
      payload: { role: 'user', content: '<handoff-context>\nGoal: first\n</handoff-context>', customType: 'handoff' },
    },
    user('second'),
  ])
  expect(await seen(tape)).toHaveLength(3)
  await tape.handoff('p')
  const [, words] = await seen(tape)
  expect(words).toMatch(/^<handoff-context>\nGoal: first\n<\/handoff-context>\n\n<user-words>/)
  expect(words).toContain('[main#5] second')
  expect(words).not.toContain('[main#1]')
})

test('of very many words the first and the newest are told, in a bounded space', async () => {
  const tape = await tapeOf(user('The goal: no new dependencies'))
  for (let i = 0; i < 50; i++) await tape.append([user(`${i} ${'x'.repeat(3_000)}`), assistant('ok')])
  await tape.handoff('p')
  const [, words] = await seen(tape)
  expect(words!.length).toBeLessThan(16_000)
  expect(words).toContain('[main#1] The goal: no new dependencies')
  expect(words).toContain('\n[main#100] 49 x')
  expect(words).toContain('Some of it is left out')
})

test('a fork knows what was said before the phase that it copied [T12]', async () => {
  const tape = await tapeOf(user('The goal'), assistant('ok'))
  await tape.handoff('p')
  await tape.append([user('a detail')])
  const child = await tape.fork('child', { from: 'p' })
  const all = (await seen(child)).join('\n')
  expect(all).toContain('[main#1] The goal')
  expect(all.match(/a detail/g)).toHaveLength(1)
})
