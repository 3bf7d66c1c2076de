// What the payloads of known kinds look like. Checked where entries come in, with fields nobody knows kept as they are;
// kinds nobody knows pass unchecked. Plain functions rather than a schema library: every append and every start of the
// command line passes here.

import { InvalidError } from '../../errors.ts'
import type { Draft } from '../../store/index.ts'

type Fields = Record<string, unknown>
/** Says what a field should have been, if it is not. */
type Check = (value: unknown) => string | undefined

const word: Check = (value) => (typeof value === 'string' && value !== '' ? undefined : 'a word')
const text: Check = (value) => (typeof value === 'string' ? undefined : 'text')
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value)
const flag: Check = (value) => (typeof value === 'boolean' ? undefined : 'true or false')

const shapes: Record<string, Record<string, Check>> = {
  message: { role: word, customType: optional(text), display: optional(flag) },
  system: { content: text },
  tool_call: {},
  tool_result: {},
  anchor: { name: word },
  event: { name: word },
  error: { kind: word, message: text },
}

/** Fields that hold lists, and what each item must have. */
const lists: Record<string, { field: string; item: Record<string, Check>; filled: boolean }> = {
  message: { field: 'content', item: { type: word }, filled: false },
  tool_call: { field: 'calls', item: { id: word, name: word }, filled: true },
  tool_result: {
    field: 'results',
    item: { call_id: word, name: optional(text), is_error: optional(flag) },
    filled: true,
  },
}

/** Throws `InvalidError` with the path of what is wrong in the payload of a known kind. */
export function checkPayload(draft: Draft, where = ''): void {
  const kind = typeof draft?.kind === 'string' ? draft.kind : ''
  const shape = Object.hasOwn(shapes, kind) ? shapes[kind]! : undefined
  if (shape === undefined) return
  const refuse = (path: string, expected: string) => {
    throw new InvalidError(`${where}${path} of ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind} must be ${expected}`, {
      path,
    })
  }
  if (!isObject(draft.payload)) return refuse('payload', 'an object')
  checkFields(draft.payload, shape, 'payload', refuse)
  const list = lists[kind]
  if (list === undefined) return
  const items = draft.payload[list.field]
  const path = `payload.${list.field}`
  if (!list.filled && (items === undefined || items === null || typeof items === 'string')) return
  if (!Array.isArray(items)) return refuse(path, list.filled ? 'a list' : 'text or a list of parts')
  if (list.filled && items.length === 0) return refuse(path, 'a list that is not empty')
  items.forEach((item: unknown, i) => {
    if (isObject(item)) checkFields(item, list.item, `${path}.${i}`, refuse)
    else refuse(`${path}.${i}`, 'an object')
  })
}

function checkFields(
  value: Fields,
  shape: Record<string, Check>,
  path: string,
  refuse: (path: string, expected: string) => void,
) {
  for (const field in shape) {
    const expected = shape[field]!(value[field])
    if (expected !== undefined) refuse(`${path}.${field}`, expected)
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
