// Parsers for the values of options and arguments.

import { InvalidArgumentError } from 'commander'

export function wholeNumber(text: string): number {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new InvalidArgumentError('It must be a whole number, without a sign.')
}

export function port(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text)
  throw new InvalidArgumentError('It must be a number from 0 to 65535.')
}

export function words(text: string): string[] {
  return text.split(',').filter((word) => word !== '')
}

export function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new InvalidArgumentError(`It must be JSON: ${(error as Error).message}.`)
  }
}
