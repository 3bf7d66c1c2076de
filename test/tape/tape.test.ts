import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openTape, Tape } from '../../src/tape/index.ts'
import { collect, isOnFiles, temporaryFolder, temporaryStore } from '../support/workspace.ts'

const user = (content: string) => ({ kind: 'message', payload: { role: 'user', content } })

/** before, a1, task 1, answer 1, a2, task 2. */
async function sample(): Promise<Tape> {
  const tape = new Tape(await temporaryStore(), 'main')
  await tape.append([user('before')])
  await tape.handoff('a1', { state: { n: 1 } })
  await tape.append([user('task 1'), { kind: 'message', payload: { role: 'assistant', content: 'answer 1' } }])
  await tape.handoff('a2', { state: { n: 2 } })
  await tape.append([user('task 2')])
  return tape
}

const texts = (entries: readonly { payload: unknown }[]) =>
  entries.map((entry) => (entry.payload as { content?: string }).content)

test('an option that a tape does not know is refused, so that none is silently without effect [T2]', async () => {
  const tape = await sample()
  const { lastId } = await tape.info()
  await expect(tape.append([user('x')], { expects: 1 } as object)).rejects.toMatchObject({
    code: 'invalid',
    message: 'tape.append has no option "expects"',
    hint: 'Leave it out. Known are expect, durable.',
  })
  await expect(tape.append([user('x')], 1 as never)).rejects.toThrow('The options of tape.append must be an object')
  await expect(tape.context({ max_tokens: 5 } as object)).rejects.toThrow('tape.context has no option "max_tokens"')
  await expect(tape.search('task', { kind: 'message' } as object)).rejects.toThrow('"kind"')
  await expect(tape.handoff('a3', { summary: 'x' } as object)).rejects.toThrow('"summary"')
  await expect(openTape('main', { folder: '.' } as object)).rejects.toThrow('"folder"')
  expect((await tape.info()).lastId).toBe(lastId)
})

test('a handoff is an anchor and an event with the same name, state and run, in one batch with real ids [T2]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  await tape.append([user('hello')])
  const [anchor, event] = await tape.handoff('phase/design', { state: { tables: 5 }, runId: 'run_1' })
  expect(anchor).toMatchObject({
    id: 2,
    kind: 'anchor',
    payload: { name: 'phase/design', state: { tables: 5 } },
    meta: { run_id: 'run_1' },
  })
  expect(event).toMatchObject({
    id: 3,
    kind: 'event',
    payload: { name: 'handoff', data: { name: 'phase/design', state: { tables: 5 } } },
    meta: { run_id: 'run_1' },
  })
  expect(await collect(tape.entries({ after: 1 }))).toEqual([anchor, event])
})

test('a handoff that keeps a tail must name an entry that exists', async () => {
  const tape = await sample()
  await expect(tape.handoff('x', { from: 99 })).rejects.toMatchObject({ code: 'invalid', path: 'from' })
  await expect(tape.handoff('')).rejects.toMatchObject({ code: 'invalid', path: 'payload.name' })
  expect((await tape.info()).anchors).toBe(2)
})

test('state is any JSON value, kept as it was when handed over [T4]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  const state = { deep: [{ list: [1, null, 'ü', { x: true }] }] }
  const pending = tape.handoff('a', { state })
  state.deep[0]!.list.push('later')
  await pending
  for (const value of [null, 'text', 3.5, [1, 2], false]) await tape.handoff('b', { state: value })
  expect((await tape.anchors()).map((anchor) => anchor.state)).toEqual([
    { deep: [{ list: [1, null, 'ü', { x: true }] }] },
    null,
    'text',
    3.5,
    [1, 2],
    false,
  ])
  await tape.handoff('c', { state: null })
  expect((await tape.context({ format: 'text' })).messages).toContain('>\nnull\n</handoff>')
})

