// A tape that arrives whole: written beside its place, in batches and without holding anybody up, then moved there.

import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { InvalidError } from '../../../errors.ts'
import { demandRoom, prepareUncounted } from '../../draft.ts'
import { limits } from '../../store.ts'
import type { Draft } from '../../entry.ts'
import { writeAll } from '../../../system/index.ts'
import { encodeName } from '../../name.ts'
import { type Layout, namesIn } from '../layout.ts'
import { Lock } from '../../../system/index.ts'
import { Segment } from '../read/segment.ts'
import { LineBuffer, markOf, origin } from '../line.ts'

/** Enough for the longest entry. */
const room = 4 * limits.batchBytes
/** Less at once would spend the time on writes, more would leave the cache of the processor. */
const written = 256 * 1024

export interface Arrival {
  readonly path: string
  /** Removes the file unless it has been moved to its place, and lets go of it. */
  discard(): void
}

export async function writeBeside(
  layout: Layout,
  tape: string,
  batches: Iterable<readonly Draft[]> | AsyncIterable<readonly Draft[]>,
  now: () => Date,
): Promise<Arrival> {
  dropAbandoned(layout)
  const { file, lock } = newPart(layout, tape)
  const discard = () => {
    remove(file)
    lock.close()
  }
  try {
    const fd = fs.openSync(file, 'a', 0o600)
    const segment = Segment.open(file, `${file}.idx`)!
    try {
      const lines = new LineBuffer(origin, room)
      for await (const drafts of batches) {
        const size = drafts.length
        const before = lines.content
        prepareUncounted(drafts, now).forEach((one, i) => {
          if (lines.filled >= written || !lines.hasRoomFor(one.rest)) writeAll(fd, lines.take())
          segment.learn(lines.add(one.rest, markOf(i, size)), one)
        })
        demandRoom(lines.content - before)
      }
      writeAll(fd, lines.take())
      segment.saveIndex()
      if (lines.end.id === 0) throw new InvalidError('A new tape needs at least one entry')
      fs.fdatasyncSync(fd)
    } finally {
      segment.close()
      fs.closeSync(fd)
    }
  } catch (error) {
    discard()
    throw error
  }
  return { path: file, discard }
}

/** Held for as long as it is being written, so that others can tell it from one whose writer has died. */
function newPart(layout: Layout, tape: string): { file: string; lock: Lock } {
  for (;;) {
    const file = path.join(layout.tapes, `${encodeName(tape)}.${randomBytes(6).toString('hex')}.part`)
    const lock = new Lock(file, 0)
    if (lock.tryNow()) return { file, lock }
    // Somebody took it for abandoned in the instant before it was locked.
    lock.close()
  }
}

/** With the index that was made along with it. */
function remove(file: string): void {
  fs.rmSync(file, { force: true })
  fs.rmSync(`${file}.idx`, { force: true })
}

function dropAbandoned(layout: Layout): void {
  for (const name of namesIn(layout.tapes)) {
    if (!name.endsWith('.part')) continue
    const file = path.join(layout.tapes, name)
    const lock = new Lock(file, 0, 'r+')
    try {
      if (lock.tryNow()) remove(file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    } finally {
      lock.close()
    }
  }
}
