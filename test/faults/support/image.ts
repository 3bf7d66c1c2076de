// A tape whose bytes somebody has changed, looked at through the door, and what must hold whatever was changed:
// what is delivered was written so, what is not delivered is reported, and a repair leaves a sound tape.

import fs from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { type Damage, type Draft, type Entry, openFileStore } from '../../../src/store/index.ts'
import { all, count, message } from '../../store/promises/row.ts'
import { newFolder } from './crew.ts'

export interface Original {
  readonly root: string
  readonly file: string
  readonly entries: readonly Entry[]
  readonly bytes: Buffer
  /** The lines with their newlines. */
  readonly lines: readonly Buffer[]
}

export async function newTape(batches: readonly (readonly Draft[])[]): Promise<Original> {
  const root = path.join(newFolder({ inMemory: true }), '.baton')
  const store = await openFileStore(root)
  for (const batch of batches) await store.append('main', batch)
  const entries = await all(store.read('main'))
  await store.close()
  const file = path.join(root, 'tape/main.jsonl')
  const bytes = fs.readFileSync(file)
  const lines: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0x0a, at) + 1
    lines.push(bytes.subarray(at, end))
    at = end
  }
  return { root, file, entries, bytes, lines }
}

export interface Found {
  readonly delivered: readonly Entry[]
  readonly damage: readonly Damage[]
}

/** Puts the bytes in the place of the tape and checks all that must hold. Returns what a reader was given and told. */
export async function look(original: Original, bytes: Buffer, { repair = true } = {}): Promise<Found> {
  const { root, file, entries } = original
  for (const name of fs.readdirSync(path.dirname(file))) {
    if (/\.(cut|idx)$/.test(name)) fs.rmSync(path.join(path.dirname(file), name))
  }
  fs.rmSync(file)
  fs.writeFileSync(file, bytes)
  const store = await openFileStore(root)
  try {
    const told: Damage[] = []
    const delivered = await all(store.read('main', { onDamage: (damage) => told.push(damage) }))
    assertOriginal(original, delivered)
    const backwards: Damage[] = []
    const reverse = store.read('main', { reverse: true, onDamage: (damage) => backwards.push(damage) })
    expect((await all(reverse)).reverse()).toEqual(delivered)
    expect(backwards.length > 0).toBe(told.length > 0)
    const [report] = await store.verify!('main')
    const isIntact = bytes.equals(original.bytes)
    expect(report!.damage.length > 0, 'silence about damage').toBe(!isIntact)
    for (const damage of report!.damage) {
      expect(damage.offset).toBeGreaterThanOrEqual(0)
      expect(damage.offset + damage.length).toBeLessThanOrEqual(bytes.length)
    }
    const throwing = all(store.read('main'))
    if (told.length > 0)
      await expect(throwing).rejects.toMatchObject({ code: 'damaged', file, offset: told[0]!.offset })
    else expect(await throwing).toEqual(delivered)
    // What is missing among what is delivered was reported as lost; what is missing at the end, too, or was torn.
    const gone = entries.filter((entry) => !delivered.some((one) => one.id === entry.id))
    const lost = (id: number) => told.some((damage) => damage.lost && damage.lost.from <= id && id <= damage.lost.to)
    const last = delivered.at(-1)?.id ?? 0
    const first = told[0]?.lost?.from ?? 1
    expect(gone.filter((entry) => entry.id >= first && entry.id < last && !lost(entry.id))).toEqual([])
    if (gone.some((entry) => entry.id > last)) expect(report!.damage).not.toEqual([])
    if (repair) await assertRepairable(original, bytes, told)
    return { delivered, damage: report!.damage }
  } finally {
    await store.close()
  }
}

function assertOriginal({ entries }: Original, delivered: readonly Entry[]): void {
  const ids = delivered.map((entry) => entry.id)
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
  for (const entry of delivered) expect(entry).toEqual(entries[entry.id - 1])
}

async function assertRepairable(
  { root, file, entries }: Original,
  bytes: Buffer,
  told: readonly Damage[],
): Promise<void> {
  const store = await openFileStore(root)
  try {
    if (told.length > 0) {
      await expect(store.append('main', [message('refused')])).rejects.toMatchObject({ code: 'damaged' })
      expect(fs.readFileSync(file).equals(bytes)).toBe(true)
    }
    const before = await all(store.read('main', { onDamage: () => {} }))
    const { damage, cut } = await store.repair!('main')
    const kept = cut.map((name) => fs.readFileSync(name))
    for (const { offset, length, kind } of damage) {
      if (length === 0 || (kind === 'batch' && offset + length < bytes.length)) continue
      expect(kept.some((side) => side.equals(bytes.subarray(offset, offset + length)))).toBe(true)
    }
    expect(await store.verify!('main')).toMatchObject([{ damage: [] }])
    const after = await all(store.read('main'))
    expect(after.map((entry) => entry.id)).toEqual(count(1, after.length))
    for (const entry of before) expect(after[entry.id - 1]).toEqual(entry)
    for (const entry of after) {
      if (entries[entry.id - 1] === undefined || !before.some((one) => one.id === entry.id)) {
        expect(entry).toMatchObject({ kind: 'error', payload: { kind: 'damaged' } })
      }
    }
    expect(await store.append('main', [message('on')])).toMatchObject([{ id: after.length + 1 }])
    expect(await store.verify!('main')).toMatchObject([{ damage: [] }])
    expect((await store.repair!('main')).damage).toEqual([])
  } finally {
    await store.close()
  }
}
