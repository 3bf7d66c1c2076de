import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Circumstances, holdOf, policyFor, thresholdOf } from '../../../src/supervisor/cycle/policy.ts'
import { documentsFolder, examineFile, freePath } from '../../../src/supervisor/documents/document-file.ts'
import { liveSettings, supervisorSection, timingsSchema } from '../../../src/supervisor/index.ts'
import { decideRecovery, planRecovery } from '../../../src/supervisor/session/crash-recovery.ts'
import { acquire } from '../../../src/supervisor/session/records/lease.ts'
import { supervisorSchema } from '../../../src/supervisor/settings.ts'
import { lifeOf, thisProcess } from '../../../src/system/holder.ts'
import { temporaryFolder, temporaryStore } from '../../support/workspace.ts'
import { Harness } from '../support/harness.ts'
import { goodDocument } from '../support/protocol.ts'
import { sight } from '../support/sightings.ts'

const timings = timingsSchema.parse({})
const settings = { ...supervisorSection.parse({}), ...timings }
const now = Date.parse('2026-01-22T14:30:00Z')

function at(more: Partial<Circumstances> = {}, compactsAt?: number): Circumstances {
  return {
    run: { name: 'shop', agent: 'claude', cwd: '/shop', driver: 'tmux' },
    adapter: { compactsAt: () => compactsAt },
    meter: { quotas: [], window: 100_000 },
    session: 'a',
    history: { cycles: [], count: 0 },
    now,
    ...more,
  }
}

const past = (minutes: number, progress = true, outcome: 'done' | 'failed' = 'done') => ({
  n: 1,
  outcome,
  at: now - minutes * 60_000,
  progress,
})

test('the threshold is 0.85, per agent and per session, and always below where the agent compacts [C1]', () => {
  expect(thresholdOf(settings, at())).toBe(0.85)
  const own = { ...supervisorSection.parse({ thresholds: { claude: 0.7, shop: 0.6 } }), ...timings }
  expect(thresholdOf(own, at())).toBe(0.6)
  expect(thresholdOf(own, at({ run: { ...at().run, name: 'other' } }))).toBe(0.7)
  // Compacts at 67,000 of 100,000: cycled five points before, whatever is set.
  expect(thresholdOf(settings, at({}, 67_000))).toBeCloseTo(0.62)
  expect(
    policyFor(settings, at({}, 67_000), { wanted: false, hold: undefined, path: '', project: '' }).brink,
  ).toBeCloseTo(0.65)
})

test('more than one cycle in an hour raises the threshold for a while, but not above the compaction [C10]', () => {
  const often = { cycles: [past(50), past(10)], count: 2 }
  expect(thresholdOf(settings, at({ history: often }))).toBeCloseTo(0.9)
  expect(thresholdOf(settings, at({ history: often }, 90_000))).toBeCloseTo(0.85)
  expect(thresholdOf(settings, at({ history: { cycles: [past(100), past(10)], count: 2 } }))).toBe(0.85)
  expect(thresholdOf(settings, at({ history: { cycles: [past(120), past(90)], count: 2 } }))).toBe(0.85)
})

test('three cycles without progress hold the next, until a person wants one; so do a pause and a full fresh context [C1][C10]', () => {
  const cycles = [past(90, false), past(60, true, 'failed'), past(30, false)]
  expect(holdOf(settings, at({ history: { cycles, count: 3 } }))).toMatchObject({ why: 'breaker' })
  expect(holdOf(settings, at({ history: { cycles, count: 3, overriddenAt: now - 1 } }))).toBeUndefined()
  expect(
    holdOf(settings, at({ history: { cycles: [past(90, false), past(60), past(30, false)], count: 3 } })),
  ).toBeUndefined()
  expect(holdOf(settings, at({ history: { cycles: [past(1)], count: 1 } }))).toMatchObject({ why: 'cooldown' })
  const baseline = { session: 'a', share: 0.9 }
  expect(holdOf(settings, at({ history: { cycles: [], count: 0, baseline } }))).toMatchObject({ why: 'futile' })
  expect(holdOf(settings, at({ session: 'b', history: { cycles: [], count: 0, baseline } }))).toBeUndefined()
})

