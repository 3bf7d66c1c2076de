import fs from 'node:fs'
import { expect, test } from 'vitest'
import { StorageError } from '../../../src/errors.ts'
import type { Store } from '../../../src/store/index.ts'
import { interruptEvent } from '../../../src/handoff/index.ts'
import { control } from '../../../src/supervisor/index.ts'
import { sessionTape } from '../../../src/supervisor/run.ts'
import { goodDocument } from '../support/protocol.ts'
import { collect } from '../../support/workspace.ts'
import { dataOf, expectOrder, Harness } from '../support/harness.ts'

async function atWork(settings = {}): Promise<Harness> {
  const harness = await Harness.open(settings)
  harness.supervise()
  await harness.until(
    () => harness.events.some((event) => event.type === 'row' && event.row.state === 'waiting' && event.row.usd),
    'the first turn',
  )
  return harness
}

/** An agent that follows the script from now on, with a context that calls for a cycle. */
async function almostFull(script: Parameters<Harness['script']>[0], ...settings: Parameters<typeof atWork>) {
  const harness = await atWork(...settings)
  harness.script(script)
  harness.fill(90)
  return harness
}

const half = goodDocument.slice(0, goodDocument.indexOf('## Next Steps'))

test.each([
  ['half-written', half],
  ['empty', ''],
  ['for another project', goodDocument.replace('{project}', 'other-shop')],
  ['no document', 'All good, see you later.'],
])('a document that is %s is refused and asked for once more [C3][C4]', async (_what, bad) => {
  const harness = await almostFull({ documents: [bad, goodDocument] })
  expect(await harness.cycled()).toMatchObject({ outcome: 'done', document: { by: 'agent' } })
  const asked = harness.prompts('Create handoff')
  expect(asked).toHaveLength(2)
  expect(asked[1]).toMatch(/\(asked again: .+\)/)
  expect(await harness.health('handoff')).toMatchObject([{ status: 'warning' }, { status: 'ok' }])
  await expectOrder(harness)
})

test('a document that is older than the request for it is refused [C3]', async () => {
  const harness = await almostFull({ age: 3_600_000 })
  const cycled = await harness.cycled()
  expect(harness.prompts('Create handoff')[1]).toContain('older than the request')
  expect(cycled).toMatchObject({ outcome: 'done', document: { by: 'ledger' } })
})

test('what an incomplete document lacks is filled from the ledger after one repair round, and marked so [C4][H10]', async () => {
  const harness = await almostFull({ document: half })
  const cycled = await harness.cycled()
  expect(cycled).toMatchObject({ outcome: 'done', document: { by: 'agent' } })
  const text = fs.readFileSync(cycled.document!.path, 'utf8')
  expect(text).toContain('heliotrope')
  expect(text).toMatch(/## Next Steps/)
  expect(text).toContain('never use jQuery')
})

test('a silent agent is handed over with the ledger’s document, and a person is told [C4]', async () => {
  const harness = await almostFull({ document: null })
  const cycled = await harness.cycled()
  expect(cycled).toMatchObject({ outcome: 'done', document: { by: 'ledger' } })
  expect(harness.prompts('Create handoff')).toHaveLength(2)
  const text = fs.readFileSync(cycled.document!.path, 'utf8')
  expect(text).toContain('> User [#6]: Build the shop; never use jQuery.')
  expect(text).not.toContain('Create handoff document now')
  expect(harness.told.map(({ level }) => level)).toContain('warning')
  expect(harness.told.every(({ action }) => action.includes('baton '))).toBe(true)
})

test('with onSilence "ask" nothing is cleared, and a person is told what to do [C4]', async () => {
  const harness = await almostFull({ document: null }, { onSilence: 'ask' })
  expect(await harness.cycled()).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('No document') })
  expect(harness.clears()).toBe(0)
  expect(harness.told.find(({ level }) => level === 'critical')).toMatchObject({
    action: 'Look at its screen: baton attach shop',
  })
})

