import fs from 'node:fs'
import { expect, test } from 'vitest'
import { sample } from '../../support/full.ts'
import { dataOf, expectOrder, Harness } from '../support/harness.ts'

const moments = [
  'before ask',
  'after ask',
  'before store',
  'after document',
  'before snapshot',
  'before clear',
  'after clear',
  'before resume',
  'after resume',
  'at verifying',
  'at done',
]

test.each(sample(moments, 3))(
  'a supervisor that is killed %s is followed by one that finishes the cycle, once [C7]',
  async (moment) => {
    const harness = await Harness.open()
    harness.script({ pace: 100 })
    const first = harness.spawnSupervisor({ killAt: moment })
    await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
    harness.fill(90)
    expect(await first.ended).toEqual([null, 'SIGKILL'])
    harness.spawnSupervisor()
    const cycled = await harness.until(async () => (await harness.cycles()).at(-1), 'the cycle')
    expect(cycled).toMatchObject({ n: 1, outcome: 'done' })
    expect(harness.prompts('Create handoff')).toHaveLength(1)
    expect(harness.prompts('Read handoff')).toHaveLength(1)
    expect(harness.clears()).toBeLessThanOrEqual(2)
    await expectOrder(harness)
    // The document was durable before the first clear was meant.
    const document = (await harness.entries('handoff_document'))[0]!
    const clear = (await harness.entries('cycle')).find((entry) =>
      (dataOf(entry) as { effects: string[] }).effects.includes('clear'),
    )!
    expect(document.id).toBeLessThan(clear.id)
    expect(fs.existsSync(cycled.document!.path)).toBe(true)
  },
)

test('what the old context had cost is not forgotten with a supervisor that is killed behind the clear [C7][C19]', async () => {
  const harness = await Harness.open()
  harness.script({ pace: 100, usd: 0.05 })
  const first = harness.spawnSupervisor({ killAt: 'before resume' })
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  harness.fill(90)
  expect(await first.ended).toEqual([null, 'SIGKILL'])
  harness.spawnSupervisor()
  await harness.until(async () => (await harness.cycles()).at(-1), 'the cycle')
  const own = () => harness.transcript().reduce((sum, { usage }) => sum + (usage?.cost.total ?? 0), 0)
  const reported = async () => (dataOf((await harness.entries('row')).at(-1)!) as { usd: number }).usd
  await harness.until(async () => Math.abs((await reported()) - own()) < 1e-6, 'the whole sum')
})

test('a second supervisor is refused and told who holds the session; one that takes over from a dead one is not [C7]', async () => {
  const harness = await Harness.open()
  const first = harness.spawnSupervisor()
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  await expect(harness.supervise().ended).rejects.toMatchObject({
    code: 'conflict',
    message: `shop is supervised already by process ${first.child.pid}`,
    hint: `It ends with that process: kill ${first.child.pid}`,
  })
  // The scripted agent is started without an intention on the tape: its place has to be there before the kill.
  await harness.until(async () => (await harness.entries('whereabouts')).length > 0, 'where the agent is')
  first.child.kill('SIGKILL')
  await first.ended
  harness.supervise()
  harness.fill(90)
  expect(await harness.cycled()).toMatchObject({ outcome: 'done' })
  expect(harness.prompts('Build')).toHaveLength(1)
})
