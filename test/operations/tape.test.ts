import { afterAll, beforeAll, expect, it } from 'vitest'
import { operations } from '../../src/operations/index.ts'
import { callBy, temporaryWorkspace } from './workspace.ts'

let opened: Awaited<ReturnType<typeof temporaryWorkspace>>
beforeAll(async () => {
  opened = await temporaryWorkspace()
})
afterAll(() => opened.close())

const message = (content: string) => ({ kind: 'message', payload: { role: 'user', content } })

it('a tape is written, read in pages, searched, forked and handed over by operations [D2]', async () => {
  const { workspace } = opened
  const call = callBy()
  const append = (tape: string, ...texts: string[]) =>
    operations.tapeAppend.run(workspace, { tape, entries: texts.map(message) }, call)
  expect((await append('main', 'one', 'two', 'three')).entries.map(({ id }) => id)).toEqual([1, 2, 3])

  const first = await operations.tapeRead.run(workspace, { tape: 'main', limit: 2 }, call)
  expect(first).toMatchObject({ entries: [{ id: 1 }, { id: 2 }], next: 2, lastId: 3 })
  const rest = await operations.tapeRead.run(workspace, { tape: 'main', limit: 2, after: first.next }, call)
  expect(rest).toMatchObject({ entries: [{ id: 3 }], next: undefined })

  const { hits } = await operations.tapeSearch.run(workspace, { tape: 'main', text: 'TWO', limit: 5 }, call)
  expect(hits.map(({ entry }) => entry.id)).toEqual([2])

  await operations.tapeHandoff.run(workspace, { tape: 'main', name: 'next', state: { summary: 'half done' } }, call)
  await append('main', 'four')
  const context = await operations.tapeContext.run(workspace, { tape: 'main', format: 'text' }, call)
  expect(context.messages).toContain('half done')
  expect(context.messages).not.toContain('two')

  await operations.tapeFork.run(workspace, { tape: 'main', child: 'side', from: 'next' }, call)
  await append('side', 'five')
  expect(await operations.tapeMerge.run(workspace, { tape: 'side' }, call)).toMatchObject({ parent: 'main', merged: 1 })
  expect((await operations.lineageShow.run(workspace, { tape: 'side' }, call)).ancestors).toEqual(['main'])
  const shown = await operations.referenceShow.run(workspace, { ref: 'main#2..4', limit: 2 }, call)
  expect(shown).toMatchObject({ entries: [{ id: 2 }, { id: 3 }], more: true })
  expect(await operations.workspaceInfo.run(workspace, {}, call)).toMatchObject({ tapes: 2 })
})

it('a tape that belongs to an agent takes entries from that agent only', async () => {
  const { workspace } = opened
  await workspace.store.append('owned', [
    { kind: 'event', payload: { name: 'owner', data: { agent: 'ada' } }, meta: { key: 'owner' } },
  ])
  const entries = [message('mine')]
  const stranger = operations.tapeAppend.run(workspace, { tape: 'owned', entries }, callBy('bob'))
  await expect(stranger).rejects.toMatchObject({ code: 'refused' })
  await operations.tapeAppend.run(workspace, { tape: 'owned', entries, as: 'ada' }, callBy('bob'))
})

it('a fork copies the documents of its parent, and nothing was handed over again by that [W1, W3]', async () => {
  const { workspace } = opened
  const call = callBy()
  await operations.tapeAppend.run(workspace, { tape: 'work', entries: [message('Build the parser')] }, call)
  const { document } = await operations.documentWrite.run(workspace, { tape: 'work' }, call)
  await operations.tapeFork.run(workspace, { tape: 'work', child: 'work-copy' }, call)
  const { documents: ofFork } = await operations.documentList.run(workspace, { tape: 'work-copy', limit: 5 }, call)
  expect(ofFork).toHaveLength(1)
  const { documents } = await operations.documentList.run(workspace, { limit: 50 }, call)
  expect(documents.filter(({ tape }) => tape.startsWith('work'))).toMatchObject([{ tape: 'work', id: document.id }])
})

it('the documents of a tape are listed with those of the tapes it came from [W3]', async () => {
  const { workspace } = opened
  const call = callBy()
  const { documents } = await operations.documentList.run(
    workspace,
    { tape: 'work-copy', lineage: true, limit: 5 },
    call,
  )
  expect(documents.map(({ tape }) => tape).sort()).toEqual(['work', 'work-copy'])
})

it('reading a session of yesterday is no work of today [W1]', async () => {
  const { workspace } = opened
  const note = { kind: 'event', payload: { name: 'import', data: { agent: 'claude' } }, meta: { key: 'import' } }
  const old = { ...message('Yesterday'), date: new Date(Date.now() - 86_400_000).toISOString() }
  await workspace.store.append('claude:old', [old, note])
  await workspace.store.append('claude:new', [message('Now'), note])
  const { tapes } = await operations.activityShow.run(workspace, { hours: 6, buckets: 6 }, callBy())
  const counts = new Map(tapes.map(({ tape, counts }) => [tape, counts.reduce((sum, count) => sum + count, 0)]))
  expect(counts.get('claude:old')).toBeUndefined()
  expect(counts.get('claude:new')).toBe(1)
})
