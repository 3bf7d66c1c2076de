// What a tape is made of. An entry is typed by its kind: `entry.kind === 'message'` gives `entry.payload` the fields of a message.
// Kinds that Baton does not know are kept as they are, and their payload is `unknown`.

/** Anything that JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** What is known about an entry besides its payload. Unknown fields are kept. */
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

export const reservedFields = ['id', 'b', 'crc'] as const

/** The payload of each kind that Baton knows. Fields beyond these are kept too. */
export interface Payloads {
  message: MessagePayload
  system: SystemPayload
  tool_call: ToolCallPayload
  tool_result: ToolResultPayload
  anchor: AnchorPayload
  event: EventPayload
  error: ErrorPayload
}

export type Kind = keyof Payloads

/** One stored line of a tape, immutable. */
export type Entry = { [K in Kind]: EntryOf<K> }[Kind] | OtherEntry

/** An entry of a known kind, such as `EntryOf<'message'>`. */
export interface EntryOf<K extends Kind> extends EntryFields {
  readonly kind: K
  readonly payload: Payloads[K]
}

/** An entry of any other kind. */
export interface OtherEntry extends EntryFields {
  readonly kind: OtherKind
  readonly payload: unknown
}

interface EntryFields {
  readonly id: number
  readonly meta: Meta
  readonly date: string
  readonly [field: string]: unknown
}

/** The entry that a draft is at its place on a tape. */
export function entryFrom(draft: Draft, id: number, date: string): Entry {
  return { ...draft, id, meta: draft.meta ?? {}, date } as Entry
}

declare const isOther: unique symbol

/**
 * Any word but the known kinds. TypeScript has no such type, and with plain `string` no comparison would narrow an entry; so this is
 * a string that equals no literal. To compare it with a kind of your own: `const kind: string = entry.kind`.
 */
export type OtherKind = '…' & { readonly [isOther]: true }

export interface Part {
  type: string
  [field: string]: unknown
}

export interface MessagePayload {
  role: string
  content?: string | Part[] | null
  customType?: string
  display?: boolean
  [field: string]: unknown
}

export interface SystemPayload {
  content: string
  [field: string]: unknown
}

export interface ToolCall {
  id: string
  name: string
  arguments?: unknown
  [field: string]: unknown
}

export interface ToolCallPayload {
  calls: ToolCall[]
  [field: string]: unknown
}

export interface ToolResult {
  call_id: string
  name?: string
  output?: unknown
  is_error?: boolean
  [field: string]: unknown
}

export interface ToolResultPayload {
  results: ToolResult[]
  [field: string]: unknown
}

export interface AnchorPayload {
  name: string
  state?: unknown
  /** First entry of the context that the anchor opens; the entry right after the anchor unless given. */
  from?: number
  [field: string]: unknown
}

export interface EventPayload {
  name: string
  data?: unknown
  [field: string]: unknown
}

export interface ErrorPayload {
  kind: string
  message: string
  details?: unknown
  [field: string]: unknown
}

/** The kind of error that a repair leaves in the place of an entry that could not be read. */
export const lostEntry = 'damaged'

/** Whether this stands in the place of an entry that was damaged, and is lost. */
export function isLost(entry: { readonly kind: string; readonly payload: unknown }): boolean {
  return entry.kind === 'error' && (entry.payload as Partial<ErrorPayload> | null)?.kind === lostEntry
}
