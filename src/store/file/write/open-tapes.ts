// The tapes that this process has open, for reading and for writing.

import fs from 'node:fs'
import { archivesOf } from './archives.ts'
import type { Layout } from '../layout.ts'
import { FileLimit, type OpenFiles, readerDescriptors } from './file-limit.ts'
import { Segment } from '../read/segment.ts'
import { asStorageError } from '../../../system/index.ts'
import { Writer } from './writer.ts'

export interface OpenTapesOptions {
  readonly now: () => Date
  readonly patience: number
  /** Called with the file of a tape that this process has written to. */
  readonly onCommit: (file: string) => void
}

interface Reader extends OpenFiles {
  readonly segment: Segment
}

export class OpenTapes {
  readonly #layout: Layout
  readonly #options: OpenTapesOptions
  readonly #fileLimit = new FileLimit()
  readonly #writers = new Map<string, Writer>()
  readonly #readers = new Map<string, Reader>()

  constructor(layout: Layout, options: OpenTapesOptions) {
    this.#layout = layout
    this.#options = options
  }

  /** The current segment of a tape, up to date, or undefined if there is no such tape. */
  segment(tape: string): Segment | undefined {
    const paths = this.#layout.of(tape)
    try {
      const ino = fs.statSync(paths.tape, { throwIfNoEntry: false })?.ino
      if (ino === undefined) return undefined
      const writer = this.#writers.get(tape)
      if (writer?.segment?.ino === ino) {
        // What this process is still syncing does not count yet.
        if (!writer.isCommitting) writer.segment.catchUp()
        return writer.segment
      }
      const reader = this.#readers.get(tape)
      if (reader?.segment.ino === ino) {
        reader.segment.catchUp()
        this.#fileLimit.touch(reader)
        return reader.segment
      }
      reader?.close()
      return this.#read(tape, Segment.open(paths.tape, paths.index))
    } catch (error) {
      throw asStorageError(error, paths.tape)
    }
  }

  #read(tape: string, segment: Segment | undefined): Segment | undefined {
    if (segment === undefined) return undefined
    const reader: Reader = {
      segment,
      descriptors: readerDescriptors,
      close: () => {
        segment.close()
        this.#readers.delete(tape)
        this.#fileLimit.forget(reader)
      },
    }
    this.#readers.set(tape, reader)
    this.#fileLimit.touch(reader)
    return segment
  }

  /** What a reader knows becomes the writer's; what is amiss was seen without the lock, and is looked at afresh. */
  #handOver(tape: string, ino: number): Segment | undefined {
    const reader = this.#readers.get(tape)
    if (reader?.segment.ino !== ino) return undefined
    const { segment } = reader
    if (segment.damage.length > 0 || !segment.endsWithNewline(segment.at.offset)) return undefined
    segment.hold()
    reader.close()
    return segment
  }

  writer(tape: string): Writer {
    const known = this.#writers.get(tape)
    if (known !== undefined) return known
    const writer = new Writer(tape, {
      layout: this.#layout,
      now: this.#options.now,
      patience: this.#options.patience,
      fileLimit: this.#fileLimit,
      known: (ino) => this.#handOver(tape, ino),
      archivedUpTo: () => archivesOf(this.#layout, tape).at(-1)?.lastId ?? 0,
      onCommit: () => this.#options.onCommit(writer.paths.tape),
    })
    this.#writers.set(tape, writer)
    return writer
  }

  /** Waits for what is being written, then closes everything. */
  async close(): Promise<void> {
    for (const writer of this.#writers.values()) await writer.idle()
    for (const writer of this.#writers.values()) writer.close()
    for (const reader of this.#readers.values()) reader.close()
    this.#writers.clear()
  }
}
