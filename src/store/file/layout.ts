// Where things lie in a workspace. Nothing outside this file joins a path from a tape's name.

import path from 'node:path'
import { InvalidError, LimitError } from '../../errors.ts'
import { limits } from '../store.ts'

/** The lineage tape has a file of its own, beside the tapes it is about. */
export const lineageTape = 'lineage'

export interface TapePaths {
  readonly tape: string
  readonly index: string
  /** Never removed or renamed: whoever holds it owns the tape, whatever happens to the other files. */
  readonly lock: string
  /** The next segment while an archive is being made. */
  readonly next: string
}

export class Layout {
  readonly root: string
  readonly tapes: string
  readonly archived: string
  readonly blobs: string
  readonly manifest: string

  constructor(root: string) {
    this.root = root
    this.tapes = path.join(root, 'tape')
    this.archived = path.join(this.tapes, 'archived')
    this.blobs = path.join(root, 'blobs')
    this.manifest = path.join(this.tapes, 'manifest.json')
  }

  of(tape: string): TapePaths {
    // Put together by hand: joining would read a tape named `..` as the folder above.
    const base = tape === lineageTape ? path.join(this.root, 'session_graph') : this.tapes + path.sep + encodeName(tape)
    return { tape: `${base}.jsonl`, index: `${base}.idx`, lock: `${base}.lock`, next: `${base}.next` }
  }

  /** A free place in the archive for what a tape holds now; `n` tells apart two in the same millisecond. */
  archive(tape: string, when: Date, n: number): string {
    const time = when.toISOString().replaceAll(':', '-').replace('.', '-')
    return path.join(this.archived, `${encodeName(tape)}_${time}${n === 0 ? '' : `-${n}`}.jsonl`)
  }

  /** The side file for bytes that were cut out of a tape; `n` tells apart two from the same place. */
  cut(tape: string, when: Date, offset: number, n: number): string {
    const time = when.toISOString().replaceAll(':', '-').replace('.', '-')
    return path.join(this.tapes, `${encodeName(tape)}_${time}_${offset}${n === 0 ? '' : `-${n}`}.cut`)
  }
}

/** The tape whose file this is, or undefined if it is not one. */
export function tapeOf(file: string): string | undefined {
  return file.endsWith('.jsonl') ? decodeName(file.slice(0, -'.jsonl'.length)) : undefined
}

/** The tape that an archive belongs to. */
export function tapeOfArchive(file: string): string | undefined {
  const match = /^(.*)_\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z(-\d+)?\.jsonl$/.exec(file)
  return match === null ? undefined : decodeName(match[1]!)
}

/** Only what `encodeName` makes is ours; other files may lie in the folder. */
function decodeName(encoded: string): string | undefined {
  try {
    const name = decodeURIComponent(encoded)
    return name !== '' && encodeURIComponent(name) === encoded ? name : undefined
  } catch {
    return undefined // not an encoded name
  }
}

export function encodeName(tape: string): string {
  if (typeof tape !== 'string' || tape === '') throw new InvalidError('A tape needs a name')
  let encoded: string
  try {
    encoded = encodeURIComponent(tape)
  } catch {
    throw new InvalidError('The name of the tape is not valid text', { hint: 'It holds half of a character pair.' })
  }
  if (encoded.length > limits.nameBytes) {
    throw new LimitError(
      `The name of the tape is too long: ${encoded.length} bytes when encoded, at most ${limits.nameBytes}`,
      { hint: `It begins with "${tape.slice(0, 40)}".` },
    )
  }
  return encoded
}
