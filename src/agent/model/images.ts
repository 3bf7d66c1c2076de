// Images that a person or a tool shows to the model: read from files, as parts of a message or of a result.

import { open } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { LimitError } from '../../errors.ts'
import type { Part } from '../../tape/index.ts'
import { mediaType } from '../tools/open-file.ts'

/** What a person says to the model: text, or parts such as text and images. */
export type Prompt = string | readonly Part[]

/** Providers take 5 MB of base64, the smallest limit among them. */
export const maxImageBytes = 3_750_000
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** The image as a part; undefined if it is none that models take. Throws `LimitError` for one that is too large. */
export function imagePart(bytes: Buffer, filename: string): Part | undefined {
  const type = mediaType(bytes)
  if (!isImage(type)) return undefined
  if (bytes.length > maxImageBytes)
    throw new LimitError(`${filename} is too large for a model: an image may have ${maxImageBytes} bytes`, {
      hint: 'Make it smaller first.',
    })
  return { type: 'image', mediaType: type, filename, data: bytes.toString('base64') }
}

export function isImage(type: string): boolean {
  return imageTypes.has(type)
}

export interface PromptWithImages {
  readonly prompt: Prompt
  /** The files that go along. */
  readonly images: readonly string[]
}

/**
 * The images that a line names go along with it: behind an `@`, or by an absolute path, which is what a terminal types for a file that
 * is dropped onto it. A relative path without `@` is only a name. Throws `LimitError` for an image that is too large.
 */
export async function withImages(line: string, cwd: string): Promise<PromptWithImages> {
  const parts: Part[] = []
  const images: string[] = []
  for (const file of new Set(imagePaths(line, cwd))) {
    const bytes = await readStart(file)
    if (bytes === undefined) continue
    const part = imagePart(bytes, path.basename(file))
    if (part === undefined) continue
    parts.push(part)
    images.push(file)
  }
  const prompt = parts.length === 0 ? line : [{ type: 'text', text: line }, ...parts]
  return { prompt, images }
}

const words = /(?<=^|[\s(])(@?)(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\.|[^\s\\"'])+))/g

function imagePaths(line: string, cwd: string): string[] {
  return [...line.matchAll(words)].flatMap(([, at, double, single, bare = '']) => {
    const word = double ?? single ?? bare.replace(/[.,;:!?)]+$/, '').replaceAll(/\\(.)/g, '$1')
    if (!/\.(?:png|jpe?g|gif|webp)$/i.test(word)) return []
    if (word.startsWith('file://')) return [fileURLToPath(word)]
    if (word.startsWith('~/')) return [path.join(os.homedir(), word.slice(2))]
    return at === '@' || path.isAbsolute(word) ? [path.resolve(cwd, word)] : []
  })
}

/** The file as far as an image may reach; undefined where there is none. */
async function readStart(file: string): Promise<Buffer | undefined> {
  const handle = await open(file).catch(() => undefined)
  try {
    if (handle === undefined || !(await handle.stat()).isFile()) return undefined
    const { size } = await handle.stat()
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(size, maxImageBytes + 1)))
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle?.close()
  }
}

/** What a prompt says in words. */
export function promptText(prompt: Prompt): string {
  if (typeof prompt === 'string') return prompt
  return prompt.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n')
}
