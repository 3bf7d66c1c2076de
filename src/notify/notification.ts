// A notification: what happened and what to do about it, and the form in which each service wants it.

import type { Level, Preset } from './settings.ts'

export interface Notification {
  readonly level: Level
  readonly title: string
  readonly body: string
  /** What the person should do next, best as a command to type. */
  readonly action: string
  /** The part of Baton that sends it: `relay`, `supervisor`… */
  readonly source: string
  /** A notification with the same key is not sent again within a while. */
  readonly key?: string
}

/** A notification as programs get it: JSON. */
export interface NotificationRecord extends Notification {
  readonly at: string
}

/** The body and the action as one text of at most `limit` units of `length`; the body gives way, the action stays. */
function plainText(told: Notification, limit: number, length: (text: string) => number): string {
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

function utf16Units(text: string): number {
  return text.length
}

interface Post {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type Shape = (told: Notification, at: string, chatId: string | number | undefined) => Post

export const shapes: Record<Preset, Shape> = {
  json: (told, at) => json({ ...bounded(told), at }),

  // Longer messages become attachments, which not every server takes.
  ntfy: (told) => ({
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      title: encodedWords(cut(oneLine(told.title), 250, utf8Bytes)),
      priority: ntfyPriority[told.level],
      tags: ntfyTag[told.level],
    },
    body: plainText(told, 4_000, utf8Bytes),
  }),

  slack: (told) => {
    const title = `*${slackEscaped(`${slackSign[told.level]} ${cut(oneLine(told.title), 250, utf16Units)}`)}*`
    return json({ text: `${title}\n${slackEscaped(plainText(told, 3_000, utf16Units))}` })
  },

  // Without a parse_mode: nothing in the text can be read as markup.
  telegram: (told, _at, chatId) =>
    json({
      chat_id: chatId,
      text: `${cut(oneLine(told.title), 250, utf16Units)}\n\n${plainText(told, 3_600, utf16Units)}`,
      disable_notification: told.level === 'info',
      link_preview_options: { is_disabled: true },
    }),
}

/** A desktop shows a line and a few more. */
export function desktopText(told: Notification): { title: string; body: string } {
  return { title: cut(oneLine(told.title), 250, utf16Units), body: plainText(told, 1_000, utf16Units) }
}

/** What one notification may weigh where nobody else sets a limit. */
const bodyBytes = 64 * 1024

export function bounded(told: Notification): Notification {
  return {
    ...told,
    title: cut(told.title, 1_000, utf8Bytes),
    body: cut(told.body, bodyBytes, utf8Bytes),
    action: cut(told.action, 4_000, utf8Bytes),
  }
}

const ntfyPriority: Record<Level, string> = { info: '3', warning: '4', critical: '5' }
const ntfyTag: Record<Level, string> = { info: 'information_source', warning: 'warning', critical: 'rotating_light' }
const slackSign: Record<Level, string> = {
  info: ':information_source:',
  warning: ':warning:',
  critical: ':rotating_light:',
}

function json(value: unknown): Post {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
}

function slackEscaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** A header holds ASCII only; other text goes in as RFC 2047 encoded words of at most 75 characters each. */
function encodedWords(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text
  const words: string[] = []
  let word = ''
  for (const character of text) {
    if (utf8Bytes(word + character) > 45) {
      words.push(word)
      word = ''
    }
    word += character
  }
  return [...words, word].map((each) => `=?UTF-8?B?${Buffer.from(each).toString('base64')}?=`).join(' ')
}
