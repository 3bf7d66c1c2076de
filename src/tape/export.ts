// A tape as text that can travel: its entries, one a line, each blob ahead of the first entry that needs it.

import { createHash } from 'node:crypto'
import { InvalidError } from '../errors.ts'
import { type Draft, inChunks, limits, type Store, type TapeInfo } from '../store/index.ts'
import { readBlob } from './content/blob.ts'
import { recordEdge } from './lineage/lineage.ts'
import { checkPayload } from './content/payload.ts'

export async function* exportTape(store: Store, tape: string): AsyncGenerator<string> {
  const sent = new Set<string>()
  for await (const entry of store.read(tape)) {
    const line = JSON.stringify(entry)
    for (const [, sha256] of line.matchAll(/"type":"blob","sha256":"([0-9a-f]{64})"/g)) {
      if (sha256 === undefined || sent.has(sha256)) continue
      sent.add(sha256)
      yield JSON.stringify({ blob: sha256, base64: (await readBlob(store, sha256)).toString('base64') })
    }
    yield line
  }
}

/** Makes a new tape of exported lines. Ids are counted anew; dates and everything else stay. */
export async function importTape(
  store: Store,
  tape: string,
  lines: AsyncIterable<string> | Iterable<string>,
  source: string,
): Promise<TapeInfo> {
  let first: number | undefined
  async function* drafts(): AsyncGenerator<Draft> {
    let number = 0
    for await (const line of lines) {
      number++
      if (line.trim() === '') continue
      const parsed = parseExportLine(line, number)
      if (typeof parsed.blob === 'string') {
        await keepBlob(store, parsed, number)
        continue
      }
      const {
        id,
        b: _b,
        crc: _crc,
        ...draft
      } = parsed as unknown as Draft & { id?: number; b?: unknown; crc?: unknown }
      first ??= typeof id === 'number' ? id : 1
      checkPayload(draft, `line ${number}: `)
      yield withMovedFrom(draft, first)
    }
  }
  const info = await store.create(tape, inBatches(drafts()))
  await recordEdge(store, { parent: source, child: tape, how: 'import' })
  return info
}

function withMovedFrom(draft: Draft, first: number): Draft {
  const payload = draft.payload as { from?: number } | undefined
  if (draft.kind !== 'anchor' || payload?.from === undefined) return draft
  return { ...draft, payload: { ...payload, from: Math.max(1, payload.from - first + 1) } }
}

export function parseExportLine(line: string, number: number): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (cause) {
    throw new InvalidError(`Line ${number} is not JSON: ${(cause as Error).message}`, { path: `line ${number}`, cause })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new InvalidError(`Line ${number} is not an entry: an object with kind and payload is expected`, {
    path: `line ${number}`,
  })
}

async function keepBlob(store: Store, line: Record<string, unknown>, number: number): Promise<void> {
  const bytes = Buffer.from(String(line.base64), 'base64')
  if (createHash('sha256').update(bytes).digest('hex') !== line.blob) {
    throw new InvalidError(`Line ${number} holds a blob whose bytes are not those it is named after`, {
      path: `line ${number}`,
    })
  }
  await store.putBlob(bytes)
}

/** Room for what the store adds to each line. */
const overhead = 160

/** Drafts in batches that fit the store's limits. `reserve` entries are kept free in each batch, for what the caller adds. */
export function inBatches(drafts: AsyncIterable<Draft> | Iterable<Draft>, reserve = 0): AsyncGenerator<Draft[]> {
  const { batchEntries, batchBytes } = limits
  const isFull = (_: Draft, batch: readonly Draft[], bytes: number) =>
    batch.length + reserve >= batchEntries || bytes > batchBytes - 4096
  return inChunks(drafts, isFull, overhead)
}
