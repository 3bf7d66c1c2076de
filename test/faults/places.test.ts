import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openFileStore } from '../../src/store/index.ts'
import { all, ids, message } from '../store/promises/row.ts'
import { newFolder, Worker } from './support/crew.ts'

/** Everything below a folder, with its content. */
function snapshot(folder: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const each of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(each.parentPath, each.name)
    found[path.relative(folder, file)] = each.isFile() ? fs.readFileSync(file, 'latin1') : 'folder'
  }
  return found
}

test('a workspace is made for its owner alone, and ignores itself in git [T17]', async () => {
  const root = path.join(newFolder(), 'not/yet/.baton')
  const store = await openFileStore(root)
  await store.append('a/b:ü', [message('1')])
  await store.close()
  expect(fs.statSync(root).mode & 0o777).toBe(0o700)
  expect(fs.readFileSync(path.join(root, '.gitignore'), 'utf8')).toBe('*\n')
  expect(fs.statSync(path.join(root, 'tape/a%2Fb%3A%C3%BC.jsonl')).mode & 0o777).toBe(0o600)
  expect(fs.existsSync(path.join(root, 'session_graph.jsonl'))).toBe(true)
})

test('a workspace that is a file, or lies below one, is refused and left alone [T17]', async () => {
  const folder = newFolder()
  const file = path.join(folder, '.baton')
  fs.writeFileSync(file, 'mine')
  for (const place of [file, path.join(file, 'below')]) {
    await expect(openFileStore(place)).rejects.toMatchObject({
      code: 'storage',
      hint: expect.stringContaining('--workspace'),
    })
  }
  expect(snapshot(folder)).toEqual({ '.baton': 'mine' })
})

test('somebody else’s .baton is refused and left alone [T17]', async () => {
  const folder = newFolder()
  fs.mkdirSync(path.join(folder, '.baton'))
  fs.writeFileSync(path.join(folder, '.baton/config.toml'), 'theirs')
  fs.writeFileSync(path.join(folder, '.baton/.gitignore'), 'theirs')
  await expect(openFileStore(path.join(folder, '.baton'))).rejects.toMatchObject({
    code: 'storage',
    message: expect.stringContaining('config.toml'),
  })
  fs.writeFileSync(path.join(folder, '.baton/tape'), 'a file')
  await expect(openFileStore(path.join(folder, '.baton'))).rejects.toMatchObject({ code: 'storage' })
  expect(snapshot(folder)).toEqual({
    '.baton': 'folder',
    '.baton/config.toml': 'theirs',
    '.baton/.gitignore': 'theirs',
    '.baton/tape': 'a file',
  })
})

test('an empty folder, or one where making it was cut short, becomes a workspace; a .gitignore in it is kept [T17]', async () => {
  const folder = newFolder()
  fs.writeFileSync(path.join(folder, '.gitignore'), 'mine')
  const store = await openFileStore(folder)
  await store.append('main', [message('1')])
  await store.close()
  expect(fs.readFileSync(path.join(folder, '.gitignore'), 'utf8')).toBe('mine')
})

test('a workspace of a newer format is refused, and nothing in it is touched [T17]', async () => {
  const root = path.join(newFolder(), '.baton')
  await (await openFileStore(root)).close()
  fs.writeFileSync(path.join(root, 'tape/manifest.json'), '{"format":2,"workspace":"w","future":true}')
  const before = snapshot(root)
  await expect(openFileStore(root)).rejects.toMatchObject({
    code: 'storage',
    message: expect.stringContaining('newer'),
    hint: expect.stringContaining('Upgrade'),
  })
  expect(snapshot(root)).toEqual(before)
})

test('files that are not ours in the folder of the tapes do not disturb a listing [T17]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  await store.append('main', [message('1')])
  for (const name of ['100%.jsonl', 'ü.jsonl', '.jsonl', 'notes.txt', 'a b.jsonl', 'empty.jsonl']) {
    fs.writeFileSync(path.join(root, 'tape', name), '')
  }
  fs.mkdirSync(path.join(root, 'tape/archived'), { recursive: true })
  fs.writeFileSync(path.join(root, 'tape/archived/%_2026-01-01T00-00-00-000Z.jsonl'), '')
  expect((await all(store.list())).map((info) => info.tape)).toEqual(['main'])
  expect(await store.archives('main')).toEqual([])
  await store.close()
})

test('asking questions writes nothing [T17]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  await store.append('main', [message('1', { key: 'k' })])
  await store.archive('main', () => [message('2')])
  await all(store.list())
  await store.close()
  const before = snapshot(root)
  const again = await openFileStore(root)
  await ids(again, 'main', { archived: true })
  await again.latest('main', 'k')
  await again.anchors('none', { archived: true })
  await again.info('none')
  await again.archives('main')
  await again.verify!('main')
  await all(again.list())
  for (const bad of [[], [{ kind: '', payload: 1 }]]) {
    await expect(again.append('new', bad)).rejects.toMatchObject({ code: 'invalid' })
  }
  await again.close()
  expect(snapshot(root)).toEqual(before)
})

/** Root may do anything, so the worker gives that up. */
const nobody = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : []

test('a workspace that can only be read is read, without a manifest too; writing to it is a clear error [T17]', async () => {
  const folder = newFolder()
  const root = path.join(folder, '.baton')
  const store = await openFileStore(root)
  await store.append('main', [message('1'), message('2')])
  const { workspace } = store
  await store.close()
  fs.chmodSync(folder, 0o755)
  fs.rmSync(path.join(root, 'tape/manifest.json'))
  for (const each of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    fs.chmodSync(path.join(each.parentPath, each.name), each.isFile() ? 0o444 : 0o555)
  }
  const before = snapshot(folder)
  const reader = await Worker.start('watch', { root, times: 2 }, { within: nobody })
  expect(await reader.ended).toBe(0)
  expect(reader.said).toEqual([{ workspace }, { watching: true }, { seen: 1 }, { seen: 2 }])
  const writer = await Worker.start('append', { root, times: 1 }, { within: nobody })
  expect(await writer.ended).toBe(1)
  expect(writer.said[1]).toMatchObject({ failed: 'storage', hint: expect.stringContaining('permission') })
  expect(snapshot(folder)).toEqual(before)
})

test('a workspace that may not be entered, or made, is a clear error [T17]', async () => {
  const folder = newFolder()
  const root = path.join(folder, '.baton')
  await (await openFileStore(root)).close()
  fs.chmodSync(root, 0)
  fs.chmodSync(folder, 0o555)
  for (const place of [root, path.join(folder, 'new')]) {
    const worker = await Worker.start('append', { root: place, times: 1 }, { within: nobody })
    expect(await worker.ended).toBe(1)
    expect(worker.said.at(-1)).toMatchObject({ failed: 'storage', hint: expect.stringContaining('permission') })
  }
  expect(fs.readdirSync(folder)).toEqual(['.baton'])
})

test('where the file system does not tell capital letters apart, a second tape of such a name is refused [T17]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  await store.append('Main', [{ kind: 'event', payload: { name: 'first' } }])
  // Both names lead to one file, as they do on such a file system.
  fs.symlinkSync('Main.jsonl', path.join(root, 'tape', 'main.jsonl'))
  const refused = /The tape main would share its file with the tape Main/
  await expect(store.append('main', [{ kind: 'event', payload: { name: 'second' } }])).rejects.toThrow(refused)
  await expect(all(store.read('main'))).rejects.toThrow(refused)
  expect(await all(store.read('Main'))).toHaveLength(1)
  await store.close()
})
