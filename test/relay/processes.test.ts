import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type HandoffResponse, openRelay, relaySection } from '../../src/relay/index.ts'
import { isFull } from '../support/full.ts'
import { Member } from '../support/member.ts'
import { program } from '../support/program.ts'
import { collect, temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { boundless, request, team } from './team.ts'

/** The promise is made for 10,000 of them, which a full run proves. */
const crowd = isFull ? 10_000 : 400
/** How many processes are killed while they work, at least, and how many requests are sent whenever all are answered before. */
const leastKills = isFull ? 20 : 5
const waveSize = 100

const script = await program(new URL('./member.ts', import.meta.url))

const member = (folder: string, ...args: string[]) => new Member(script, [folder, ...args])

async function killedAfterOneLine(first: Member): Promise<void> {
  await first.hears(1)
  first.child.kill('SIGKILL')
  await first.ended
}

/** What two more members say that do the same at the same time. */
async function twoMore(folder: string, work: string, request: string): Promise<string[]> {
  const members = [member(folder, work, 'second', request), member(folder, work, 'third', request)]
  await Promise.all(members.map(({ ended }) => ended))
  return members.flatMap(({ said }) => said)
}

async function workspace() {
  const folder = path.join(temporaryFolder(), '.baton')
  const store = await temporaryStore(folder)
  const settings = relaySection.parse({ ...team, limits: boundless, leaseMs: 400 })
  const relay = await openRelay({ store, settings })
  onTestFinished(() => relay.close())
  return { folder, store, relay }
}

test(
  `at least ${crowd} requests, three processes that claim, one killed again and again: each is answered once [P9]`,
  { timeout: 1_200_000 },
  async () => {
    const { folder, relay } = await workspace()
    const ids: string[] = []
    const send = async (count: number) => {
      const wave = Array.from({ length: count }, (_, i) => `r${ids.length + i}`)
      ids.push(...wave)
      const left = wave.values()
      const some = async () => {
        for (const requestId of left) await relay.request(request(), { requestId, wait: false })
      }
      await Promise.all(Array.from({ length: 64 }, some))
      return wave
    }
    let wave = await send(crowd)
    const steady = [member(folder, 'serve', 'steady-1'), member(folder, 'serve', 'steady-2')]
    const done = new AbortController()
    let kills = 0
    const responses: HandoffResponse[] = []
    // However fast they are answered, there are requests for those who are killed until enough of them were.
    const answered = (async () => {
      for (;;) {
        responses.push(...(await Promise.all(wave.map((id) => relay.wait(id)))))
        if (kills >= leastKills) return
        wave = await send(waveSize)
      }
    })().finally(() => done.abort())
    const killing = (async () => {
      while (!done.signal.aborted) {
        const victim = member(folder, 'serve', `victim-${kills}`)
        const needed = 1 + (kills % 9)
        await Promise.race([victim.hears(needed), answered])
        victim.child.kill('SIGKILL')
        await victim.ended
        if (victim.said.length >= needed) kills++
      }
    })()
    await Promise.all([answered, killing])
    for (const { child } of steady) child.kill('SIGTERM')
    await Promise.all(steady.map(({ ended }) => ended))

    expect(responses).toHaveLength(ids.length)
    expect(responses.every(({ status }) => status === 'resolved')).toBe(true)
    const rows = await collect(relay.history())
    const ends = rows.flatMap(({ type, requestId }) => (type === 'answered' ? [requestId] : []))
    expect(ends.toSorted()).toEqual(ids.toSorted())
    expect(await relay.status()).toMatchObject({
      pending: 0,
      claimed: 0,
      counters: { requests: ids.length, resolved: ids.length, failed: 0 },
    })
    expect(kills).toBeGreaterThanOrEqual(leastKills)
  },
)

test('a request whose process died in the middle is taken over under its id, and answered once [P4, P9]', async () => {
  const { folder, relay } = await workspace()
  const first = member(folder, 'hang', 'first', 'job-1')
  await killedAfterOneLine(first)
  // Two at once: one takes over when the lease of the dead one has ended, the other gets the same answer.
  const said = await twoMore(folder, 'local', 'job-1')
  expect(said.filter((line) => line === 'working')).toHaveLength(1)
  const outcomes = said.filter((line) => line !== 'working')
  expect(outcomes).toHaveLength(2)
  expect(JSON.parse(outcomes[0]!)).toEqual(JSON.parse(outcomes[1]!))
  expect(await relay.counters()).toMatchObject({ requests: 1, resolved: 1 })
})

test('a person answers a process that died and was started again [P6]', async () => {
  const { folder, relay } = await workspace()
  const first = member(folder, 'ask', 'first', 'question')
  await killedAfterOneLine(first)
  const second = member(folder, 'ask', 'second', 'question')
  await second.hears(1)
  const [asked] = await relay.escalations.list()
  expect(await relay.escalations.list()).toHaveLength(1)
  await relay.escalations.answer(asked!.id, { marketSize: 7 }, { by: 'Kim' })
  await second.ended
  expect(second.said).toHaveLength(2)
  expect(JSON.parse(second.said[1]!)).toMatchObject({ respondingAgent: 'human', providedInputs: { marketSize: 7 } })
})

test('an answer whose user died is used by the next one, once [P6]', async () => {
  const { folder, relay } = await workspace()
  await relay.request({ ...request('q'), handoffTo: 'human' }, { requestId: 'q' })
  const [asked] = await relay.escalations.list()
  await relay.escalations.answer(asked!.id, { marketSize: 7 }, { by: 'Kim' })
  const first = member(folder, 'resume', 'hangs', 'q')
  await killedAfterOneLine(first)
  const said = await twoMore(folder, 'resume', 'q')
  expect(said.toSorted()).toEqual([
    expect.stringContaining('The answer to q was used by generator on '),
    'done',
    'working',
  ])
})

test('processes killed while they ask lose no request that they were promised [P4]', async () => {
  const { folder, relay } = await workspace()
  const promised: string[] = []
  for (let round = 0; round < (isFull ? 4 : 2); round++) {
    const flood = [member(folder, 'flood', `a${round}`), member(folder, 'flood', `b${round}`)]
    await Promise.all(flood.map((each) => each.hears(5 + round * 7)))
    for (const { child } of flood) child.kill('SIGKILL')
    await Promise.all(flood.map(({ ended }) => ended))
    promised.push(...flood.flatMap(({ said }) => said))
  }
  const waiting = new Set((await relay.inbox('researcher', { limit: 100_000 })).map(({ requestId }) => requestId))
  expect(promised.filter((id) => !waiting.has(id) && /^[ab]\d-\d+$/.test(id))).toEqual([])
})