test('a state that JSON cannot hold is refused with its path, and nothing is written [T4]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  const cycle: Record<string, unknown> = {}
  cycle.self = { cycle }
  const bad: unknown[] = [
    cycle,
    { big: 1n },
    { call: () => 1 },
    { n: Number.NaN },
    { map: new Map([[1, 2]]) },
    [undefined],
    { s: Symbol('x') },
  ]
  for (const state of bad) await expect(tape.handoff('x', { state })).rejects.toMatchObject({ code: 'invalid' })
  await expect(tape.handoff('x', { state: { a: [{ b: 1n }] } })).rejects.toThrow('payload.state.a[0].b')
  expect(await tape.store.info('main')).toBeUndefined()
})

test('large messages keep what was given even if the caller changes it while a blob is written [T4, T25]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  const content = [
    { type: 'text', text: 'x'.repeat(50_000) },
    { type: 'text', text: 'small' },
  ]
  const pending = tape.record({ role: 'user', content })
  content[1]!.text = 'changed'
  const entry = await pending
  expect((entry.payload as { content: unknown[] }).content[1]).toEqual({ type: 'text', text: 'small' })
})

test('entries between and after anchors, by kind; of duplicate names the latest start and the first end behind it [T8]', async () => {
  const tape = await sample()
  expect(texts(await tape.betweenAnchors('a1', 'a2', { kinds: ['message'] }))).toEqual(['task 1', 'answer 1'])
  expect(texts(await tape.betweenAnchors('a1', 'latest', { kinds: ['message'] }))).toEqual(['task 1', 'answer 1'])
  expect(texts(await tape.afterAnchor('a1', { kinds: ['message'] }))).toEqual(['task 1', 'answer 1', 'task 2'])
  expect(texts(await tape.fromLastAnchor({ kinds: ['message'] }))).toEqual(['task 2'])
  await tape.handoff('a1')
  await tape.append([user('second round')])
  await tape.handoff('a2')
  await tape.append([user('rest')])
  await tape.handoff('a2')
  expect(texts(await tape.betweenAnchors('a1', 'a2', { kinds: ['message'] }))).toEqual(['second round'])
  await expect(tape.betweenAnchors('a2', 'a1')).rejects.toMatchObject({ code: 'not_found' })
  expect((await tape.anchors({ limit: 2 })).map((anchor) => anchor.name)).toEqual(['a2', 'a2'])
  expect((await tape.anchors()).map((anchor) => anchor.name)).toEqual(['a1', 'a2', 'a1', 'a2', 'a2'])
})

test('without an anchor, everything is since the last one [T8]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  await tape.append([user('one'), user('two')])
  expect(texts(await tape.fromLastAnchor())).toEqual(['one', 'two'])
})

test('search finds any script in payload and meta, regardless of case, newest first [T9]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  await tape.append([
    { ...user('Fix the Login'), date: '2026-03-01T10:00:00Z' },
    { ...user('修复登录问题 100%_done'), date: '2026-03-02T23:59:59Z' },
    { ...user('login again'), date: '2026-03-04T00:00:00Z', meta: { run_id: 'RUN-7' } },
    { kind: 'event', payload: { name: 'x', data: { nested: ['Login "quoted"\nline'] } }, date: '2026-03-05T00:00:00Z' },
  ])
  const ids = async (text: string, query = {}) => (await tape.search(text, query)).map((entry) => entry.id)
  expect(await ids('LOGIN')).toEqual([4, 3, 1])
  expect(await ids('登录')).toEqual([2])
  expect(await ids('run-7')).toEqual([3])
  expect(await ids('"quoted"\nline')).toEqual([4])
  expect(await ids('login', { limit: 1 })).toEqual([4])
  expect(await ids('login', { kinds: ['message'] })).toEqual([3, 1])
  expect(await ids('0%_d')).toEqual([2])
  expect(await ids('.*')).toEqual([])
  expect(await ids('o', { from: '2026-03-02', to: '2026-03-04' })).toEqual([3, 2])
  expect(await ids('o', { from: '2026-03-02', to: '2026-03-03' })).toEqual([2])
  await expect(tape.search('x', { from: '2026-03-05', to: '2026-03-01' })).rejects.toMatchObject({ code: 'invalid' })
  await expect(tape.search('')).rejects.toMatchObject({ code: 'invalid' })
})

