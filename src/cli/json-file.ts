// JSON that a command is given as a file.

import fs from 'node:fs'
import { InvalidError, NotFoundError } from '../errors.ts'

/** A JSON object from a file, or from stdin for `-`. */
export function readObject(file: string): Record<string, unknown> {
  let text: string
  try {
    text = fs.readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new NotFoundError(`There is no file ${file}`)
  }
  return parseObject(text, file === '-' ? 'stdin' : file)
}

/** `where` opens the sentence when it is none. */
export function parseObject(text: string, where: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new InvalidError(`${where} is not JSON: ${(error as Error).message}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new InvalidError(`${where} must be a JSON object`)
}