test('an agent that cannot write may reply with the document [C3]', async () => {
  const harness = await almostFull({ document: null, reply: goodDocument.replace('{project}', 'shop') })
  const cycled = await harness.cycled()
  expect(cycled).toMatchObject({ outcome: 'done', document: { by: 'agent' } })
  expect(harness.prompts('Create handoff')).toHaveLength(1)
  expect(fs.readFileSync(cycled.document!.path, 'utf8')).toContain('heliotrope')
})

test('a late document is picked up: the resumed agent is told of it, once [C4]', async () => {
  const harness = await almostFull({ document: null })
  expect(await harness.cycled()).toMatchObject({ outcome: 'done', document: { by: 'ledger' } })
  const late = /Write it to (.+?) in Markdown/.exec(harness.prompts('Create handoff')[0]!)![1]!
  fs.writeFileSync(late, goodDocument.replace('{project}', 'shop'))
  await harness.until(() => harness.prompts('A handoff document').length > 0, 'word of the late document')
  harness.say('Go on.')
  await harness.until(() => harness.prompts('Go on.').length > 0, 'another turn')
  expect(harness.prompts('A handoff document')).toEqual([expect.stringContaining(`read ${late} too`)])
})

test('a late document is picked up by a supervisor that was started since, too [C4][C7]', async () => {
  const harness = await almostFull({ document: null })
  expect(await harness.cycled()).toMatchObject({ outcome: 'done', document: { by: 'ledger' } })
  await harness.letGo()
  const late = /Write it to (.+?) in Markdown/.exec(harness.prompts('Create handoff')[0]!)![1]!
  fs.writeFileSync(late, goodDocument.replace('{project}', 'shop'))
  harness.supervise()
  await harness.until(() => harness.prompts('A handoff document').length > 0, 'word of the late document')
  await harness.letGo()
  harness.supervise()
  harness.say('Go on.')
  await harness.until(() => harness.prompts('Go on.').length > 0, 'another turn')
  expect(harness.prompts('A handoff document')).toEqual([expect.stringContaining(`read ${late} too`)])
})

test('a long task waits for the answer to a question at the start; a person is told, and it is typed once [C5][C16]', async () => {
  const harness = await Harness.open()
  harness.script({ dialog: 'Do you trust the files in this folder?' })
  const prompt = `Build the shop. ${'It has many shelves. '.repeat(300)}`.trim()
  harness.supervise({ run: { ...harness.run, prompt } })
  await harness.notified('Do you trust')
  await harness.until(
    () => harness.events.some((event) => event.type === 'row' && event.row.state === 'dialog'),
    'the state',
  )
  expect(harness.heard()).toEqual([])
  harness.script({ dialog: null })
  await harness.until(() => harness.prompts('Build').length > 0, 'the task')
  await harness.until(
    () => harness.events.findLast((event) => event.type === 'row')?.row.state === 'waiting',
    'its end',
  )
  expect(harness.prompts('Build')).toEqual([prompt])
})

test('what is in the way of typing for long is told to a person, and that it is gone [C5][C16]', async () => {
  const harness = await almostFull({ draft: 'wait, I want to' }, { submitSeconds: 1 })
  await harness.notified('a line that was not sent')
  expect(harness.prompts('Create handoff')).toEqual([])
  harness.script({ draft: '' })
  expect(await harness.cycled()).toMatchObject({ outcome: 'done', document: { by: 'agent' } })
  expect(await harness.health('prompt')).toMatchObject([{ status: 'warning' }, { status: 'ok' }])
})

