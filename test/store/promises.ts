// The promise table: each row is a promise every engine keeps, each column (engines.ts) an engine.

import { appending } from './promises/append.ts'
import { archiving } from './promises/archive.ts'
import { blobs } from './promises/blob.ts'
import { creating } from './promises/create.ts'
import { drafting } from './promises/draft.ts'
import { naming } from './promises/name.ts'
import { reading } from './promises/read.ts'
import type { StorePromise } from './promises/row.ts'
import { watching } from './promises/watch.ts'

export const promises: readonly StorePromise[] = [
  ...appending,
  ...drafting,
  ...naming,
  ...reading,
  ...watching,
  ...creating,
  ...archiving,
  ...blobs,
]
