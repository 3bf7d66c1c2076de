import fs from 'node:fs'
import { expect, test } from 'vitest'
import { startMs } from '../../support/pace.ts'
import { execFileSync } from 'node:child_process'
import { control } from '../../../src/supervisor/index.ts'
import { dataOf, expectOrder, Harness } from '../support/harness.ts'

test('a full context is handed over: document, clear, resume, verify, with nobody watching [C3][C5][C6][C7]', async () => {
  const harness = await Harness.open()
  harness.supervise()
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  harness.fill(90)
  const cycled = await harness.cycled()
  expect(cycled).toMatchObject({ outcome: 'done', why: 'threshold', document: { by: 'agent' } })
  expect(harness.heard().map((each) => ('prompt' in each ? each.prompt.slice(0, 14) : Object.keys(each)[0]))).toEqual([
    'Build the shop',
    'Go on with the',
    'Create handoff',
    'cleared',
    'Read handoff f',
  ])
  await expectOrder(harness)
  expect(fs.readFileSync(cycled.document!.path, 'utf8')).toContain('heliotrope')
})

test('a whole cycle takes seconds, Baton’s own part of it less than two, and both are kept step by step [C12][C14]', async () => {
  const harness = await Harness.open()
  harness.script({ pace: 500 })
  harness.supervise()
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  await harness.aged()
  // The first loads what every later one finds loaded; of those, the best tells what Baton takes and not what else runs.
  for (const n of [1, 2, 3]) {
    harness.fill(90 + n)
    await harness.cycled(n)
  }
  const [, ...later] = await harness.cycles()
  const { totalMs, timings } = later[0]!
  const steps = ['ask', 'clear', 'resume', 'snapshot', 'store', 'verify']
  expect(timings.map(({ step }) => step).sort()).toEqual(steps)
  expect(Math.min(...later.map(({ ownMs }) => ownMs))).toBeLessThan(50 * startMs())
  expect(totalMs).toBeGreaterThan(1_000)
  expect(totalMs).toBeLessThan(300_000)
})

test('a screen that is drawn behind the transcript is looked at again, since nothing tells when it is [C3][C14]', async () => {
  const harness = await Harness.open()
  harness.script({ drawing: 600 })
  harness.supervise()
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  harness.fill(90)
  const { outcome, ownMs } = await harness.cycled()
  expect(outcome).toBe('done')
  // Without another look it would take as long as a turn may, and five seconds more for the document.
  expect(ownMs).toBeLessThan(Math.max(5_000, 50 * startMs()))
})

test('uncommitted work is kept before the clear, index and files untouched [C18]', async () => {
  const harness = await Harness.open()
  const git = (...args: string[]) => execFileSync('git', args, { cwd: harness.cwd, encoding: 'utf8' })
  git('init', '-q')
  fs.writeFileSync(`${harness.cwd}/shop.txt`, 'one\n')
  git('add', '.')
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'first')
  fs.writeFileSync(`${harness.cwd}/shop.txt`, 'two\n')
  harness.supervise()
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  harness.fill(90)
  await harness.cycled()
  const snapshot = (await harness.entries('snapshot'))[0]!
  const { status, ref } = dataOf(snapshot) as { status: string; ref: string }
  expect(status).toBe('taken')
  expect(git('show', `${ref}:shop.txt`)).toBe('two\n')
  expect(git('status', '--porcelain')).toContain(' M shop.txt')
  expect(git('status', '--porcelain')).not.toContain('handoff')
  const states = await harness.entries('cycle')
  const clear = states.find((entry) => (dataOf(entry) as { cycle: { at: string } }).cycle.at === 'clearing')!
  expect(snapshot.id).toBeLessThan(clear.id)
})

test('another run of the same name is another matter: nothing of the first is handed over, and its bounds are its own [C19]', async () => {
  const harness = await Harness.open()
  const first = harness.supervise()
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  harness.fill(90)
  await harness.cycled()
  await control(harness.store, 'shop', 'stop')
  await first.ended
  harness.script({ document: null })
  const run = { ...harness.run, prompt: 'Write a poem about rain.', bounds: { maxCycles: 1 } }
  const second = harness.supervise({ run })
  await harness.until(() => harness.prompts('Write a poem').length === 1, 'the second run')
  await harness.aged()
  harness.fill(91)
  expect(await second.ended).toMatchObject({ why: 'bound', bound: 'cycles' })
  const text = fs.readFileSync((await harness.cycles()).at(-1)!.document!.path, 'utf8')
  expect(text).toContain('a poem about rain')
  expect(text).not.toContain('jQuery')
})
