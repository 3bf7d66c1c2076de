// How large a task may become: generous for work, closed to a runaway agent.

import { LimitError } from '../errors.ts'
import type { TaskState } from './schema.ts'

export const defaultBounds = {
  /** Characters of any one text. */
  text: 10_000,
  artifacts: 100_000,
  decisions_made: 10_000,
  blocking_issues: 1_000,
  warnings: 1_000,
  /** Of all that one version changes. */
  bytes: 32 * 1024 * 1024,
}
export type Bounds = Readonly<typeof defaultBounds>

const lists = ['artifacts', 'decisions_made', 'blocking_issues', 'warnings'] as const

/** Every text within what a caller gave, whatever field it is in. */
export function checkTexts(value: unknown, bounds: Bounds, path = ''): void {
  if (typeof value === 'string') {
    if (value.length <= bounds.text) return
    throw tooLarge(`${path} has ${count(value.length)} characters`, bounds.text, 'text')
  }
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) value.forEach((each, i) => checkTexts(each, bounds, `${path}[${i}]`))
  else for (const [key, each] of Object.entries(value)) checkTexts(each, bounds, path === '' ? key : `${path}.${key}`)
}

/** The lengths of the lists. */
export function checkLists(state: TaskState, bounds: Bounds): void {
  for (const list of lists) {
    const { length } = state[list]
    if (length > bounds[list]) throw tooLarge(`${list} has ${count(length)} items`, bounds[list], list)
  }
}

export function checkBytes(bytes: number, bounds: Bounds): void {
  if (bytes > bounds.bytes) throw tooLarge(`The version has ${count(bytes)} bytes of changes`, bounds.bytes, 'bytes')
}

function tooLarge(what: string, most: number, bound: keyof Bounds): LimitError {
  return new LimitError(`${what}, at most ${count(most)} are allowed`, {
    hint: `Keep large content in files and hand those over; task.bounds.${bound} in baton.config.json sets the bound.`,
  })
}

function count(n: number): string {
  return n.toLocaleString('en-US')
}
