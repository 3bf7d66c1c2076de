import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { BatonError } from '../../../src/errors.ts'
import { openRelay, type Relay } from '../../../src/relay/index.ts'
import { openFileStore } from '../../../src/store/index.ts'
import { sample } from '../../support/full.ts'
import { collect, temporaryFolder } from '../../support/workspace.ts'
import { boundless, open, request, resolved, settings } from '../pipeline.ts'

/** A workspace in which everything has happened that the relay records. */
async function eventful({ archived }: { archived: boolean }): Promise<string> {
  const { relay, folder, again } = await open({ settings: { limits: boundless, leaseMs: 60_000 } })
  const traceId = '00000000-0000-4000-8000-000000000001'
  await relay.request(request({ traceId }), { requestId: 'answered', wait: false })
  const claim = await relay.claim('researcher', { worker: 'w' })
  await relay.progress('answered', { by: 'w', percent: 50 })
  await relay.heartbeat(claim!)
  await relay.answer('answered', resolved, { claim: claim! })
  await relay.answer('answered', { status: 'failed', failureReason: 'late' })
  await relay.request(request({ traceId, sourceAgent: 'validator', handoffTo: 'researcher' }), { requestId: 'refused' })
  await relay.request(request({ handoffTo: 'human' }), { requestId: 'asked' })
  await relay.request(request({ handoffTo: 'human' }), { requestId: 'open question'.replace(' ', '-') })
  const [first] = await relay.escalations.list()
  await relay.escalations.answer(first!.id, { marketSize: 1 }, { by: 'Kim' })
  await relay.resume('asked', { by: 'generator' }, async () => {})
  if (archived) await relay.archive()
  await relay.request(request(), { requestId: 'released', wait: false })
  const given = await relay.claim('researcher', { worker: 'w' })
  await relay.release('released', { claim: given! })
  await relay.request(request({ priority: 'high' }), { requestId: 'claimed', wait: false })
  await relay.claim('researcher', { worker: 'w', requestId: 'claimed' })
  await relay.request(request(), { requestId: 'pending', wait: false })
  await relay.passControl(traceId, { from: 'generator', to: 'validator', reason: 'done' })
  const other = await again()
  await other.close()
  await relay.close()
  return folder
}

/** Everything that a command of the relay does; it must not fail, or say that something is not there. */
async function useAll(relay: Relay): Promise<void> {
  const orGone = (error: unknown) => {
    if (!BatonError.is(error) || error.code !== 'not_found') throw error
  }
  await relay.status()
  await relay.counters()
  await relay.alertReadings(Date.now())
  await relay.inbox('researcher')
  await relay.deadLetters.list()
  for (const { id } of await relay.escalations.list()) await relay.escalations.show(id)
  await collect(relay.history())
  await collect(relay.history({ traceId: '00000000-0000-4000-8000-000000000001' }))
  await relay.owner('00000000-0000-4000-8000-000000000001').catch(orGone)
  for (const id of ['answered', 'refused', 'asked', 'open-question', 'released', 'claimed', 'pending']) {
    await relay.status(id).catch(orGone)
  }
  const stop = new AbortController()
  const serving = relay.serve('researcher', () => resolved, { signal: stop.signal })
  expect(await relay.request(request())).toMatchObject({ status: 'resolved' })
  stop.abort()
  await serving
  const [question] = await relay.escalations.list()
  if (question !== undefined) await relay.escalations.answer(question.id, { marketSize: 2 }, { by: 'Kim' })
  expect(await relay.request(request({ handoffTo: 'human' }))).toMatchObject({ status: 'escalated' })
  await relay.sweep()
}

test.for([
  ['of the tape', { archived: false, least: 18 }],
  ['behind an archive', { archived: true, least: 7 }],
] as const)(
  'whichever line %s is damaged, after a repair everything works and says what is missing [P9]',
  async ([, { archived, least }]) => {
    const folder = await eventful({ archived })
    const file = path.join(folder, 'tape', `${encodeURIComponent('relay/handoffs')}.jsonl`)
    const lines = fs.readFileSync(file, 'utf8').trimEnd().split('\n')
    expect(lines.length).toBeGreaterThan(least)
    for (const damaged of sample([...lines.keys()], archived ? 4 : 8)) {
      const copy = path.join(temporaryFolder(), '.baton')
      fs.cpSync(folder, copy, { recursive: true })
      const broken = lines.map((line, i) => (i === damaged ? line.replace('"date"', '"dote"') : line))
      fs.writeFileSync(path.join(copy, 'tape', path.basename(file)), `${broken.join('\n')}\n`)
      const store = await openFileStore(copy)
      await store.repair!('relay/handoffs')
      const relay = await openRelay({ store, settings: settings({ limits: boundless, leaseMs: 60_000 }) })
      expect((await relay.status()).lost).toEqual([(JSON.parse(lines[damaged]!) as { id: number }).id])
      await useAll(relay)
      await relay.close()
      await store.close()
    }
  },
)

test('a process that has read the lost entries goes on after the repair [P9]', async () => {
  const { relay, store, folder } = await open({ settings: { limits: boundless } })
  await relay.request(request(), { requestId: 'r', wait: false })
  const claim = await relay.claim('researcher', { worker: 'w', leaseMs: 1 })
  await relay.heartbeat(claim!)
  const file = path.join(folder, 'tape', `${encodeURIComponent('relay/handoffs')}.jsonl`)
  const whole = fs.readFileSync(file, 'utf8')
  const damaged = whole.replace('handoff.extended', 'handoff.extendde')
  expect(damaged).not.toBe(whole)
  fs.writeFileSync(file, damaged)
  await store.repair!('relay/handoffs')
  // It can be claimed once this process has seen the lease end.
  await expect
    .poll(() => relay.claim('researcher', { worker: 'next' }))
    .toMatchObject({ requestId: 'r', worker: 'next' })
})
