import { expect, test } from 'vitest'
import { type SectionKey, sectionOf } from '../../../../src/handoff/document/document.ts'
import { writeDocument, writeHandoff } from '../../../../src/handoff/index.ts'
import { openTape } from '../../../../src/tape/index.ts'
import { temporaryStore } from '../../../support/workspace.ts'

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

const summary = `This session is being continued from a previous conversation that ran out of context.

Summary:
1. Primary Request and Intent:
   Move the shop to the new billing engine, in small steps.

2. Key Technical Concepts:
   - Money is in cents

7. Pending Tasks:
   - Migrate the invoices

9. Optional Next Step:
   Run the migration on a copy.

If you need specific details from before compaction, read the full transcript at: /home/me/x.jsonl
Continue the conversation from where it left off without asking the user any further questions.
`

test.each([
  ['numbered', summary],
  [
    'elements',
    '<state_snapshot>\n<overall_goal>\nMove the shop to the new billing engine, in small steps.\n</overall_goal>\n<key_knowledge>\n- Money is in cents\n</key_knowledge>\n<current_plan>\n1. [DONE] Read it\n2. Migrate the invoices\n</current_plan>\n<next_step>\nRun the migration on a copy.\n</next_step>\n</state_snapshot>',
  ],
])(
  'after a compaction the facts of the whole session are told, and what the agent summed up: %s [H11] [H13]',
  async (_, state) => {
    const tape = await openTape('main', { store: await temporaryStore() })
    await tape.append([
      ask('Build the engine. Never touch the prices.'),
      ...edit('c1', 'src/bill.ts'),
      { kind: 'anchor', payload: { name: 'compaction', state: { summary: state } } },
      {
        kind: 'message',
        payload: { role: 'user', content: 'Build the engine. Never touch the prices.' },
        meta: { kept: true },
      },
      { kind: 'message', payload: { role: 'assistant', content: 'I go on:' } },
    ])
    const { document, markdown, ledger } = await writeDocument(tape)
    expect(ledger.instructions).toHaveLength(1)
    expect(markdown).not.toMatch(/without asking|full transcript/)
    expect(markdown).toContain('created src/bill.ts')
    expect(markdown).toContain('- Move the shop to the new billing engine, in small steps. [#5] (claimed)')
    const of = (key: SectionKey) => sectionOf(document, key)!.items.map(({ text }) => text)
    expect(of('pending')).toEqual(['Migrate the invoices'])
    expect(of('context')).toContain('Money is in cents')
    expect(of('next')[0]).toBe('Run the migration on a copy.')
  },
)

test('the state of an anchor is told line by line, not as JSON [H13]', async () => {
  const tape = await openTape('main', { store: await temporaryStore() })
  await tape.append([ask('Build the importer.')])
  const state = { summary: 'Parser done.\nWriter open.', owner: null, limits: { rows: 500 }, ports: [80, { tls: 443 }] }
  await tape.handoff('half', { state })
  await tape.append([ask('Now the writer.')])
  const lines = ['summary:', '  Parser done.', '  Writer open.']
  const { markdown } = await writeDocument(tape)
  for (const line of ['limits:', '  rows: 500', 'ports:', '  - 80', '  - tls: 443']) lines.push(line)
  for (const line of lines) expect(markdown).toContain(line)
  expect(markdown).not.toMatch(/[{"]|owner|null/)
})

test('while a failure of the last document stands, no step says that nothing is open [H13]', async () => {
  const store = await temporaryStore()
  const before = await openTape('before', { store })
  const command = { id: 'c1', name: 'bash', arguments: { command: 'npm test' } }
  await before.append([
    ask('Build the importer.'),
    { kind: 'tool_call', payload: { calls: [command] } },
    {
      kind: 'tool_result',
      payload: {
        results: [{ call_id: 'c1', name: 'bash', output: 'not ok 1 - commas\n\nExit code 1', is_error: true }],
      },
    },
  ])
  const { markdown } = await writeHandoff(before)
  const after = await openTape('after', { store })
  const said = (content: string) => ({ kind: 'message', payload: { role: 'assistant', content } })
  await after.append([
    { kind: 'message', payload: { role: 'user', content: markdown, customType: 'handoff' } },
    ask('What does the importer read?'),
    said('It reads CSV files.'),
  ])
  const open = await writeDocument(after)
  const of = (document: typeof open.document, key: SectionKey) =>
    sectionOf(document, key)!.items.map(({ text }) => text)
  expect(of(open.document, 'failures').join()).toContain('npm test')
  expect(of(open.document, 'next')[0]).toMatch(/^No request is waiting/)
  await after.append([
    { kind: 'tool_call', payload: { calls: [{ ...command, id: 'c2' }] } },
    { kind: 'tool_result', payload: { results: [{ call_id: 'c2', name: 'bash', output: 'ok' }] } },
    said('The tests pass.'),
  ])
  const settled = await writeDocument(after)
  expect(of(settled.document, 'failures')).toEqual(['None'])
  expect(of(settled.document, 'next')[0]).toMatch(/nothing is known to be open/)
})
