import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openFileStore } from '../../src/store/index.ts'
import { all, anchor, contents, count, ids, message } from '../store/promises/row.ts'
import { newFolder, Worker } from './support/crew.ts'
import { failSync, failure, fillDiskAfter, replace } from './support/injected.ts'

test('a disk that fills up at any byte of a line leaves whole lines only, and appends go on when there is room [T3]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  let last = 0
  for (let room = 0; room < 200; room += 7) {
    const empty = fillDiskAfter(room)
    const append = store.append('main', [message('this does not fit'), message('nor does this')])
    await expect(append).rejects.toMatchObject({ code: 'storage', hint: expect.stringContaining('disk is full') })
    empty()
    const text = fs.readFileSync(path.join(root, 'tape/main.jsonl'), 'utf8')
    expect(text === '' || text.endsWith('}\n')).toBe(true)
    const [entry] = await store.append('main', [message(`${room}`)])
    expect(entry!.id).toBe(++last)
  }
  expect(await store.verify!('main')).toMatchObject([{ damage: [], entries: last }])
  expect(fs.readdirSync(path.join(root, 'tape')).filter((name) => name.endsWith('.cut'))).toEqual([])
  await store.close()
})

test('of appends that share a write, those that still fit are kept and told so, the others are refused [T3]', async () => {
  const store = await openFileStore(path.join(newFolder(), '.baton'))
  await store.append('main', [message('first')])
  const empty = fillDiskAfter(700)
  const same = message('again', { idempotency: 'late' })
  const outcomes = await Promise.allSettled([
    ...count(2, 10).map((n) => store.append('main', [message(`${n}`)])),
    store.append('main', [same]),
    store.append('main', [same]),
    store.append('main', [message('stale')], { expect: 1 }),
    store.append('main', [message('never')], { expect: 11 }),
  ])
  empty()
  const kept = outcomes.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  expect(kept.length).toBeGreaterThan(2)
  expect(kept.length).toBeLessThan(9)
  expect(await ids(store, 'main')).toEqual(count(1, 1 + kept.length))
  for (const one of outcomes.slice(kept.length)) {
    expect(one).toMatchObject({ status: 'rejected', reason: { code: expect.stringMatching(/storage|conflict/) } })
  }
  expect(outcomes.slice(9, 11)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
  expect(outcomes.at(-1)).toMatchObject({ reason: { code: 'storage' } })
  await store.append('main', [same], { expect: 1 + kept.length })
  await store.close()
})

test('a write that is cut short goes on with the rest [T3]', async () => {
  const store = await openFileStore(path.join(newFolder(), '.baton'))
  replace('writeSync', (original) => (fd: number, data: Buffer, from = 0) => {
    return original(fd, data, from, Math.min(5, data.length - from))
  })
  await store.append('main', [message('in pieces'), message('ü')])
  await Promise.all(count(1, 5).map((n) => store.append('main', [message(`${n}`)])))
  expect(await store.verify!('main')).toMatchObject([{ damage: [], entries: 7 }])
  await store.close()
})

test('a write that fails and cannot be taken back has an unknown outcome; the next append mends the tape [T3]', async () => {
  const store = await openFileStore(path.join(newFolder(), '.baton'))
  await store.append('main', [message('first')])
  const empty = fillDiskAfter(50)
  const stuck = replace('ftruncateSync', () => () => {
    throw failure('EIO', 'ftruncate')
  })
  await expect(store.append('main', [message('half')])).rejects.toMatchObject({ code: 'unknown_outcome' })
  empty()
  stuck()
  await store.append('main', [message('second')], { expect: 1 })
  expect(contents(await all(store.read('main')))).toEqual(['first', 'second'])
  expect(await store.verify!('main')).toMatchObject([{ damage: [] }])
  await store.close()
})

test.each([
  { title: 'one append', at: 1 },
  { title: 'a group', at: 5 },
])(
  'an fdatasync that fails ($title) is never an acknowledgement, and closes the handle for writing [T1]',
  async ({ at }) => {
    const root = path.join(newFolder(), '.baton')
    const store = await openFileStore(root)
    await store.append('main', [message('before', { idempotency: 'before' })])
    const healed = failSync()
    const draft = (n: number) => message(`${n}`, { idempotency: `try-${n}` })
    const outcomes = await Promise.allSettled([
      ...count(1, at).map((n) => store.append('main', [draft(n)])),
      // What was durable before cannot be vouched for either.
      ...(at > 1 ? [store.append('main', [message('before', { idempotency: 'before' })])] : []),
      ...(at > 1 ? [store.append('main', [draft(1)])] : []),
    ])
    for (const one of outcomes) expect(one).toMatchObject({ status: 'rejected', reason: { code: 'unknown_outcome' } })
    healed()
    // A second sync would succeed and mean nothing: so there is none.
    await expect(store.append('main', [draft(9)])).rejects.toMatchObject({
      code: 'storage',
      hint: expect.stringContaining('open the workspace'),
    })
    await expect(store.archive('main', () => [message('x')])).rejects.toMatchObject({ code: 'storage' })
    await store.append('other', [message('unharmed')])
    await store.close()

    const again = await openFileStore(root)
    for (const n of count(1, at)) await again.append('main', [draft(n)])
    expect(contents(await all(again.read('main')))).toEqual(['before', ...count(1, at).map(String)])
    await again.close()
  },
)

test('an outcome that is unknown is resolved by its idempotency, whether the disk kept it or not [T1]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  await store.append('main', [message('before')])
  const file = path.join(root, 'tape/main.jsonl')
  const { size } = fs.statSync(file)
  const healed = failSync()
  const batch = [message('a', { idempotency: 'job' }), message('b')]
  await expect(store.append('main', batch)).rejects.toMatchObject({ code: 'unknown_outcome' })
  healed()
  await store.close()
  // The disk lost it, in the middle of the second line.
  fs.truncateSync(file, size + 150)
  const again = await openFileStore(root)
  expect(await again.append('main', batch)).toMatchObject([{ id: 2 }, { id: 3 }])
  expect(await again.append('main', batch)).toMatchObject([{ id: 2 }, { id: 3 }])
  expect(contents(await all(again.read('main')))).toEqual(['before', 'a', 'b'])
  await again.close()
})

