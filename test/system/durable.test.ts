import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { build } from 'esbuild'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createFile, Lock, makeFolder, replaceFile } from '../../src/system/index.ts'

let folder: string
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-durable-'))
})
afterEach(() => {
  vi.restoreAllMocks()
  fs.rmSync(folder, { recursive: true, force: true })
})

describe('replacing a file', () => {
  test('a reader sees the old content or the new, whenever the writer is killed', async () => {
    const file = path.join(folder, 'file')
    const size = 300_000
    const module = path.resolve(import.meta.dirname, '../../src/system/durable.ts')
    const script = `import { replaceFile } from ${JSON.stringify(module)}
      for (let n = 0; ; n++) {
        replaceFile(${JSON.stringify(file)}, String(n % 10).repeat(${size}), { durable: false })
        if (n === 0) console.log('ready')
      }`
    const program = await programOf(script)
    for (let round = 0; round < 5; round++) {
      const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(child.stdout, 'data')
      for (let look = 0; look < 20; look++) expect(fs.readFileSync(file, 'utf8')).toMatch(whole(size))
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
      expect(fs.readFileSync(file, 'utf8')).toMatch(whole(size))
    }
  })

  test('a disk that is full leaves the file as it was, and nothing beside it', () => {
    const file = path.join(folder, 'file')
    replaceFile(file, 'old')
    vi.spyOn(fs, 'writeSync').mockImplementation(() => {
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    })
    expect(() => replaceFile(file, 'new')).toThrow('no space left')
    expect(fs.readFileSync(file, 'utf8')).toBe('old')
    expect(fs.readdirSync(folder)).toEqual(['file'])
  })

  test('the file and its name are synced, in that order, unless it can be made again', () => {
    const sync = vi.spyOn(fs, 'fsyncSync')
    const rename = vi.spyOn(fs, 'renameSync')
    const file = path.join(folder, 'file')
    replaceFile(file, 'new')
    expect(sync).toHaveBeenCalledTimes(2)
    const [ofFile, ofFolder] = sync.mock.invocationCallOrder
    expect(ofFile).toBeLessThan(rename.mock.invocationCallOrder[0]!)
    expect(ofFolder).toBeGreaterThan(rename.mock.invocationCallOrder[0]!)
    replaceFile(file, 'newer', { durable: false })
    expect(sync).toHaveBeenCalledTimes(2)
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  })
})

test('a file that is created leaves one that is there as it is', () => {
  const file = path.join(folder, 'file')
  expect(createFile(file, 'first')).toBe(true)
  expect(createFile(file, 'second')).toBe(false)
  expect(fs.readFileSync(file, 'utf8')).toBe('first')
  expect(fs.readdirSync(folder)).toEqual(['file'])
})

test('a folder is made with those above it, and where that is impossible the system says why', () => {
  const deep = path.join(folder, 'a', 'b', 'c')
  makeFolder(deep)
  makeFolder(deep)
  expect(fs.statSync(deep).mode & 0o777).toBe(0o700)
  fs.writeFileSync(path.join(folder, 'file'), '')
  expect(() => makeFolder(path.join(folder, 'file', 'below'))).toThrow('ENOTDIR')
})

test('a lock has one holder, is free when it is released, and is free when its holder is killed', async () => {
  const file = path.join(folder, 'lock')
  const [first, second] = [new Lock(file, 20), new Lock(file, 20)]
  await first.take()
  await expect(second.take()).rejects.toMatchObject({ code: 'locked' })
  first.release()
  await second.take()
  first.close()
  second.close()

  const script = `import { Lock } from ${JSON.stringify(path.resolve(import.meta.dirname, '../../src/system/lock.ts'))}
    await new Lock(${JSON.stringify(file)}, 1000).take()
    console.log('held')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, [await programOf(script)], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  const third = new Lock(file, 20)
  expect(third.tryNow()).toBe(false)
  child.kill('SIGKILL')
  await expect.poll(() => third.tryNow()).toBe(true)
  third.close()
})

/** A script that imports sources, as a file that Node can run. */
async function programOf(script: string): Promise<string> {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-program-'))
  onTestFinished(() => fs.rmSync(made, { recursive: true }))
  const modules = path.resolve(import.meta.dirname, '../../node_modules')
  fs.symlinkSync(modules, path.join(made, 'node_modules'))
  const outfile = path.join(made, 'program.mjs')
  const stdin = { contents: script, resolveDir: made }
  await build({ stdin, outfile, bundle: true, platform: 'node', format: 'esm', packages: 'external' })
  return outfile
}

function whole(size: number): RegExp {
  return new RegExp(`^(\\d)\\1{${size - 1}}$`)
}
