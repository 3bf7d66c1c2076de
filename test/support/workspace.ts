// A workspace of its own for a test, gone when the test is over.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { removeFolder } from './folder.ts'
import { type OpenOptions, openStore, type Store } from '../../src/store/index.ts'

/** `atEnd`: that of the test's own context, where tests run at the same time. */
export function temporaryFolder(atEnd: (work: () => void) => void = onTestFinished): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-test-'))
  atEnd(() => removeFolder(folder))
  return folder
}

/** A store of the engine that the suite runs on. The same folder is the same store. */
export async function temporaryStore(
  folder = path.join(temporaryFolder(), '.baton'),
  options: OpenOptions = {},
): Promise<Store> {
  const store = await openStore(addressOf(folder), options)
  onTestFinished(() => store.close())
  return store
}

/** A server that is stopped when the test is over. */
export async function serverForTest<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const server = await starting
  onTestFinished(() => server.stop())
  return server
}

/** Whether the suite runs on files, which a test may then look at. */
export function isOnFiles(): boolean {
  return inject('storeAddress') === undefined
}

/** What stands for the workspace in that folder. */
export function addressOf(folder: string): string {
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 12)
  return inject('storeAddress')?.replace('NAME', `t${name}`) ?? folder
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
