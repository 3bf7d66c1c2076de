// The `notify` section of baton.config.json: whom to notify, and how.

import * as z from 'zod'

const levels = ['info', 'warning', 'critical'] as const
export type Level = (typeof levels)[number]

const presets = ['json', 'ntfy', 'slack', 'telegram'] as const
export type Preset = (typeof presets)[number]

const variable = /^env:[A-Za-z_]\w*$/

/** A value, or `env:NAME` for one that does not belong into a file. */
const secret = z
  .string()
  .min(1)
  .refine((text) => !text.startsWith('env:') || variable.test(text), 'after env: comes the name of a variable')

const common = {
  name: z.string().min(1).optional().describe('what it is called in reports'),
  levels: z
    .array(z.enum(levels))
    .min(1)
    .default([...levels])
    .describe('which notifications go there'),
}

const webhookSchema = z
  .strictObject({
    type: z.literal('webhook'),
    url: secret
      .refine((url) => url.startsWith('env:') || isWebAddress(url), 'it must be an http(s) address or env:NAME')
      .describe('an http(s) address, or env:NAME to take it from a variable'),
    preset: z.enum(presets).default('json').describe('the service behind the address'),
    chatId: z.union([secret, z.int()]).optional().describe('of a Telegram chat'),
    headers: z.record(z.string().min(1), secret).default({}).describe('sent along; a value may be env:NAME'),
    ...common,
  })
  .refine(({ preset, chatId }) => preset !== 'telegram' || chatId !== undefined, {
    path: ['chatId'],
    message: 'telegram needs to know the chat',
  })
export type WebhookChannel = z.output<typeof webhookSchema>

const commandSchema = z.strictObject({
  type: z.literal('command'),
  command: z.array(z.string()).min(1).describe('a program and its arguments; no shell reads them'),
  ...common,
})
export type CommandChannel = z.output<typeof commandSchema>

const desktopSchema = z.strictObject({ type: z.literal('desktop'), ...common })

export type Channel = WebhookChannel | CommandChannel | z.output<typeof desktopSchema>

export const notifySection = z.strictObject({
  channels: z
    .array(z.discriminatedUnion('type', [webhookSchema, commandSchema, desktopSchema]))
    .default([])
    .describe('where notifications go'),
  retries: z.int().min(0).max(20).default(3).describe('attempts after the first one failed'),
  timeoutMs: z.int().min(1).max(600_000).default(10_000).describe('how long one attempt may take'),
})
export type NotifySettings = z.output<typeof notifySection>

export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
