// What is in an entry, whatever shape it has: anybody may write to a tape, so nothing is taken for granted here.

import { tokensText } from '../../parts/numbers.ts'

type Fields = Record<string, unknown>

export type Part =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'image'; readonly source: string }
  | { readonly type: 'blob'; readonly sha256: string; readonly bytes: number; readonly preview: string }
  | { readonly type: 'other'; readonly name: string; readonly text: string }

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Any value as text. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  if (Array.isArray(value))
    return value
      .map((each) => (isFields(each) && typeof each['text'] === 'string' ? each['text'] : textOf(each)))
      .join('\n')
  return JSON.stringify(value, null, 2)
}

export function partsIn(content: unknown): readonly Part[] {
  if (!Array.isArray(content)) return [isBlobLike(content) ? blobOf(content) : { type: 'text', text: textOf(content) }]
  return content.map((part): Part => {
    if (!isFields(part)) return { type: 'text', text: textOf(part) }
    if (isBlobLike(part)) return blobOf(part)
    const { type, text } = part
    if (type === 'text' && typeof text === 'string') return { type: 'text', text }
    if (type === 'reasoning' || type === 'thinking')
      return { type: 'reasoning', text: textOf(text ?? part['thinking']) }
    const source = imageIn(part)
    if (source !== undefined) return { type: 'image', source }
    return { type: 'other', name: typeof type === 'string' ? type : 'part', text: JSON.stringify(part, null, 2) }
  })
}

/** Drawings are left out: they may hold links and scripts. */
const imageTypes = /^image\/(png|jpeg|gif|webp)$/
const base64 = /^[A-Za-z0-9+/=\s]+$/
const mostImage = 4_000_000

function imageIn(part: Fields): string | undefined {
  const type = part['mediaType'] ?? part['mimeType'] ?? part['media_type']
  const data = part['data'] ?? part['image']
  if (typeof type !== 'string' || !imageTypes.test(type) || typeof data !== 'string') return undefined
  return data.length < mostImage && base64.test(data.slice(0, 200)) ? `data:${type};base64,${data}` : undefined
}

function isBlobLike(value: unknown): value is Fields {
  return isFields(value) && typeof value['sha256'] === 'string' && typeof value['preview'] === 'string'
}

function blobOf(value: Fields): Part {
  const { sha256, bytes, preview } = value
  return { type: 'blob', sha256: String(sha256), bytes: Number(bytes), preview: String(preview) }
}

export function callsIn(payload: Fields): readonly { id: string; name: string; input: unknown }[] {
  const calls = Array.isArray(payload['calls']) ? payload['calls'] : [payload]
  return calls.map((each: unknown, at) => {
    const call = isFields(each) ? each : {}
    return {
      id: `${String(call['id'] ?? '')} ${at}`,
      name: textOf(call['name'] ?? 'call'),
      input: call['arguments'] ?? call['input'],
    }
  })
}

export function resultsIn(payload: Fields): readonly { id: string; name: string; text: string; failed: boolean }[] {
  const results = Array.isArray(payload['results']) ? payload['results'] : [payload]
  return results.map((each: unknown, at) => {
    const result = isFields(each) ? each : {}
    const output = result['output']
    const text = isBlobLike(output) ? `${String(output['preview'])}\n…` : textOf(output)
    return {
      id: `${String(result['call_id'] ?? '')} ${at}`,
      name: textOf(result['name']),
      text,
      failed: result['is_error'] === true,
    }
  })
}

/** A value in a line: its first fields. */
export function summaryOf(value: unknown): string {
  return summary(value, ' · ', 3).slice(0, 640)
}

/** `depth` bounds the recursion: what lies deeper is shown when the entry is unfolded. */
function summary(value: unknown, separator: string, depth: number): string {
  if (typeof value === 'string') return oneLine(value)
  if (value === undefined) return ''
  if (typeof value !== 'object' || value === null) return oneLine(JSON.stringify(value))
  if (depth === 0) return '…'
  const parts: string[] = []
  for (const [name, each] of Object.entries(value)) {
    if (parts.length === 4) break
    const text = summary(each, ', ', depth - 1)
    const needsNoName =
      Array.isArray(value) || (parts.length === 0 && /^(command|path|file_path|pattern|query|summary|url)$/.test(name))
    parts.push(needsNoName ? text : `${name}: ${text === '' ? 'none' : text}`)
  }
  return parts.join(separator)
}

/** What an event says, in a line. */
export function eventSummary(name: unknown, data: unknown): string {
  if (name !== 'usage' || !isFields(data)) return summaryOf(data)
  const { contextTokens = data['total'], outputTokens } = data
  const parts = [
    typeof contextTokens === 'number' ? `${tokensText(contextTokens)} tokens in the context` : '',
    typeof outputTokens === 'number' ? `${tokensText(outputTokens)} written` : '',
  ].filter((part) => part !== '')
  return parts.length === 0 ? summaryOf(data) : parts.join(' · ')
}

function oneLine(text: string): string {
  return text.slice(0, 160).replaceAll(/\s+/g, ' ')
}