test('a frozen agent is interrupted once, asked again, and handed over [C4][C5]', async () => {
  const harness = await almostFull({ mute: '^Create handoff' }, { documentSeconds: 1 })
  expect(await harness.cycled()).toMatchObject({ outcome: 'done', document: { by: 'ledger' } })
  const heard = harness.heard()
  const interrupts = heard.map((each) => 'interrupted' in each)
  expect(interrupts.some((is, i) => is && interrupts[i + 1] === true)).toBe(false)
  // Each was on the tape of the session before it was sent.
  const { from } = (await harness.cycles())[0]!
  const events = await collect(harness.store.read(`pi:${from}`, { kinds: ['event'] }))
  const announced = events.filter(({ payload }) => (payload as { name: string }).name === interruptEvent)
  expect(announced).toHaveLength(interrupts.filter(Boolean).length)
  await expectOrder(harness)
})

test('a clear that is ignored is repeated, then a person is asked; the context is as it was [C5]', async () => {
  const once = await atWork()
  once.script({ ignoreClears: 1 })
  once.fill(90)
  expect(await once.cycled()).toMatchObject({ outcome: 'done' })
  expect(once.clears()).toBe(2)
  const twice = await atWork()
  twice.script({ ignoreClears: 9 })
  twice.fill(90)
  expect(await twice.cycled()).toMatchObject({
    outcome: 'failed',
    reason: expect.stringContaining('ignored the clear'),
  })
  expect(twice.clears()).toBe(2)
  expect(twice.told.at(-1)).toMatchObject({ level: 'critical', action: expect.stringContaining('Read handoff from') })
})

test('nothing is typed while a question is open or a person types; the cycle goes on behind it [C5]', async () => {
  const harness = await almostFull({ draft: 'hm, what about' }, { submitSeconds: 2 })
  await harness.notified('waiting for a chance to type')
  expect(harness.prompts('Create handoff')).toEqual([])
  harness.script({ draft: '', dialog: 'May I run rm -rf build?' })
  await harness.notified('rm -rf build')
  expect(harness.prompts('Create handoff')).toEqual([])
  harness.script({ dialog: null })
  expect(await harness.cycled()).toMatchObject({ outcome: 'done' })
  await expectOrder(harness)
})

test('a fresh context that does not read its document is told again, then a person is asked [C6]', async () => {
  const harness = await almostFull({ illiterate: true }, { verifySeconds: 2 })
  expect(await harness.cycled()).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('did not read') })
  expect(harness.prompts('Read handoff')).toHaveLength(2)
  expect(harness.told.at(-1)).toMatchObject({ level: 'critical', action: expect.stringContaining('baton attach shop') })
})

test('without its folder nothing is done, and none is made in its place; it goes on when it is back [C7][C16]', async () => {
  const harness = await atWork()
  const away = `${harness.cwd}-away`
  fs.renameSync(harness.cwd, away)
  harness.fill(90)
  await harness.until(() => harness.told.find(({ action }) => action.includes('Put the folder back')), 'word of it')
  expect(fs.existsSync(harness.cwd)).toBe(false)
  expect(harness.prompts('Create handoff')).toEqual([])
  fs.renameSync(away, harness.cwd)
  expect(await harness.cycled()).toMatchObject({ outcome: 'done' })
  expect((await harness.health('project')).at(-1)).toMatchObject({ status: 'ok' })
})

/** Refuses what is asked of it, as a full disk does. */
function fillable(store: Store) {
  let full = (_payload: string) => false
  const proxy = new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key, target) as unknown
      if (typeof value !== 'function') return value
      if (key !== 'append' && key !== 'putBlob') return (value as (...args: unknown[]) => unknown).bind(target)
      return async (...args: never[]) => {
        if (full(key === 'putBlob' ? 'blob' : JSON.stringify(args[1]))) {
          throw new StorageError('The disk is full', { hint: 'Make room.' })
        }
        return (value as (...args: unknown[]) => unknown).apply(target, args)
      }
    },
  })
  return { store: proxy, fill: (which: typeof full) => (full = which) }
}

