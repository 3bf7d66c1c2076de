import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { everySecond, watchFolder } from '../../src/system/index.ts'

const stops: (() => void)[] = []
afterEach(() => {
  vi.restoreAllMocks()
  for (const stop of stops.splice(0)) stop()
})

function newFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-watch-'))
  stops.push(() => fs.rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** What a watch has reported so far. */
function reports(folder: string): [string | undefined, boolean][] {
  const seen: [string | undefined, boolean][] = []
  const stop = watchFolder(folder, (name, isNewOrGone) => seen.push([name, isNewOrGone]))
  expect(stop).toBeDefined()
  stops.push(stop!)
  return seen
}

test('a new file and a change of it are reported with its name', async () => {
  const folder = newFolder()
  const seen = reports(folder)
  fs.writeFileSync(path.join(folder, 'a'), 'one')
  await expect.poll(() => seen).toContainEqual(['a', true])
  seen.length = 0
  fs.appendFileSync(path.join(folder, 'a'), 'two')
  await expect.poll(() => seen).toContainEqual(['a', false])
})

test('everybody who watches a folder shares one watch, which ends with the last of them', async () => {
  const folder = newFolder()
  const watch = vi.spyOn(fs, 'watch')
  const [first, second] = [vi.fn<() => void>(), vi.fn<() => void>()]
  const stopFirst = watchFolder(folder, first)
  const stopSecond = watchFolder(folder, second)
  expect(watch).toHaveBeenCalledTimes(1)
  stopFirst?.()
  fs.writeFileSync(path.join(folder, 'a'), '')
  await expect.poll(() => second.mock.calls.length).toBeGreaterThan(0)
  expect(first).not.toHaveBeenCalled()
  stopSecond?.()
  stops.push(watchFolder(folder, first)!)
  expect(watch).toHaveBeenCalledTimes(2)
})

test('a folder that does not exist, or for which the system has no watches left, is not watched', () => {
  expect(watchFolder('/no/such/folder', () => {})).toBeUndefined()
  vi.spyOn(fs, 'watch').mockImplementation(() => {
    throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
  })
  expect(watchFolder(newFolder(), () => {})).toBeUndefined()
})

test('a folder that is removed is reported, and can be watched again when it is back', async () => {
  const folder = path.join(newFolder(), 'inner')
  fs.mkdirSync(folder)
  const seen = reports(folder)
  fs.rmSync(folder, { recursive: true })
  await expect.poll(() => seen.length).toBeGreaterThan(0)
  fs.mkdirSync(folder)
  const again = reports(folder)
  fs.writeFileSync(path.join(folder, 'a'), '')
  await expect.poll(() => again).toContainEqual(['a', true])
})

test('the timer calls everybody every second, until they stop', () => {
  vi.useFakeTimers()
  try {
    const [first, second] = [vi.fn<() => void>(), vi.fn<() => void>()]
    const stopFirst = everySecond(first)
    const stopSecond = everySecond(second)
    vi.advanceTimersByTime(3_000)
    stopFirst()
    vi.advanceTimersByTime(1_000)
    stopSecond()
    expect([first.mock.calls.length, second.mock.calls.length]).toEqual([3, 4])
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})
