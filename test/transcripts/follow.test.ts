import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../src/store/index.ts'
import { Tape } from '../../src/tape/index.ts'
import type { SessionFile } from '../../src/agents/index.ts'
import { follow, type Followed } from '../../src/transcripts/index.ts'
import { temporaryStore } from '../support/workspace.ts'
import { type Home, homeWith, sessionsIn } from './home.ts'

interface Following {
  readonly next: () => Promise<Followed>
  readonly end: () => Promise<void>
}

function following(store: Store, file: SessionFile, home: Home): Following {
  const stop = new AbortController()
  const news = follow(store, file, { signal: stop.signal, env: home.env })
  onTestFinished(() => stop.abort())
  return {
    next: async () => {
      const { value, done } = await news.next()
      if (done === true) throw new Error('following ended')
      return value
    },
    end: async () => {
      const over = news.next()
      stop.abort()
      expect((await over).done).toBe(true)
    },
  }
}

/** A home whose first session of Claude Code has so many lines yet, and what is still to come. */
function growing(lines: number) {
  const home = homeWith('claude')
  const [file, after] = sessionsIn(home, 'claude')
  const all = fs.readFileSync(file!.path, 'utf8').split(/(?<=\n)/)
  const cleared = fs.readFileSync(after!.path, 'utf8')
  fs.rmSync(after!.path)
  fs.writeFileSync(file!.path, all.slice(0, lines).join(''))
  return { home, file: file!, after: after!, cleared, rest: all.slice(lines) }
}

const words = async (store: Store, tape: string) =>
  JSON.stringify((await new Tape(store, tape).context({ format: 'openai' })).messages)

test('a tape follows its session line by line, and half a line waits for its end [C2]', async () => {
  const { home, file, rest } = growing(20)
  const store = await temporaryStore()
  const live = following(store, file, home)
  const first = await live.next()
  expect(first).toMatchObject({ type: 'imported', created: true })
  const prompt = rest.findIndex((line) => line.includes('now fill the context'))
  fs.appendFileSync(file.path, rest.slice(0, prompt).join('') + rest[prompt]!.slice(0, 50))
  await live.next()
  expect(await words(store, `claude:${file.id}`)).not.toContain('now fill the context')
  fs.appendFileSync(file.path, rest[prompt]!.slice(50))
  await live.next()
  expect(await words(store, `claude:${file.id}`)).toContain('now fill the context')
  await live.end()
})

test('where /clear goes on in a new file, so does the tape [C2]', async () => {
  const { home, file, after, cleared, rest } = growing(30)
  const store = await temporaryStore()
  const live = following(store, file, home)
  await live.next()
  fs.appendFileSync(file.path, rest.join(''))
  await live.next()
  fs.writeFileSync(after.path, cleared)
  expect(await live.next()).toMatchObject({ type: 'moved', from: file.id, to: { id: after.id } })
  expect(await live.next()).toMatchObject({ type: 'imported', session: after.id, tape: `claude:${file.id}` })
  const context = await words(store, `claude:${file.id}`)
  expect(context).toContain('start afresh')
  expect(context).not.toContain('now fill the context')
  await live.end()
  // Followed again, it goes on where it was.
  const again = following(store, file, home)
  expect(await again.next()).toMatchObject({ type: 'imported', session: after.id, entries: 0 })
  await again.end()
})

test('a transcript that is replaced under the follower is read anew [C2]', async () => {
  const { home, file } = growing(30)
  const store = await temporaryStore()
  const live = following(store, file, home)
  await live.next()
  const lines = fs.readFileSync(file.path, 'utf8').split(/(?<=\n)/)
  const next = path.join(path.dirname(file.path), 'next.tmp')
  fs.writeFileSync(next, lines.slice(0, 16).join(''))
  fs.renameSync(next, file.path)
  expect(await live.next()).toMatchObject({ replaced: true })
  await live.end()
})
