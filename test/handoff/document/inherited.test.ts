import { expect, test } from 'vitest'
import { writeHandoff } from '../../../src/handoff/index.ts'
import { openTape } from '../../../src/tape/index.ts'
import { temporaryStore } from '../../support/workspace.ts'

const ask = (content: string) => ({ kind: 'message', payload: { role: 'user', content } })
const edit = (id: string, path: string) => [
  { kind: 'tool_call', payload: { calls: [{ id, name: 'fs.write', arguments: { path, content: 'x' } }] } },
  { kind: 'tool_result', payload: { results: [{ call_id: id, name: 'fs.write', output: 'ok' }] } },
]

test('what the user said and what was changed before the first handoff is in the tenth document, within its budget [H13]', async () => {
  const tape = await openTape('main', { store: await temporaryStore() })
  await tape.append([
    ask('Build the importer. Never touch the public API.'),
    ...edit('c1', 'src/import.ts'),
    ask('Only use the standard library, whatever comes up.'),
  ])
  await writeHandoff(tape, { budget: 1_500 })
  let last = ''
  for (let n = 2; n <= 10; n++) {
    const talk = { role: 'assistant', content: 'thought about it at length. '.repeat(300) }
    await tape.append([
      ask(`Look at part ${n}.`),
      ...edit(`c${n}`, `src/part-${n}.ts`),
      { kind: 'message', payload: talk },
    ])
    last = (await writeHandoff(tape, { budget: 1_500 })).markdown
  }
  expect(last).toContain('Build the importer. Never touch the public API.')
  expect(last).toContain('Only use the standard library, whatever comes up.')
  for (const file of ['import.ts', 'part-2.ts', 'part-10.ts']) expect(last).toContain(file)
  expect(last.match(/> User/g)!.length).toBeLessThan(20)
  // The first request still names the entry that it is in.
  expect(last).toMatch(/User \[#2\]: Build the importer/)
})
