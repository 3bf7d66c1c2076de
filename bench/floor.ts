// What the disk allows: the two loops that any durable log comes down to, with nothing around them.

import fs from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { message } from './messages.ts'
import type { Contender } from './contest.ts'

const line = (i: number) => `${JSON.stringify(message(i))}\n`

/** One caller: a write and an fdatasync on an open file for each message. */
export const syncLoop: Contender = {
  name: 'floor: write + fdatasync',
  async open(folder) {
    const fd = fs.openSync(path.join(folder, 'floor.jsonl'), 'a')
    return {
      async append(from, count) {
        for (let i = from; i < from + count; i++) {
          fs.writeSync(fd, line(i))
          fs.fdatasyncSync(fd)
        }
      },
      close: async () => fs.closeSync(fd),
    }
  },
}

/** Many callers: what has gathered during one sync is written and synced together. */
export function groupLoop(callers: number): Contender {
  return {
    name: `floor: group commit of ${callers}`,
    async open(folder) {
      const file = await open(path.join(folder, 'floor-group.jsonl'), 'a')
      let waiting: { text: string; done: () => void; failed: (error: unknown) => void }[] = []
      let running = false
      async function run() {
        running = true
        await new Promise(setImmediate)
        while (waiting.length > 0) {
          const group = waiting
          waiting = []
          try {
            await file.write(group.map(({ text }) => text).join(''))
            await file.datasync()
            for (const { done } of group) done()
          } catch (error) {
            for (const { failed } of group) failed(error)
          }
          await new Promise(setImmediate)
        }
        running = false
      }
      const append = (text: string) =>
        new Promise<void>((done, failed) => {
          waiting.push({ text, done, failed })
          if (!running) void run()
        })
      return {
        append: (from, count) => amongCallers(callers, from, count, (i) => append(line(i))),
        close: () => file.close(),
      }
    },
  }
}

/** So many callers, each of which waits for its append before it makes the next. */
export async function amongCallers(
  callers: number,
  from: number,
  count: number,
  append: (i: number) => Promise<unknown>,
): Promise<void> {
  let next = from
  const caller = async () => {
    while (next < from + count) await append(next++)
  }
  await Promise.all(Array.from({ length: callers }, caller))
}