test('a crash is told from an end; what is below the threshold is reopened, the rest begins afresh; loops are bounded [C15]', () => {
  const loss = { ending: undefined, settings, restarts: [], session: 'a', canResume: true, full: false, now }
  expect(decideRecovery(loss)).toEqual({ do: 'resume', session: 'a', afterMs: 0 })
  expect(decideRecovery({ ...loss, full: true })).toEqual({ do: 'launch', afterMs: 0 })
  expect(decideRecovery({ ...loss, canResume: false })).toEqual({ do: 'launch', afterMs: 0 })
  expect(decideRecovery({ ...loss, ending: { code: 0 } })).toEqual({ do: 'end', ended: { why: 'exited' } })
  expect(decideRecovery({ ...loss, ending: { signal: 'SIGTERM' } })).toEqual({ do: 'end', ended: { why: 'exited' } })
  expect(decideRecovery({ ...loss, ending: { code: 1 } })).toMatchObject({ do: 'resume' })
  const restarts = [1, 2, 3, 4].map((minutes) => now - minutes * 60_000)
  expect(decideRecovery({ ...loss, ending: { signal: 'SIGKILL' }, restarts })).toMatchObject({
    do: 'resume',
    afterMs: 16_000,
  })
  expect(decideRecovery({ ...loss, restarts: [...restarts, now - 1] })).toMatchObject({
    do: 'end',
    ended: { why: 'crashed' },
  })
  expect(decideRecovery({ ...loss, restarts: restarts.map((each) => each - 3_600_000) })).toMatchObject({
    do: 'resume',
  })
})

test('an agent whose first question was answered with no is not started again, however late the answer came [C15]', async () => {
  const ending = { code: 1, error: 'It did not start because this folder is not trusted.' }
  const handle = { driver: { ended: () => Promise.resolve(ending) }, adapter: { resume: () => [] } } as never
  const lost = {
    handle,
    observation: sight({ session: 'a' }).observation,
    cycle: { at: 'watching' },
    restarts: [],
    settings,
    full: false,
    n: 1,
    firstPrompt: 'Build',
    upMs: 3_600_000,
    wasAsking: true,
    now,
  } as const
  expect(await planRecovery({} as never, lost)).toMatchObject({
    do: 'end',
    ended: {
      why: 'crashed',
      details:
        'It did not start: it ended with exit code 1, saying "It did not start because this folder is not trusted."',
    },
  })
  expect(await planRecovery({} as never, { ...lost, wasAsking: false })).toMatchObject({ do: 'go on' })
})

test('a wrong setting is named; the schema is JSON Schema [C1]', () => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'baton.config.json')
  fs.writeFileSync(file, '{"supervisor":{"threshold":85}}')
  const open = () => liveSettings(folder, () => undefined)
  expect(open).toThrow(`${file}: supervisor.threshold is larger than 1`)
  fs.writeFileSync(file, '{"supervisor":{"treshold":0.8}}')
  expect(open).toThrow(`${file}: supervisor has no field "treshold"`)
  fs.writeFileSync(file, '{"supervisor":{"onSilence":"wait"}}')
  expect(open).toThrow('supervisor.onSilence must be one of ledger, ask, not "wait"')
  expect(supervisorSchema()).toMatchObject({
    type: 'object',
    properties: { threshold: { default: 0.85, exclusiveMaximum: 1 } },
  })
})

test('a changed configuration counts without a restart; a broken one is told of and changes nothing [C1]', async () => {
  const harness = await Harness.open()
  const file = path.join(harness.cwd, 'baton.config.json')
  const write = (supervisor: object) => fs.writeFileSync(file, JSON.stringify({ supervisor }))
  const quick = { ...harness.settings, thresholds: {}, agents: {} }
  write(quick)
  const problems: string[] = []
  const live = liveSettings(harness.cwd, (error) => problems.push(error.message))
  onTestFinished(() => live.close())
  harness.supervise({ settings: live.settings, onSettings: live.onSettings })
  await harness.until(() => harness.prompts('Build').length === 1, 'the first prompt')
  harness.fill(40)
  await harness.until(
    () => harness.events.some((event) => event.type === 'row' && event.row.context_usage! > 0.3),
    'the fill',
  )
  fs.writeFileSync(file, '{"supervisor":')
  await harness.until(() => problems.length > 0, 'the problem')
  expect(live.settings().threshold).toBe(0.85)
  expect(harness.prompts('Create handoff')).toEqual([])
  write({ ...quick, threshold: 0.3 })
  expect(await harness.cycled()).toMatchObject({ outcome: 'done' })
})

