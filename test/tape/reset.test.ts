import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { entriesAt, formatUri, openTape, parseUri, resolve } from '../../src/tape/index.ts'
import { collect, isOnFiles, temporaryFolder, temporaryStore } from '../support/workspace.ts'

test('a reset archives the entries, starts afresh naming the archive, and counts on [T16]', async () => {
  const folder = path.join(temporaryFolder(), '.baton')
  const tape = await openTape('telegram:123', { store: await temporaryStore(folder) })
  await tape.record({ role: 'user', content: 'old' })
  const archive = await tape.reset()
  expect(archive).toMatchObject({ firstId: 1, lastId: 2 })
  expect(archive.ref).toMatch(isOnFiles() ? /^tape\/archived\/telegram%3A123_.+\.jsonl$/ : /^archived\/telegram%3A123_/)
  if (isOnFiles()) expect(fs.existsSync(path.join(folder, archive.ref))).toBe(true)
  expect(await collect(tape.entries())).toMatchObject([
    { id: 3, payload: { name: 'session/start', state: { owner: 'human', archived: archive.ref } } },
  ])
  const second = await tape.reset()
  expect(second.ref).not.toBe(archive.ref)
  expect((await tape.record({ role: 'user', content: 'new' })).id).toBe(5)
  expect((await tape.context({ full: true })).messages).toEqual([{ role: 'user', content: 'new' }])
  expect(await tape.purge()).toHaveLength(2)
  expect(fs.existsSync(path.join(folder, archive.ref))).toBe(false)
  expect(await tape.purge()).toEqual([])
  expect((await tape.info()).entries).toBe(2)
})

test('references parse and print, whatever the names hold [T18]', () => {
  for (const tape of ['main', 'telegram:123', 'a/b c', 'ü#1@x', '100%']) {
    const entry = { workspace: 'w1', tape, place: { type: 'entry', id: 45 } } as const
    const anchor = { workspace: 'w1', tape, place: { type: 'anchor', name: 'phase/x y?#' } } as const
    expect(parseUri(formatUri(entry))).toEqual(entry)
    expect(parseUri(formatUri(anchor))).toEqual(anchor)
  }
  expect(formatUri({ workspace: 'w', tape: 'telegram:123', place: { type: 'entry', id: 45 } })).toBe(
    'tape://w/telegram%3A123/entry/45',
  )
  for (const bad of [
    'tape://w/t/entry/0',
    'tape://w/t/entry/x',
    'tape://w/t',
    'http://w/t/entry/1',
    'tape://w/%/entry/1',
  ]) {
    expect(() => parseUri(bad)).toThrow('is not a tape reference')
  }
})

test('references resolve on the current tape and in its archives [T18]', async () => {
  const store = await temporaryStore()
  const tape = await openTape('user@host#1', { store })
  await tape.record({ role: 'user', content: 'old words' })
  await tape.handoff('phase/x', { state: { a: 1 } })
  await tape.reset()
  await tape.record({ role: 'user', content: 'new words' })
  const at = async (ref: string) => collect(entriesAt(store, await resolve(store, ref)))
  expect(await at(tape.uri({ entry: 2 }))).toMatchObject([{ payload: { content: 'old words' } }])
  expect(await at(tape.uri({ anchor: 'phase/x' }))).toMatchObject([{ id: 3, payload: { state: { a: 1 } } }])
  expect(await at('user@host#1#6')).toMatchObject([{ payload: { content: 'new words' } }])
  expect(await at('user@host#1@phase/x')).toMatchObject([{ id: 3 }])
  expect((await at('user@host#1#2..6')).map((entry) => entry.id)).toEqual([2, 3, 4, 5, 6])
  expect((await at('user@host#1#5..')).map((entry) => entry.id)).toEqual([5, 6])
  await expect(at('user@host#1#99')).rejects.toMatchObject({ code: 'not_found' })
  await expect(at('user@host#1@phase/y')).rejects.toMatchObject({ code: 'not_found' })
  await expect(at('user@hots#1#2')).rejects.toMatchObject({ code: 'not_found', nearest: ['user@host#1'] })
  await expect(at('nonsense')).rejects.toMatchObject({ code: 'invalid' })
  await expect(at('tape://elsewhere/main/entry/1')).rejects.toMatchObject({ code: 'not_found' })
})
