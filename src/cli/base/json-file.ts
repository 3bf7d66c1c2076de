// JSON objects that a command is given in a file, on stdin or as an argument.

import fs from 'node:fs'
import path from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { InvalidError, NotFoundError } from '../../errors.ts'
import type { Io } from './io.ts'

/** Reads a JSON object from a file, or from stdin for `-`. */
export async function readObject(file: string, io: Io): Promise<Record<string, unknown>> {
  let text: string
  try {
    text = file === '-' ? await readAll(io.stdin) : fs.readFileSync(path.resolve(io.cwd(), file), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new NotFoundError(`There is no file ${file}`)
  }
  return parseObject(text, file === '-' ? 'stdin' : file)
}

/** `where` is the subject of the error message. */
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
