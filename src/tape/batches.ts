// Drafts in batches that fit the store's limits.

import { type Draft, limits } from '../store/index.ts'

/** Room for what the store adds to each line. */
const overhead = 160

/** `reserve` entries are kept free in each batch, for what the caller adds. */
export async function* inBatches(drafts: AsyncIterable<Draft> | Iterable<Draft>, reserve = 0): AsyncGenerator<Draft[]> {
  let batch: Draft[] = []
  let bytes = 0
  for await (const draft of drafts) {
    const size = Buffer.byteLength(JSON.stringify(draft)) + overhead
    if (
      batch.length > 0 &&
      (batch.length + reserve >= limits.batchEntries || bytes + size > limits.batchBytes - 4096)
    ) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(draft)
    bytes += size
  }
  if (batch.length > 0) yield batch
}
