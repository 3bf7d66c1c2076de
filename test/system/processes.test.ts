import { spawn } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { expect, test } from 'vitest'
import {
  endTree,
  folderOf,
  isHolding,
  isRunning,
  mayWorkIn,
  pause,
  processAt,
  shellWord,
  thisProcess,
  treeOf,
} from '../../src/system/index.ts'
import { canBeAlone, runAlone } from '../real/alone.ts'

/** A shell with a child that ignores SIGTERM; resolves when both run. */
async function stubbornTree(): Promise<number> {
  const script = `trap '' TERM; sh -c "trap '' TERM; echo ready; sleep 600" & wait`
  const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return child.pid!
}

test('a process is known by its number and its start, its folder and what it was started with', () => {
  const own = processAt(process.pid)
  expect(own).toMatchObject({ pid: process.pid, parent: process.ppid, stopped: false })
  expect(isRunning(process.pid, own!.started)).toBe(true)
  expect(isRunning(process.pid, 'another time')).toBe(false)
  expect(folderOf(process.pid)).toBe(process.cwd())
  expect(processAt(2 ** 30)).toBeUndefined()
})

test('a process works in its own folder, and in none of ours where nobody lets us look', async () => {
  const child = spawn('sleep', ['100'])
  await once(child, 'spawn')
  expect(mayWorkIn(child.pid!, process.cwd())).toBe(true)
  expect(mayWorkIn(child.pid!, '/')).toBe(false)
  if (canBeAlone) expect(await runAlone(new URL('./looks.ts', import.meta.url), [String(child.pid)], 60)).toBe('false')
  child.kill('SIGKILL')
})

test('a tree of processes is ended with what does not listen', async () => {
  const pid = await stubbornTree()
  const tree = treeOf(pid)
  expect(tree.length).toBeGreaterThanOrEqual(2)
  expect(tree[0]!.pid).toBe(pid)
  await endTree(pid, tree[0]!.started, 100)
  for (const each of tree) expect(isRunning(each.pid, each.started)).toBe(false)
})

test('a process of another start than the one that was meant is left alone', async () => {
  const pid = await stubbornTree()
  await endTree(pid, 'another time', 100)
  expect(isRunning(pid)).toBe(true)
  await endTree(pid, undefined, 100)
  expect(isRunning(pid)).toBe(false)
})

test('a holder holds while it lives here, and for its time when it is out of sight', () => {
  const me = thisProcess('me')
  const other = { ...me, agent: 'other' }
  expect(isHolding(me, Infinity, 0, me)).toBe(false)
  expect(isHolding(other, 0, 1, me)).toBe(true)
  expect(isHolding({ ...other, boot: 'before' }, Infinity, 0, me)).toBe(false)
  expect(isHolding({ ...other, host: 'elsewhere' }, 10, 9, me)).toBe(true)
  expect(isHolding({ ...other, host: 'elsewhere' }, 10, 10, me)).toBe(false)
})

test('a word for the shell is quoted where it needs to be', () => {
  expect(['a/b-c.txt', "it's", 'a b', '', '#1', '$HOME'].map(shellWord)).toEqual([
    'a/b-c.txt',
    `'it'\\''s'`,
    `'a b'`,
    `''`,
    `'#1'`,
    `'$HOME'`,
  ])
})

test('a pause ends with its time or its signal, and leaves nothing on the signal', async () => {
  const stop = new AbortController()
  for (let i = 0; i < 3; i++) await pause(1, stop.signal)
  expect(getEventListeners(stop.signal, 'abort')).toEqual([])
  const long = pause(600_000, stop.signal)
  stop.abort()
  await long
  await pause(600_000, stop.signal)
  expect(getEventListeners(stop.signal, 'abort')).toEqual([])
})
