// Content too large for a line of the tape is kept once as a blob; the entry holds a reference with a preview, and the
// context shows that preview with the command that reads on.

import { buffer, json } from 'node:stream/consumers'
import type { BlobRef, Draft, MessagePayload, Part, Store, ToolResult } from '../../store/index.ts'
import { mediaOf, partsOf, putData, takeData, withParts } from './media.ts'

/** Text and data from this size on leave the line. */
export const spillBytes = 32 * 1024
const headChars = 1_200
const tailChars = 300

export interface BlobPart {
  readonly type: 'blob'
  readonly sha256: string
  readonly bytes: number
  /** What the bytes are: text unless it says otherwise. */
  readonly mediaType: string
  /** The part that the blob stands for, without its data. */
  readonly of?: Part
  /** Where in that part the data belongs, and what stands before it; in `data` unless given. */
  readonly at?: readonly string[]
  readonly before?: string
  readonly preview: string
}

export function isBlob(value: unknown): value is BlobPart {
  return (
    typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'blob' && 'sha256' in value
  )
}

/** Whether a draft holds content that has to leave the line. */
export function isHeavy(draft: Draft): boolean {
  if (draft.kind === 'tool_result') {
    return (draft.payload as { results: ToolResult[] }).results.some(({ output }) => outweighs(output))
  }
  return draft.kind === 'message' && outweighs((draft.payload as MessagePayload).content)
}

function outweighs(value: unknown): boolean {
  if (typeof value === 'string') return isLarge(value)
  if (typeof value !== 'object' || value === null) return false
  return isLarge(JSON.stringify(value))
}

/** The draft with large content replaced by references to blobs, which are durable by then. */
export async function spill(store: Store, draft: Draft): Promise<Draft> {
  if (draft.kind === 'message') {
    const payload = draft.payload as MessagePayload
    const { content } = payload
    if (typeof content === 'string') {
      if (!isLarge(content)) return draft
      return { ...draft, payload: { ...payload, content: [await keepText(store, content, 'text/plain')] } }
    }
    if (!Array.isArray(content)) return draft
    const parts = await Promise.all(content.map((part) => spillPart(store, part)))
    return parts.every((part, i) => part === content[i]) ? draft : { ...draft, payload: { ...payload, content: parts } }
  }
  if (draft.kind === 'tool_result') {
    const payload = draft.payload as { results: ToolResult[] }
    const results = await Promise.all(payload.results.map((result) => spillResult(store, result)))
    const same = results.every((result, i) => result === payload.results[i])
    return same ? draft : { ...draft, payload: { ...payload, results } }
  }
  return draft
}

async function spillPart(store: Store, part: Part): Promise<Part> {
  if (part.type === 'text' && typeof part.text === 'string' && isLarge(part.text)) {
    return { ...(await keepText(store, part.text, 'text/plain')) }
  }
  // The data of an image or a file outweighs all else in its part.
  const taken = isLarge(JSON.stringify(part)) ? takeData(part) : undefined
  if (taken === undefined) return part
  const { bytes, rest, at, before } = taken
  const ref = await store.putBlob(bytes)
  const { kind = 'file', mediaType = 'application/octet-stream' } = mediaOf(part) ?? {}
  return { type: 'blob', ...ref, mediaType, of: rest, at, before, preview: `[${kind}, ${ref.bytes} bytes]` }
}

async function spillResult(store: Store, result: ToolResult): Promise<ToolResult> {
  const { output } = result
  if (typeof output === 'string') {
    return isLarge(output) ? { ...result, output: await keepText(store, output, 'text/plain') } : result
  }
  const parts = partsOf(output)
  if (parts !== undefined) {
    const light = await Promise.all(parts.map((part) => spillPart(store, part)))
    return { ...result, output: withParts(output, light) }
  }
  const json = JSON.stringify(output)
  if (json === undefined || !isLarge(json)) return result
  return { ...result, output: await keepText(store, json, 'application/json') }
}

/** Also for callers that hold large text themselves, such as a tool's output. */
export async function keepText(store: Store, text: string, mediaType: string): Promise<BlobPart> {
  const ref = await store.putBlob(Buffer.from(text))
  return { type: 'blob', ...ref, mediaType, preview: previewOf(text) }
}

function previewOf(text: string): string {
  const head = text.slice(0, wholeCharacter(text, headChars))
  const tail = text.slice(wholeCharacter(text, text.length - tailChars))
  return `${head}\n[…]\n${tail}`
}

function isLarge(text: string): boolean {
  return text.length > spillBytes || (text.length * 3 > spillBytes && Buffer.byteLength(text) > spillBytes)
}

/** What a context shows in place of the content. */
export function blobText(blob: BlobPart): string {
  return `${blob.preview}\n[${blob.bytes} bytes in all: baton show blob:${blob.sha256} --offset 0 --length 8000]`
}

export async function readBlob(
  store: Store,
  sha256: string,
  range?: { start?: number; end?: number },
): Promise<Buffer> {
  return buffer(await store.getBlob(sha256, range))
}

/** A blob with the JSON text if it is too large for a line; undefined: it may stay on the line. */
export async function blobIfLarge(store: Store, text: string): Promise<BlobRef | undefined> {
  return text.length > spillBytes ? store.putBlob(Buffer.from(text)) : undefined
}

export async function readJsonBlob(store: Store, sha256: string): Promise<unknown> {
  return json(await store.getBlob(sha256))
}

/** The message's content with images and files back in place, and text of up to so many bytes; more stays a preview. */
export async function restoreParts(store: Store, parts: readonly Part[], wholeText: number): Promise<Part[]> {
  return Promise.all(
    parts.map(async (part) => {
      if (!isBlob(part)) return part
      const { of, at = ['data'], before = '' } = part
      if (of !== undefined) return putData(of, at, before, await readBlob(store, part.sha256))
      if (part.bytes > wholeText) return part
      return { type: 'text', text: (await readBlob(store, part.sha256)).toString() }
    }),
  )
}

/** A tool's output with images and files back in place; text stays a preview. */
export async function restoreOutput(store: Store, output: unknown): Promise<unknown> {
  const parts = partsOf(output)
  if (parts?.some((part) => isBlob(part) && part.of !== undefined) !== true) return output
  return withParts(output, await restoreParts(store, parts, 0))
}

/** The index itself, or the one before it where the index would split a surrogate pair. */
export function wholeCharacter(text: string, at: number): number {
  if (at >= text.length) return text.length
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}
