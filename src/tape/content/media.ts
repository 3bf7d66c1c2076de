// Images and files inside messages and tool results, in the shapes of every provider: what they are, and where their data stands.

import type { Draft, MessagePayload, Part, ToolResult } from '../../store/index.ts'

export interface Media {
  readonly type: 'media'
  readonly kind: 'image' | 'file'
  readonly mediaType: string
  readonly data?: string
  readonly url?: string
  readonly filename?: string
}

const mediaParts = new Set([
  'image',
  'image_url',
  'input_image',
  'image-data',
  'image-url',
  'file',
  'input_file',
  'file-data',
  'file-url',
  'document',
  'media',
])

export function isMedia(part: Part): boolean {
  return mediaParts.has(part.type)
}

/** Where a part may hold its data or its address. A name alone may hold either. */
const places: readonly (readonly string[])[] = [
  ['image_url', 'url'],
  ['url'],
  ['source', 'url'],
  ['data'],
  ['image'],
  ['image_url'],
  ['source', 'data'],
  ['file', 'file_data'],
  ['file_data'],
]

/** Undefined where the part holds no data and no address. */
export function mediaOf(part: Part): Media | undefined {
  const place = placeOf(part)
  if (place === undefined) return undefined
  const where = textAt(part, place)!
  const source = { ...asObject(part.source), ...asObject(part.file) }
  const inline = splitDataUrl(where)
  const named = [part.mediaType, part.mimeType, part.media_type, source.media_type].find(
    (type): type is string => typeof type === 'string',
  )
  const isImage = part.type.includes('image') || named?.startsWith('image/') === true
  const filename = part.filename ?? source.filename
  return {
    type: 'media',
    kind: isImage ? 'image' : 'file',
    mediaType: inline?.mediaType || (named ?? (isImage ? 'image/png' : 'application/octet-stream')),
    ...(inline !== undefined ? { data: inline.data } : /^https?:/.test(where) ? { url: where } : { data: where }),
    ...(typeof filename === 'string' ? { filename } : {}),
  }
}

/** The part without its data, and how to put that back; undefined where it holds none, or one that base64 does not give back. */
export function takeData(
  part: Part,
):
  | { readonly bytes: Buffer; readonly rest: Part; readonly at: readonly string[]; readonly before: string }
  | undefined {
  const at = isMedia(part) ? placeOf(part) : undefined
  const where = at === undefined ? '' : textAt(part, at)!
  if (at === undefined || /^https?:/.test(where)) return undefined
  const data = splitDataUrl(where)?.data ?? where
  const bytes = Buffer.from(data, 'base64')
  if (bytes.toString('base64') !== data) return undefined
  return { bytes, rest: putText(part, at, ''), at, before: where.slice(0, where.length - data.length) }
}

export function putData(rest: Part, at: readonly string[], before: string, bytes: Buffer): Part {
  return putText(rest, at, before + bytes.toString('base64'))
}

/** The parts that a tool's output consists of: a list of them, one image or file, or an MCP result that holds one. */
export function partsOf(output: unknown): Part[] | undefined {
  if (Array.isArray(output)) return output.length > 0 && output.every(isPart) ? output : undefined
  if (isPart(output)) return isMedia(output) || 'of' in output ? [output] : undefined
  const { content } = asObject(output)
  const parts = Array.isArray(content) ? partsOf(content) : undefined
  return parts?.some((part) => isMedia(part) || 'of' in part) === true ? parts : undefined
}

/** The same output with other parts, which must be as many. */
export function withParts(output: unknown, parts: readonly Part[]): unknown {
  if (Array.isArray(output)) return parts
  return isPart(output) ? parts[0] : { ...asObject(output), content: parts }
}

/** A message or a result whose images are bytes, as the AI SDK takes them, with base64 in their place: a tape holds JSON. */
export function withBase64(draft: Draft): Draft {
  if (draft.kind === 'message') {
    const payload = draft.payload as MessagePayload
    return Array.isArray(payload.content)
      ? { ...draft, payload: { ...payload, content: payload.content.map(base64Part) } }
      : draft
  }
  if (draft.kind !== 'tool_result') return draft
  const payload = draft.payload as { results: ToolResult[] }
  const results = payload.results.map((result) => {
    const parts = partsOf(result.output)
    return parts === undefined ? result : { ...result, output: withParts(result.output, parts.map(base64Part)) }
  })
  return { ...draft, payload: { ...payload, results } }
}

function base64Part(part: Part): Part {
  const field = (['data', 'image'] as const).find((name) => part[name] instanceof Uint8Array)
  return field === undefined ? part : { ...part, [field]: Buffer.from(part[field] as Uint8Array).toString('base64') }
}

function isPart(value: unknown): value is Part {
  return typeof asObject(value).type === 'string'
}

function placeOf(part: Part): readonly string[] | undefined {
  return places.find((place) => (textAt(part, place) ?? '') !== '')
}

function textAt(part: Part, [first, second]: readonly string[]): string | undefined {
  const outer = part[first!]
  const value = second === undefined ? outer : asObject(outer)[second]
  return typeof value === 'string' ? value : undefined
}

function putText(part: Part, [first, second]: readonly string[], text: string): Part {
  return { ...part, [first!]: second === undefined ? text : { ...asObject(part[first!]), [second]: text } }
}

function splitDataUrl(text: string): { mediaType: string; data: string } | undefined {
  if (!text.startsWith('data:')) return undefined
  const comma = text.indexOf(',')
  const head = text.slice(5, comma)
  if (!head.endsWith(';base64')) return undefined
  return { mediaType: head.slice(0, head.indexOf(';')), data: text.slice(comma + 1) }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
