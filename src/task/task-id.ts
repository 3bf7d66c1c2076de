// Task ids name a tape and a file, so none may reach beyond the two.

import { InvalidError, LimitError } from '../errors.ts'

/** Of the encoded id, so that the tape's name and every file made from it fit. */
const longest = 180
const prefix = 'task/'

export function tapeOf(task: string): string {
  encodeTaskId(task)
  return prefix + task
}

export function taskOf(tape: string): string {
  return tape.slice(prefix.length)
}

/** The id as part of a file's name. */
export function encodeTaskId(task: string): string {
  const refuse = (why: string) =>
    new InvalidError(`"${task}" cannot be a task's id: ${why}`, {
      path: 'task_id',
      hint: 'Use letters, digits, spaces and marks such as - _ . : as in TASK-001.',
    })
  if (task === '') throw new InvalidError('A task needs an id', { path: 'task_id' })
  if (/[/\\]/.test(task)) throw refuse('it would leave its folder')
  if (task.startsWith('.')) throw refuse('it begins with a dot')
  if (task.startsWith('-')) throw refuse('it begins with a dash, as options do')
  if (/\p{Cc}/u.test(task) || task.trim() !== task) throw refuse('it holds invisible characters')
  let encoded: string
  try {
    encoded = encodeURIComponent(task)
  } catch {
    throw refuse('it holds half of a character pair')
  }
  if (encoded.length <= longest) return encoded
  throw new LimitError(`A task's id takes at most ${longest} bytes when encoded, task_id has ${encoded.length}`)
}
