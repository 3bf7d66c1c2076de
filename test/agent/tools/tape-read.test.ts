import { expect, it } from 'vitest'
import { blobRead, tapeRead, tapeSearch } from '../../../src/agent/tools/index.ts'
import { handoffSession, writeHandoff } from '../../../src/handoff/index.ts'
import { Tape } from '../../../src/tape/index.ts'
import { temporaryFolder } from '../../support/workspace.ts'
import { bench } from './calling.ts'

const edit = (i: number) => [
  {
    kind: 'tool_call',
    payload: {
      calls: [{ id: `e${i}`, name: 'fs.write', arguments: { path: `src/part-${i}.ts`, content: 'export {}' } }],
    },
  },
  { kind: 'tool_result', payload: { results: [{ call_id: `e${i}`, name: 'fs.write', output: 'ok' }] } },
]

it('reads an entry, a range, an anchor and a blob, as each is printed [T18, T20, T25]', async () => {
  const { tape, text, call } = await bench(temporaryFolder())
  await tape.record({ role: 'user', content: 'Build the importer' })
  await tape.handoff('phase/1', { state: { tables: 5 } })
  await tape.append([
    {
      kind: 'tool_result',
      payload: { results: [{ call_id: 'x', output: `${'row\n'.repeat(9_000)}needle${'row\n'.repeat(9_000)}` }] },
    },
  ])
  for (const ref of ['#2', '2', 'main#2', tape.uri({ entry: 2 }), 'baton show main#2', "$ baton show 'main#2'"])
    expect(await text(tapeRead, { ref })).toContain('Build the importer')
  expect(await text(tapeRead, { ref: 'main@phase/1' })).toContain('"tables":5')
  expect(await text(tapeRead, { ref: '#2..3' })).toMatch(/main#2 message .*\n.*\n\nmain#3 anchor/)
  const printed = /baton show blob:[0-9a-f]{64} --offset 0 --length 8000/.exec(
    JSON.stringify((await tape.context()).messages),
  )![0]
  expect((await call(tapeRead, { ref: printed })).output).toMatchObject({ offset: 0, bytes: 8_000, next_offset: 8_000 })
  const found = (await call(tapeSearch, { query: 'needle' })).output as {
    ref: string
    blob: { sha256: string; offset: number }
  }[]
  expect((await call(blobRead, found[0]!.blob)).output).toMatchObject({
    content: expect.stringContaining('needle') as string,
  })
  await expect(text(tapeRead, { ref: 'main#99' })).rejects.toMatchObject({ code: 'not_found' })
  await expect(text(tapeRead, { ref: 'nonsense' })).rejects.toMatchObject({ code: 'invalid' })
})

it('a long range and a long entry come in pages that miss nothing [T20]', async () => {
  const { tape, text } = await bench(temporaryFolder())
  for (let i = 0; i < 20; i++) await tape.record({ role: 'user', content: `${i}: ${'word '.repeat(600)}end of ${i}` })
  let seen = ''
  for (let ref: string | undefined = '#1..21'; ref !== undefined;) {
    const shown = await text(tapeRead, { ref })
    expect(shown.length).toBeLessThan(25_000)
    seen += shown
    ref = /tape\.read ref=(\S+)\]/.exec(shown)?.[1]
  }
  for (let i = 0; i < 20; i++) expect(seen).toContain(`end of ${i}`)
  const { id } = await tape.record({ role: 'user', content: `${'x'.repeat(30_000)}END` })
  const first = await text(tapeRead, { ref: `#${id}` })
  const offset = Number(/offset=(\d+)/.exec(first)![1])
  expect(await text(tapeRead, { ref: `#${id}`, offset })).toContain('END')
})

it('every reference that a document prints can be followed, from this tape and from the next [H13, T20]', async () => {
  const { tape, text, call } = await bench(temporaryFolder())
  await tape.record({ role: 'user', content: 'Build the importer. Never touch the public API.' })
  for (let i = 0; i < 40; i++) await tape.append(edit(i))
  await tape.record({ role: 'assistant', content: 'Forty parts are there.' })
  const { markdown } = await writeHandoff(tape, { budget: 600 })
  const commands = [...markdown.matchAll(/baton show [^\n`\])]+/g)].map(([command]) => command.trim())
  expect(commands.length).toBeGreaterThan(0)
  await handoffSession(tape)
  const next = new Tape(tape.store, 'main-2')
  for (const command of commands) {
    expect(await text(tapeRead, { ref: command })).not.toBe('')
    expect(await text(tapeRead, { ref: command }, { tape: next })).not.toBe('')
  }
  const entries = [...markdown.matchAll(/#(\d+)/g)].map(([, id]) => `main#${id}`)
  for (const ref of new Set(entries)) expect(await text(tapeRead, { ref }, { tape: next })).toContain(ref)
  const files = await call(tapeRead, { ref: '#1..90', facts: 'files' })
  expect(String(files.output)).toContain('src/part-39.ts')
})
