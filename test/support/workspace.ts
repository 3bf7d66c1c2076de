// A workspace of its own for a test, gone when the test is over.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { openFileStore, type Store } from '../../src/store/index.ts'

/** `atEnd`: that of the test's own context, where tests run at the same time. */
export function temporaryFolder(atEnd: (work: () => void) => void = onTestFinished): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-test-'))
  atEnd(() => fs.rmSync(folder, { recursive: true, force: true }))
  return folder
}

export async function temporaryStore(folder = path.join(temporaryFolder(), '.baton')): Promise<Store> {
  const store = await openFileStore(folder)
  onTestFinished(() => store.close())
  return store
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