test('a document that somebody removes before the fresh context reads it is put back [C6]', async () => {
  const harness = await Harness.open()
  const { store, fill } = fillable(harness.store)
  const removed: string[] = []
  fill((payload) => {
    const [, file] = /"at":"clearing".*?"path":"([^"]+)"/.exec(payload) ?? []
    if (file === undefined || !fs.existsSync(file)) return false
    fs.rmSync(file)
    removed.push(file)
    return false
  })
  harness.supervise({ store })
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  harness.fill(90)
  expect(await harness.cycled()).toMatchObject({ outcome: 'done' })
  expect(removed).not.toEqual([])
  expect(harness.prompts('Read handoff')).toHaveLength(1)
  expect(harness.told.filter(({ level }) => level === 'critical')).toEqual([])
})

test('a disk that is full while the document is stored stops the clear, not the session [C7]', async () => {
  const harness = await Harness.open()
  const { store, fill } = fillable(harness.store)
  harness.supervise({ store })
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  fill((what) => what === 'blob')
  harness.fill(90)
  await harness.notified('The disk is full')
  expect(harness.clears()).toBe(0)
  expect(harness.told.at(-1)).toMatchObject({
    level: 'critical',
    action: expect.stringContaining('Free some disk space'),
  })
  fill(() => false)
  // It is tried again after half a minute, or when somebody wants it.
  expect(await harness.until(async () => (await harness.cycles())[0], 'the cycle', 60_000)).toMatchObject({
    outcome: 'done',
  })
  expect(harness.prompts('Create handoff')).toHaveLength(1)
}, 90_000)

test('with a disk that takes nothing at all nothing is typed; when there is room, the cycle goes on [C7]', async () => {
  const harness = await Harness.open()
  const { store, fill } = fillable(harness.store)
  harness.supervise({ store })
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  fill(() => true)
  harness.fill(90)
  await harness.notified('The disk is full')
  expect(harness.prompts('Create handoff')).toEqual([])
  fill(() => false)
  expect(await harness.cycled()).toMatchObject({ outcome: 'done' })
  expect((await harness.health('storage')).at(-1)).toMatchObject({ status: 'ok' })
  await expectOrder(harness)
})

test('a run that ends while the disk is full ends once there is room, and is not started again [C7]', async () => {
  const harness = await Harness.open()
  const { store, fill } = fillable(harness.store)
  const { ended } = harness.supervise({ store })
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  let refused = 0
  fill((payload) => payload.includes('"name":"ended"') && ++refused > 0)
  await control(harness.store, 'shop', 'stop')
  await harness.notified('The disk is full')
  fill(() => false)
  expect(await ended).toEqual({ why: 'stopped' })
  expect(refused).toBeGreaterThan(0)
  expect(await harness.store.latest(sessionTape('shop'), 'ended')).toMatchObject({
    payload: { data: { why: 'stopped' } },
  })
}, 30_000)

test('pause holds the cycle, unpause lets it go on, cycle wants one now, stop ends the agent for good [C7][C15]', async () => {
  const harness = await Harness.open()
  const { ended } = harness.supervise()
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  await control(harness.store, 'shop', 'pause')
  await harness.until(
    () => harness.events.some((event) => event.type === 'row' && event.row.state === 'paused'),
    'the pause',
  )
  harness.fill(90)
  await harness.until(
    () =>
      harness.events.some(
        (event) => event.type === 'row' && event.row.state === 'paused' && event.row.context_usage! > 0.85,
      ),
    'the fill',
  )
  expect(harness.prompts('Create handoff')).toEqual([])
  await control(harness.store, 'shop', 'unpause')
  expect(await harness.cycled()).toMatchObject({ n: 1, outcome: 'done' })
  await control(harness.store, 'shop', 'cycle')
  expect(await harness.cycled(2)).toMatchObject({ n: 2, outcome: 'done', why: 'person' })
  await control(harness.store, 'shop', 'stop')
  expect(await ended).toEqual({ why: 'stopped' })
  expect(dataOf((await harness.entries('row')).at(-1)!)).toMatchObject({ state: 'ended', ended: 'stopped' })
})
