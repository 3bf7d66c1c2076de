// What a process of a fault test does. One JSON line on stdout for each thing that is certain, written before the next
// step begins, so that whoever kills this process knows what it was promised.

import fs from 'node:fs'
import { openFileStore, type Store } from '../../../src/store/index.ts'

interface Job {
  readonly root: string
  readonly patience?: number
  readonly tape?: string
  readonly times?: number
  /** Appends under way at once. */
  readonly lanes?: number
  readonly batch?: number
  readonly tag?: string
  readonly archives?: boolean
  /** Before each batch, appends an entry that need not be durable; what is acknowledged makes it durable. */
  readonly passing?: boolean
}

const [, , name, text] = process.argv
const job = JSON.parse(text!) as Job
const tape = job.tape ?? 'main'
const times = job.times ?? Number.MAX_SAFE_INTEGER
const say = (line: object) => fs.writeSync(1, `${JSON.stringify(line)}\n`)

const works: Record<string, (store: Store) => Promise<void>> = {
  /** Appends, and names each batch once it is acknowledged. */
  async append(store) {
    let n = 0
    const lane = async () => {
      while (n < times) {
        const i = n++
        const drafts = Array.from({ length: job.batch ?? 1 }, (_, k) => ({
          kind: 'message',
          payload: { content: `${job.tag}-${i}-${k}` },
        }))
        const passing = { kind: 'message', payload: { content: `${job.tag}-passing-${i}` } }
        const before = job.passing === true ? await store.append(tape, [passing], { durable: false }) : []
        const entries = [...before, ...(await store.append(tape, drafts))]
        say({ acked: entries.map((entry) => [entry.id, (entry.payload as { content: string }).content]) })
        if (job.archives === true && i % 20 === 19) {
          // What is archived is durable, also what need not have been before.
          if (job.passing === true) await store.append(tape, [passing], { durable: false })
          await store.archive(tape, () => [{ kind: 'message', payload: { content: `${job.tag}-archive-${i}` } }])
        }
      }
    }
    await Promise.all(Array.from({ length: job.lanes ?? 1 }, lane))
  },

  async archive(store) {
    for (let n = 0; n < times; n++) {
      await store.archive(tape, () => [{ kind: 'message', payload: { content: `archive-${n}` } }])
      say({ archived: n })
    }
  },

  /** Adds one to a number that others add to as well, by checking that nobody was faster. */
  async count(store) {
    for (let n = 0; n < times;) {
      const last = await store.latest(tape, 'counter')
      const value = (last?.payload as { value: number } | undefined)?.value ?? 0
      const draft = { kind: 'event', payload: { value: value + 1 }, meta: { key: 'counter' } }
      try {
        await store.append(tape, [draft], { expect: { key: 'counter', id: last?.id ?? 0 } })
        n++
      } catch (error) {
        if ((error as { code?: string }).code !== 'conflict') throw error
      }
    }
  },

  /** Takes the lock of the tape and keeps it until something comes on stdin. */
  async hold(store) {
    await store.archive(tape, () => {
      say({ held: true })
      fs.readSync(0, Buffer.alloc(1))
      return [{ kind: 'message', payload: { content: 'held' } }]
    })
  },

  async watch(store) {
    const stop = new AbortController()
    say({ watching: true })
    for await (const entry of store.watch(tape, 0, stop.signal)) {
      say({ seen: entry.id })
      if (entry.id >= times) stop.abort()
    }
  },

  /** Works with many tapes, one after the other and all at once. */
  async many(store) {
    const names = Array.from({ length: times }, (_, n) => `tape-${n}`)
    const draft = { kind: 'message', payload: { content: 'x' } }
    for (const each of names) await store.append(each, [draft])
    await Promise.all(names.map((each) => store.append(each, [draft])))
    let entries = 0
    for await (const info of store.list()) entries += info.entries
    for (const each of names) for await (const _ of store.read(each)) entries++
    await Promise.all(names.map((each) => store.archive(each, () => [draft])))
    say({ entries, fds: fs.readdirSync('/dev/fd').length })
  },
}

try {
  const store = await openFileStore(job.root, job.patience === undefined ? {} : { patience: job.patience })
  say({ workspace: store.workspace })
  await works[name!]?.(store)
  await store.close()
} catch (error) {
  const { code, message, hint } = error as { code?: string; message: string; hint?: string }
  say({ failed: code ?? 'unknown', message, hint })
  process.exitCode = 1
}