test('documents are named by the minute, do not collide, and lie where the agent can write and git does not look [C9]', () => {
  const cwd = path.join(temporaryFolder(), 'shop')
  const folder = documentsFolder(cwd, 'claude shop', undefined)
  expect(folder).toBe(path.join(cwd, '.handoffs', 'claude%20shop'))
  const minute = new Date('2026-01-22T14:30:59Z')
  const first = freePath(folder, minute)
  expect(first).toBe(path.join(folder, 'handoff-2026-01-22-14-30.md'))
  expect(fs.readFileSync(path.join(cwd, '.handoffs', '.gitignore'), 'utf8')).toBe('*\n')
  fs.writeFileSync(first, '')
  expect(freePath(folder, minute)).toBe(path.join(folder, 'handoff-2026-01-22-14-30-2.md'))
  expect(freePath(folder, minute, path.join(folder, 'handoff-2026-01-22-14-30-2.md'))).toMatch(/-3\.md$/)
  fs.mkdirSync(path.join(cwd, '.baton/tape'), { recursive: true })
  expect(documentsFolder(cwd, 'shop', undefined)).toBe(path.join(cwd, '.baton/handoffs/shop'))
  expect(documentsFolder(cwd, 'shop', 'docs/handoffs')).toBe(path.join(cwd, 'docs/handoffs/shop'))
})

test('what is wrong with a document is said so that its author can mend it [C3]', () => {
  const cwd = path.join(temporaryFolder(), 'shop')
  fs.mkdirSync(cwd)
  const file = path.join(cwd, 'handoff.md')
  const look = (text: string | undefined, since = Date.now() - 60_000) => {
    if (text !== undefined) fs.writeFileSync(file, text)
    return examineFile({ path: file, since, cwd }, Date.now() + 1_000)
  }
  expect(look(undefined)).toEqual({ is: 'nothing' })
  expect(look('')).toEqual({ is: 'refused', reason: 'the file is empty' })
  expect(look('All done.')).toMatchObject({
    is: 'incomplete',
    problems: expect.arrayContaining(['The section "Current Work" is missing']),
  })
  expect(look(goodDocument.replace('{project}', 'shop'))).toEqual({ is: 'valid' })
  expect(look(goodDocument.replace('{project}', cwd))).toEqual({ is: 'valid' })
  expect(look(goodDocument.replace('{project}', 'The Shop (backend)'))).toEqual({ is: 'valid' })
  expect(look(goodDocument.replace('{project}', 'warehouse'))).toEqual({
    is: 'refused',
    reason: 'it is for the project warehouse, but this one is shop',
  })
  expect(look(goodDocument.replace('{project}', '/srv/shop'))).toMatchObject({ is: 'refused' })
  expect(look(goodDocument.replace('{project}', 'shop'), Date.now() + 60_000)).toEqual({
    is: 'refused',
    reason: 'the file is older than the request for it',
  })
  fs.rmSync(file)
  fs.symlinkSync('/etc/passwd', file)
  expect(look(undefined)).toMatchObject({ is: 'refused', reason: expect.stringContaining('not a plain file') })
})

test('a lease is held by who lives, and free when its holder is dead, rebooted, or out of sight for too long [C7]', async () => {
  const store = await temporaryStore()
  const lease = await acquire(store, 'session/shop', 'lease', 'shop is held')
  await expect(acquire(store, 'session/shop', 'lease', 'shop is held')).rejects.toMatchObject({
    code: 'conflict',
    message: `shop is held by process ${process.pid}`,
  })
  await lease.release()
  const elsewhere = { ...thisProcess(), host: 'other' }
  const hold = (holder: object, until: number) =>
    store.append('session/shop', [
      { kind: 'event', payload: { name: 'lease', data: { holder, until } }, meta: { key: 'lease' } },
    ])
  await hold(elsewhere, Date.now() + 60_000)
  await expect(acquire(store, 'session/shop', 'lease', 'shop is held')).rejects.toMatchObject({
    message: `shop is held by process ${process.pid} on other`,
  })
  await hold(elsewhere, Date.now() - 1)
  await (await acquire(store, 'session/shop', 'lease', 'shop is held')).release()
  expect(lifeOf({ ...thisProcess(), boot: 'before' })).toBe('dead')
  expect(lifeOf({ ...thisProcess(), started: '1' })).toBe('dead')
  expect(lifeOf(elsewhere)).toBe('unknown')
})
