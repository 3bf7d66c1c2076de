import { createHash, randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { expect } from 'vitest'
import type { StorePromise } from './row.ts'

export const blobs: readonly StorePromise[] = [
  {
    title: 'a blob is stored once by its SHA-256 and read back byte for byte',
    ids: ['T25'],
    async keep({ store, another, restart }) {
      const bytes = randomBytes(2_000_000)
      const ref = await store.putBlob(bytes)
      expect(ref).toEqual({ sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length })
      expect(await (await another()).putBlob(bytes)).toEqual(ref)
      expect((await buffer(await (await restart()).getBlob(ref.sha256))).equals(bytes)).toBe(true)
    },
  },
  {
    title: 'a blob can be paged through: the ranges join to the whole, and lie within it',
    ids: ['T25'],
    async keep({ store }) {
      const bytes = randomBytes(10_000)
      const { sha256 } = await store.putBlob(bytes)
      const pages: Buffer[] = []
      for (let start = 0; start < bytes.length; start += 3_000) {
        pages.push(await buffer(await store.getBlob(sha256, { start, end: start + 3_000 })))
      }
      expect(Buffer.concat(pages).equals(bytes)).toBe(true)
      const page = async (range: object) => (await buffer(await store.getBlob(sha256, range))).toString('hex')
      expect(await page({ start: 9_990 })).toBe(bytes.toString('hex', 9_990))
      expect(await page({ end: 10 })).toBe(bytes.toString('hex', 0, 10))
      expect(await page({ start: 5, end: 5 })).toBe('')
      expect(await page({ start: 20_000, end: 30_000 })).toBe('')
      expect(await page({ start: 9, end: 3 })).toBe('')
    },
  },
  {
    title: 'an empty blob is a blob',
    ids: ['T25'],
    async keep({ store }) {
      const { sha256, bytes } = await store.putBlob(new Uint8Array())
      expect(bytes).toBe(0)
      expect(await buffer(await store.getBlob(sha256))).toHaveLength(0)
    },
  },
  {
    title: 'an unknown blob is not found, and a name that is none is refused',
    ids: ['T25'],
    async keep({ store }) {
      await expect(store.getBlob('0'.repeat(64))).rejects.toMatchObject({ code: 'not_found' })
      for (const name of ['', 'x', '../tape/manifest.json', 'A'.repeat(64)]) {
        await expect(store.getBlob(name)).rejects.toMatchObject({ code: 'invalid' })
      }
    },
  },
  {
    title: 'many who put the same blob at once all get it',
    ids: ['T25'],
    async keep({ store, another }) {
      const other = await another()
      const bytes = randomBytes(50_000)
      const refs = await Promise.all(Array.from({ length: 10 }, (_, n) => (n % 2 ? store : other).putBlob(bytes)))
      expect(new Set(refs.map((ref) => ref.sha256)).size).toBe(1)
      expect((await buffer(await store.getBlob(refs[0]!.sha256))).equals(bytes)).toBe(true)
    },
  },
]
