// Edits of files that belong to the user: what is added is added and removed again without a byte of the rest moving, comments
// included. Pure functions of the text.

import { isDeepStrictEqual } from 'node:util'
import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  type JSONPath,
  modify,
  type Node,
  parseTree,
  type ParseError,
} from 'jsonc-parser'
import type { Change } from '../agents/index.ts'
import { InvalidError } from '../errors.ts'

type Edit = Exclude<Change, { type: 'file' }>

/** What some editors put before everything else. It stays where it is. */
const byteOrderMark = '\u{feff}'

/** The text with the change in it; `undefined` stands for a file that is not there. */
export function applied(text: string | undefined, edit: Edit): string {
  if (text?.startsWith(byteOrderMark) === true) return byteOrderMark + applied(text.slice(1), edit)
  if (edit.type === 'table') return withTable(text ?? '', edit)
  const root = (text ?? '').trim() === '' ? '{}\n' : text!
  checkJson(root, edit.path)
  checkWayTo(root, edit)
  if (edit.type === 'value') return setAt(root, edit.at, edit.value)
  const list = valueAt(root, edit.at)
  if (Array.isArray(list) && list.some((each) => isDeepStrictEqual(each, edit.value))) return root
  if (list !== undefined && !Array.isArray(list))
    throw new InvalidError(`${edit.path}: ${edit.at.join('.')} is not a list`)
  return list === undefined ? setAt(root, edit.at, [edit.value]) : withItem(root, edit.at, edit.value)
}

/** The text without the change: only what is still as Baton wrote it is removed. `before` is the value that stood there. */
export function removed(text: string, edit: Edit, before?: unknown): string {
  if (text.startsWith(byteOrderMark)) return byteOrderMark + removed(text.slice(1), edit, before)
  if (edit.type === 'table') return withoutTable(text, edit)
  if (parsed(text) === undefined) return text
  if (edit.type === 'value') {
    if (!isDeepStrictEqual(valueAt(text, edit.at), edit.value)) return text
    return before === undefined ? prune(setAt(text, edit.at, undefined), edit.at) : setAt(text, edit.at, before)
  }
  const list = valueAt(text, edit.at)
  const index = Array.isArray(list) ? list.findIndex((each) => isDeepStrictEqual(each, edit.value)) : -1
  return index < 0 ? text : prune(withoutItem(text, edit.at, index), [...edit.at, 0])
}

/** What stands at that place of a JSON file; undefined if nothing does. */
export function valueAt(text: string | undefined, at: readonly (string | number)[]): unknown {
  let value: unknown = text === undefined ? undefined : parsed(text)
  for (const name of at) value = (value as Record<string | number, unknown> | undefined | null)?.[name]
  return value
}

/** Whether the file is more than strict JSON: Claude Code then ignores all of it. */
export function hasComments(text: string): boolean {
  try {
    JSON.parse(withoutMark(text))
    return false
  } catch {
    return parsed(text) !== undefined
  }
}

/** No formatting options: they would make jsonc-parser lay out the neighbours anew. */
function setAt(text: string, at: readonly (string | number)[], value: unknown): string {
  return applyEdits(text, modify(text, [...at] as JSONPath, value, {}))
}

/** jsonc-parser itself leaves a brace behind when it removes the last of several elements, so lists are edited here. */
function withItem(text: string, at: readonly string[], value: unknown): string {
  const list = nodeAt(text, at)
  const last = list.children?.at(-1)
  const item = JSON.stringify(value)
  return last === undefined ? insert(text, list.offset + 1, item) : insert(text, last.offset + last.length, `,${item}`)
}

function withoutItem(text: string, at: readonly string[], index: number): string {
  const items = nodeAt(text, at).children ?? []
  const [previous, item, next] = [items[index - 1], items[index]!, items[index + 1]]
  const start = previous === undefined ? item.offset : previous.offset + previous.length
  const end = previous === undefined && next !== undefined ? next.offset : item.offset + item.length
  return text.slice(0, start) + text.slice(end)
}

function nodeAt(text: string, at: readonly string[]): Node {
  return findNodeAtLocation(parseTree(text, [], { allowTrailingComma: true })!, [...at])!
}

function insert(text: string, at: number, more: string): string {
  return text.slice(0, at) + more + text.slice(at)
}

/** Removes what the removal left empty, from the inside out. */
function prune(text: string, at: readonly (string | number)[]): string {
  const above = at.slice(0, -1)
  if (above.length === 0) return text
  const value = valueAt(text, above)
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
  return isEmpty ? prune(setAt(text, above, undefined), above) : text
}

function parsed(text: string): unknown {
  const errors: ParseError[] = []
  const tree: Node | undefined = parseTree(withoutMark(text), errors, { allowTrailingComma: true })
  if (tree === undefined || errors.length > 0) return undefined
  // The parser's objects have no prototype and would never equal plain ones, so they are copied.
  return structuredClone(getNodeValue(tree) as unknown)
}

function withoutMark(text: string): string {
  return text.startsWith(byteOrderMark) ? text.slice(1) : text
}

function checkJson(text: string, path: string): void {
  const value = parsed(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw new InvalidError(`${path} cannot be read as JSON, so nothing was changed`, {
    hint: 'Mend it, then connect again.',
  })
}

/** Whatever the value is to stand in must be an object, or not be there yet. */
function checkWayTo(text: string, { path, at }: Exclude<Edit, { type: 'table' }>): void {
  for (let depth = 1; depth < at.length; depth++) {
    const above = valueAt(text, at.slice(0, depth))
    if (above === undefined || (typeof above === 'object' && above !== null && !Array.isArray(above))) continue
    throw new InvalidError(`${path}: ${at.slice(0, depth).join('.')} is no object, so nothing was changed`, {
      hint: 'Mend it, then connect again.',
    })
  }
}

type TableEdit = Extract<Change, { type: 'table' }>

function withTable(text: string, edit: TableEdit): string {
  if (text.split('\n').some((line) => line.trim() === edit.table)) {
    throw new InvalidError(`${edit.path} has ${edit.table} already, and it is not Baton's`, {
      hint: 'Remove it, then connect again.',
    })
  }
  // A table can always be added at the end, unless its parent was written as an inline table.
  const parent = edit.table.slice(1, -1).split('.')[0]!
  if (new RegExp(String.raw`^\s*${parent}\s*=`, 'm').test(text)) {
    throw new InvalidError(`${edit.path} gives ${parent} as an inline table, to which nothing can be added`, {
      hint: `Write it as tables, or add ${edit.table} yourself:\n${edit.lines}`,
    })
  }
  return `${text}${blockOf(text, edit)}`
}

/** The newlines before it are its own too, so that removing it leaves what was there. */
function blockOf(before: string, { table, lines }: TableEdit): string {
  const gap = before === '' ? '' : before.endsWith('\n') ? '\n' : '\n\n'
  return `${gap}${table}\n${lines}`
}

function withoutTable(text: string, edit: TableEdit): string {
  const block = `${edit.table}\n${edit.lines}`
  const at = text.indexOf(block)
  if (at < 0) return text
  const start = text.slice(0, at).endsWith('\n\n') ? at - 1 : at
  return text.slice(0, start) + text.slice(at + block.length)
}
