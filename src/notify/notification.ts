// What a person is told: what happened, and what to do about it.

import type { Level } from './settings.ts'

export interface Notification {
  readonly level: Level
  readonly title: string
  readonly body: string
  /** What the person should do next, best as a command to type. */
  readonly action: string
  /** Who tells: `relay`, `supervisor`… */
  readonly source: string
  /** The same thing told again within a while is not sent again. */
  readonly key?: string
}

/** A notification as programs get it: JSON. */
export interface NotificationRecord extends Notification {
  readonly at: string
}

/** The body and the action as one text of at most `limit` units of `length`; the body gives way, the action stays. */
export function plainText(told: Notification, limit: number, length: (text: string) => number): string {
  const action = told.action === '' ? '' : cut(told.action, Math.floor(limit / 2), length)
  const ending = action === '' ? '' : `${told.body === '' ? '' : '\n\n'}${action}`
  return `${cut(told.body, limit - length(ending), length)}${ending}`
}

/** As much of the text as fits, never half a character. */
export function cut(text: string, limit: number, length: (text: string) => number): string {
  if (length(text) <= limit) return text
  const mark = '…'
  const room = limit - length(mark)
  if (room < 0) return ''
  // No unit is shorter than a UTF-16 unit is here, so that this bounds the work on a huge text.
  const characters = Array.from(text.slice(0, limit))
  let used = 0
  let kept = 0
  for (const character of characters) {
    used += length(character)
    if (used > room) break
    kept += character.length
  }
  return `${text.slice(0, kept)}${mark}`
}

export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text)
}

export function utf16Units(text: string): number {
  return text.length
}