test('a search whose caller is gone ends [T9]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  await tape.append([user('one'), user('two')])
  await expect(tape.search('one', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' })
})

test('info tells entries, anchors, what came since, size and last usage [T10]', async () => {
  const tape = await sample()
  await tape.recordStep({
    content: [{ type: 'text', text: 'done' }],
    usage: { inputTokens: 80, outputTokens: 20, cachedInputTokens: 60 },
  })
  const info = await tape.info()
  expect(info).toMatchObject({
    tape: 'main',
    anchors: 2,
    lastAnchor: 'a2',
    entriesSinceAnchor: 4,
    lastUsage: { input: 80, output: 20, cached: 60 },
  })
  expect(info.entries).toBe(info.lastId)
  expect(info.contextTokens).toBeGreaterThan(5)
  expect(info.contextTokens).toBeLessThan(200)
  const [{ file, bytes } = { file: '', bytes: 0 }] = await tape.store.verify!('main')
  expect(info.bytes).toBe(bytes)
  if (isOnFiles()) expect(info.bytes).toBe(fs.statSync(file).size)
})

test('the estimate of a context is near what a tokenizer counts [T10]', async () => {
  const { tokenCounter } = await import('../../src/tape/index.ts')
  const tape = new Tape(await temporaryStore(), 'main')
  const prose = 'The quick brown fox jumps over the lazy dog, then reads src/index.ts and runs npm test. '
  for (let i = 0; i < 50; i++) await tape.append([user(prose.repeat(5))])
  const counted = (await tokenCounter())(prose.repeat(250))
  const { contextTokens } = await tape.info()
  expect(contextTokens / counted).toBeGreaterThan(0.6)
  expect(contextTokens / counted).toBeLessThan(1.7)
})

test('a session starts with session/start exactly once, however many open it at once [T11]', async () => {
  const store = await temporaryStore()
  await Promise.all(Array.from({ length: 20 }, () => openTape('support:42', { store })))
  expect(await collect(store.read('support:42'))).toMatchObject([
    { id: 1, kind: 'anchor', payload: { name: 'session/start', state: { owner: 'human' } } },
  ])
})

test('a plain append does not start a session, and starting one later hides nothing [T11]', async () => {
  const store = await temporaryStore()
  await new Tape(store, 'main').append([user('first')])
  expect(await store.anchors('main')).toEqual([])
  const tape = await openTape('main', { store })
  expect((await tape.context()).messages).toEqual([{ role: 'user', content: 'first' }])
  expect(await store.anchors('main')).toMatchObject([{ name: 'session/start', from: 1 }])
})

test('settings survive anchors and are read by key [T26]', async () => {
  const tape = await sample()
  await tape.set('model', 'small')
  await tape.set('theme', { dark: true })
  await tape.set('model', 'large')
  await tape.handoff('later')
  expect(await tape.get('model')).toBe('large')
  expect(await tape.get('theme')).toEqual({ dark: true })
  expect(await tape.get('missing')).toBeUndefined()
  expect((await tape.context()).messages).toHaveLength(1)
})

test('there is no way to change an entry, and what is returned is not what is stored [T3]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  const [entry] = await tape.append([{ kind: 'event', payload: { name: 'x', data: { list: [1] } } }])
  ;(entry!.payload as { data: { list: number[] } }).data.list.push(2)
  expect(await collect(tape.entries())).toMatchObject([{ payload: { data: { list: [1] } } }])
  expect(Object.getOwnPropertyNames(Tape.prototype).filter((name) => /update|delete|replace|edit/.test(name))).toEqual(
    [],
  )
})

