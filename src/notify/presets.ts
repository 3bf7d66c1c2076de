// A notification as each service wants it. Pure: what is sent can be read from here.

import { cut, type Notification, plainText, utf16Units, utf8Bytes } from './notification.ts'
import type { Level, Preset } from './settings.ts'

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
