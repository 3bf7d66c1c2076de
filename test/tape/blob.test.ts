import { expect, test } from 'vitest'
import { type BlobPart, exportTape, importTape, readEdges, Tape } from '../../src/tape/index.ts'
import { collect, temporaryStore } from '../support/workspace.ts'

const emoji = '🦀🌊漢字 '.repeat(8_000)

test('large content is stored once, previewed in the context, and can be paged byte for byte [T25]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  const result = { kind: 'tool_result', payload: { results: [{ call_id: 'c', name: 'bash', output: emoji }] } }
  await tape.append([{ kind: 'tool_call', payload: { calls: [{ id: 'c', name: 'bash', arguments: {} }] } }, result])
  await tape.record({ role: 'user', content: emoji })
  const [, stored] = await collect(tape.entries())
  const { output } = (stored!.payload as { results: [{ output: BlobPart }] }).results[0]
  expect(output).toMatchObject({ type: 'blob', bytes: Buffer.byteLength(emoji) })
  expect((await tape.store.contents()).blobs).toEqual([output.sha256])
  const { messages } = await tape.context()
  const shown = String(messages[2]!.content)
  expect(shown.length).toBeLessThan(2_000)
  expect(shown).toContain(`baton show blob:${output.sha256}`)
  expect(shown).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/)
  const pages: Buffer[] = []
  for (let start = 0; start < output.bytes; start += 10_007)
    pages.push(await tape.readBlob(output.sha256, { start, end: start + 10_007 }))
  expect(Buffer.concat(pages).toString()).toBe(emoji)
  expect((await tape.readBlob(output.sha256, { start: output.bytes + 5 })).length).toBe(0)
  await expect(tape.readBlob('0'.repeat(64))).rejects.toMatchObject({ code: 'not_found' })
  await expect(tape.readBlob('../../etc/passwd')).rejects.toMatchObject({ code: 'invalid' })
})

test('large images leave the line and come back whole in the context [T1, T25]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  const data = Buffer.alloc(90_000, 7).toString('base64')
  const entry = await tape.record({
    role: 'user',
    content: [
      { type: 'text', text: 'look' },
      { type: 'image', mediaType: 'image/png', data },
    ],
  })
  expect(JSON.stringify(entry).length).toBeLessThan(1_000)
  expect((await tape.context({ format: 'anthropic' })).messages[0]!.content[1]).toEqual({
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data },
  })
})

test('large JSON output is kept as it was', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  const output = { rows: Array.from({ length: 3_000 }, (_, i) => ({ i, name: `row ${i}` })) }
  const [entry] = await tape.append([{ kind: 'tool_result', payload: { results: [{ call_id: 'c', output }] } }])
  const blob = (entry!.payload as { results: [{ output: BlobPart }] }).results[0].output
  expect(JSON.parse((await tape.readBlob(blob.sha256)).toString())).toEqual(output)
})

test('an export with its blobs becomes the same tape elsewhere, recorded as an import [T13]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  await tape.record({ role: 'user', content: emoji })
  await tape.reset()
  await tape.record({ role: 'user', content: emoji })
  await tape.append([{ kind: 'x', payload: [1], odd: true }])
  await tape.handoff('kept', { state: 1, from: 3 })
  const lines = await collect(exportTape(tape.store, 'main'))
  const other = await temporaryStore()
  await importTape(other, 'copy', lines, 'file.jsonl')
  const before = await collect(tape.entries())
  const after = await collect(new Tape(other, 'copy').entries())
  expect(after).toEqual(
    before.map((entry, i) => ({
      ...entry,
      id: i + 1,
      ...(entry.kind === 'anchor' && i > 0 ? { payload: { name: 'kept', state: 1, from: 2 } } : {}),
    })),
  )
  expect((await new Tape(other, 'copy').context()).messages).toHaveLength(2)
  expect(await readEdges(other)).toMatchObject([{ parent: 'file.jsonl', child: 'copy', how: 'import' }])
  await expect(importTape(other, 'copy', lines, 'again')).rejects.toMatchObject({ code: 'conflict' })
  await expect(importTape(other, 'bad', [lines[0]!, '{"kind":'], 'x')).rejects.toThrow('Line 2 is not JSON')
  expect(await other.info('bad')).toBeUndefined()
})