test('an archive or a new tape that does not fit leaves all as it was [T12] [T16]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  await store.append('main', [message('1'), anchor('a')])
  const before = fs.readdirSync(path.join(root, 'tape'), { recursive: true }).map(String).sort()
  const empty = fillDiskAfter(20)
  await expect(store.archive('main', () => [message('next')])).rejects.toMatchObject({ code: 'storage' })
  await expect(store.create('new', [[message('1')]])).rejects.toMatchObject({ code: 'storage' })
  await expect(store.putBlob(Buffer.alloc(100))).rejects.toMatchObject({ code: 'storage' })
  empty()
  expect(await store.archives('main')).toEqual([])
  const harmless = /^(archived|main\.next)$/
  const left = fs.readdirSync(path.join(root, 'tape'), { recursive: true }).map(String).sort()
  expect(left.filter((name) => !harmless.test(name))).toEqual(before)
  await store.append('main', [message('3')], { expect: 2 })
  await store.archive('main', () => [message('4')])
  expect(await ids(store, 'main', { archived: true })).toEqual([1, 2, 3, 4])
  await store.close()
})

test('a file system without links archives by moving, and ids go on [T16]', async () => {
  const root = path.join(newFolder(), '.baton')
  replace('linkSync', () => () => {
    throw failure('EPERM', 'link')
  })
  const store = await openFileStore(root)
  await store.append('main', [message('1'), message('2')])
  const { ref } = await store.archive('main', () => [message('3')])
  expect(await ids(store, 'main', { archived: true })).toEqual([1, 2, 3])
  await store.close()
  // Killed between the two moves: there is an archive and no current file.
  fs.rmSync(path.join(root, 'tape/main.jsonl'))
  fs.rmSync(path.join(root, 'tape/main.next'), { force: true })
  const again = await openFileStore(root)
  expect(fs.existsSync(path.join(root, ref))).toBe(true)
  await expect(again.create('main', [[message('x')]])).rejects.toMatchObject({ code: 'conflict', actual: 2 })
  expect(await again.append('main', [message('3')], { expect: 2 })).toMatchObject([{ id: 3 }])
  expect(await ids(again, 'main', { archived: true })).toEqual([1, 2, 3])
  await again.close()
})

test('an empty current file behind an archive does not start ids anew [T16]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  await store.append('main', [message('1'), message('2')])
  await store.archive('main', () => [message('3')])
  await store.close()
  fs.truncateSync(path.join(root, 'tape/main.jsonl'), 0)
  const again = await openFileStore(root)
  expect(await again.append('main', [message('x')])).toMatchObject([{ id: 3 }])
  await again.close()
})

test('on a real disk that fills up, what was acknowledged is there and appends go on after some was freed [T3]', async () => {
  if (spawnSync('bash', ['-c', 'unshare -rm true']).status !== 0) {
    console.log('This kernel allows no private mounts: the full disk was only injected, in the tests above.')
    return
  }
  const folder = newFolder()
  const script = `mount -t tmpfs -o size=384k none "$1" && shift && dd if=/dev/zero of=${folder}/ballast bs=1k count=64 2>/dev/null && "$@"; free=$?; rm ${folder}/ballast; echo '{"freed":'$free'}'; "$@"; cat ${folder}/.baton/tape/main.jsonl >&3`
  const out = path.join(folder, '..', `${path.basename(folder)}.jsonl`)
  const within = ['unshare', '-rm', 'bash', '-c', `exec 3>"$0"; ${script}`, out, folder]
  try {
    const worker = await Worker.start(
      'append',
      { root: path.join(folder, '.baton'), tag: 'w', lanes: 3, batch: 3 },
      { within },
    )
    await worker.ended
    const failed = worker.said.filter((said) => 'failed' in said)
    expect(failed.length).toBe(2)
    expect(failed[0]).toMatchObject({ failed: 'storage', message: expect.stringContaining('ENOSPC') })
    const freedAt = worker.said.findIndex((said) => 'freed' in said)
    expect(worker.said.slice(freedAt).some((said) => 'acked' in said)).toBe(true)
    const lines = fs.readFileSync(out, 'utf8').split('\n').filter(Boolean)
    const found = new Map(
      lines
        .map((line) => JSON.parse(line) as { id: number; payload: { content: string } })
        .map((one) => [one.id, one.payload.content]),
    )
    expect([...found.keys()]).toEqual(count(1, lines.length))
    for (const [id, content] of worker.acked) expect(found.get(id)).toBe(content)
  } finally {
    fs.rmSync(out, { force: true })
  }
})
