// What a tape is made of. The store knows only as much of an entry as it must index; what payloads mean is the tape's.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export interface Meta {
  run_id?: string
  /** Entries with a key can be read and checked as the latest of their key. */
  key?: string
  /** A `tape://` reference to the entry this one was copied from. */
  origin?: string
  /** `false`: never rendered into a context. */
  context?: boolean
  /** Appending again with the same value returns what the first append wrote, as long as its segment is current. */
  idempotency?: string
  [field: string]: unknown
}

/** What a caller appends. Fields it does not know are kept; `id`, `b` and `crc` belong to the store. */
export interface Draft {
  kind: string
  payload: unknown
  meta?: Meta
  /** ISO 8601; set by the store unless given. */
  date?: string
  [field: string]: unknown
}

export interface Entry {
  readonly id: number
  readonly kind: string
  readonly payload: unknown
  readonly meta: Meta
  readonly date: string
  readonly [field: string]: unknown
}

export interface AnchorRef {
  readonly id: number
  readonly name: string
  readonly state: unknown
  /** First entry of the context that this anchor opens; the entry right after the anchor unless given. */
  readonly from?: number
  readonly date: string
}

export const reservedFields = ['id', 'b', 'crc'] as const