test('unknown kinds and fields, signatures and images come back as they were [T1]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  const drafts = [
    { kind: 'weather', payload: { sky: 'blue' }, forecast: [1, { x: null }], meta: { station: 7 } },
    {
      kind: 'message',
      payload: {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', signature: 'sig==', extra: 1 },
          { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
          { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0=', filename: 'ü.pdf' },
        ],
        novelty: { a: 1 },
      },
    },
  ]
  await tape.append(drafts)
  expect(await collect(tape.entries())).toMatchObject(drafts)
})

test("Baton's own tapes are closed to appends [T17]", async () => {
  const store = await temporaryStore()
  for (const name of ['lineage', 'task/x', 'relay/inbox', 'session/1']) {
    await expect(new Tape(store, name).append([user('x')])).rejects.toMatchObject({ code: 'invalid' })
    expect((await store.info(name))?.entries ?? 0).toBeLessThanOrEqual(1)
  }
})

test('payloads of known kinds are checked with their path [T1]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  const bad: [string, unknown, string][] = [
    ['message', { content: 'x' }, 'payload.role'],
    ['message', { role: 'user', content: 3 }, 'payload.content'],
    ['message', { role: 'user', content: [{ text: 'x' }] }, 'payload.content.0.type'],
    ['tool_call', { calls: [] }, 'payload.calls'],
    ['tool_call', { calls: [{ id: 'a' }] }, 'payload.calls.0.name'],
    ['tool_result', { results: [{ output: 'x' }] }, 'payload.results.0.call_id'],
    ['anchor', { state: {} }, 'payload.name'],
    ['event', {}, 'payload.name'],
    ['system', {}, 'payload.content'],
    ['error', { kind: 'x' }, 'payload.message'],
    ['message', 'text', 'payload'],
  ]
  for (const [kind, payload, at] of bad) {
    await expect(tape.append([{ kind, payload }])).rejects.toMatchObject({ code: 'invalid', path: at })
  }
  expect(await tape.store.info('main')).toBeUndefined()
})

test('openTape finds or makes the workspace of the folder', async () => {
  const folder = path.join(temporaryFolder(), '.baton')
  const tape = await openTape('main', { address: folder })
  await tape.record({ role: 'user', content: 'hello' })
  await tape.close()
  const again = await openTape('main', { address: `file:${folder}` })
  expect((await again.context()).messages).toEqual([{ role: 'user', content: 'hello' }])
  await again.close()
})

test('search finds text in large content, and in archives on request [T9, T25]', async () => {
  const tape = new Tape(await temporaryStore(), 'main')
  const log = `${'line of a log\n'.repeat(4_000)}ERROR: Überlauf in parseRow\n${'line of a log\n'.repeat(4_000)}`
  await tape.append([
    { kind: 'tool_result', payload: { results: [{ call_id: 'c1', output: log }] } },
    { kind: 'message', payload: { role: 'user', content: [{ type: 'text', text: `${'x '.repeat(20_000)}needle` }] } },
    {
      kind: 'message',
      payload: { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: 'QUJD'.repeat(20_000) }] },
    },
  ])
  const [hit] = await tape.find('überlauf IN parserow')
  expect(hit).toMatchObject({
    entry: { id: 1 },
    blob: { excerpt: expect.stringContaining('ERROR: Überlauf') as string },
  })
  const { sha256, offset } = hit!.blob!
  expect((await tape.readBlob(sha256, { start: offset, end: offset + 300 })).toString()).toContain('Überlauf')
  expect((await tape.search('needle')).map(({ id }) => id)).toEqual([2])
  expect(await tape.search('ABCABC')).toEqual([])
  await tape.reset()
  await tape.append([user('a needle in the present')])
  expect((await tape.search('needle')).map(({ id }) => id)).toEqual([5])
  expect((await tape.search('needle', { archived: true })).map(({ id }) => id)).toEqual([5, 2])
})
