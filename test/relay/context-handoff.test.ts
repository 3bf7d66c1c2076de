import { expect, test } from 'vitest'
import { contextHandoffs, receiveContextHandoff, sendContextHandoff } from '../../src/relay/index.ts'
import { entriesAt, openTape } from '../../src/tape/index.ts'
import { collect, temporaryStore } from '../support/workspace.ts'

const user = (content: string) => ({ role: 'user', content })

async function shared() {
  const store = await temporaryStore()
  const tape = await openTape('telegram:123', { store })
  const entry = await tape.record(user('Found a suspicious pattern in auth.py'))
  const message = {
    type: 'context_handoff',
    from: 'agent:worker-abc123',
    to: 'agent:worker-def456',
    timestamp: '2026-02-21T12:00:00Z',
    content: {
      reason: 'Specialist required for security analysis',
      summary: 'Found suspicious pattern in auth.py',
      tape_ref: tape.uri({ entry: entry.id }),
      intention: { next_steps: 'Review auth.py lines 40-60', context_summary: 'Potential SQL injection' },
      ownership: 'transfer' as 'transfer' | 'share',
    },
  }
  return { store, tape, message }
}

test('a context is handed to another agent, who finds what it refers to, once [T24]', async () => {
  const { store, message } = await shared()
  await sendContextHandoff(store, message)
  expect(await contextHandoffs(store, 'worker-def456')).toMatchObject([{ message }])
  expect(await receiveContextHandoff(store, 'worker-abc123')).toBeUndefined()
  const received = (await receiveContextHandoff(store, 'agent:worker-def456'))!
  expect(received.message).toEqual(message)
  const [entry] = await collect(entriesAt(store, received.at))
  expect(entry?.payload).toEqual(user('Found a suspicious pattern in auth.py'))
  expect(await receiveContextHandoff(store, 'worker-def456')).toBeUndefined()
})

test('several receivers of one name never get the same message, and none is lost [T24]', async () => {
  const { store, message } = await shared()
  const shares = { ...message, content: { ...message.content, ownership: 'share' } }
  const sent = await Promise.all(Array.from({ length: 20 }, () => sendContextHandoff(store, shares)))
  const received: string[] = []
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let next; (next = await receiveContextHandoff(store, 'worker-def456')) !== undefined;) received.push(next.id)
    }),
  )
  expect(received.toSorted()).toEqual(sent.map(({ id }) => id).toSorted())
})

test("with the ownership the tape is the other one's: the former owner cannot append any more [T24]", async () => {
  const { store, message } = await shared()
  const former = await openTape('telegram:123', { store, as: 'worker-abc123' })
  const next = await openTape('telegram:123', { store, as: 'agent:worker-def456' })
  await former.record(user('Still mine'))
  await sendContextHandoff(store, message)
  expect(await former.owner()).toBe('worker-def456')
  const refused = {
    code: 'refused',
    message: "telegram:123 is worker-def456's now; worker-abc123 cannot append to it",
  }
  await expect(former.record(user('One more'))).rejects.toMatchObject(refused)
  await expect(former.handoff('phase')).rejects.toMatchObject(refused)
  await expect(former.reset()).rejects.toMatchObject(refused)
  await next.record(user('I have it'))
  await expect(sendContextHandoff(store, message)).rejects.toMatchObject({ code: 'refused' })
  const texts = (await collect(former.entries({ kinds: ['message'] }))).map(({ payload }) => payload)
  expect(texts.slice(1)).toEqual([user('Still mine'), user('I have it')])
})

test('a shared tape stays open to both [T24]', async () => {
  const { store, message } = await shared()
  const both = ['worker-abc123', 'worker-def456'].map((as) => openTape('telegram:123', { store, as }))
  await sendContextHandoff(store, { ...message, content: { ...message.content, ownership: 'share' } })
  for (const tape of await Promise.all(both)) await tape.record(user('Me too'))
  expect(await (await both[0])!.owner()).toBeUndefined()
})

test('who loses a tape in the very moment of an append has not appended [T24]', async () => {
  const { store, message } = await shared()
  const former = await openTape('telegram:123', { store, as: 'worker-abc123' })
  const racing = Array.from({ length: 30 }, (_, i) => former.record(user(`note ${i}`)))
  const [, ...ends] = await Promise.allSettled([sendContextHandoff(store, message), ...racing])
  const owned = (await store.latest('telegram:123', 'owner'))!.id
  const after = await collect(store.read('telegram:123', { after: owned, kinds: ['message'] }))
  expect(after).toEqual([])
  for (const end of ends) if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: 'refused' })
})

test('a transfer that was received late does not take back a tape that was handed on [T24]', async () => {
  const { store, message } = await shared()
  await sendContextHandoff(store, message)
  const back = { ...message, from: message.to, to: message.from }
  await sendContextHandoff(store, back)
  const tape = await openTape('telegram:123', { store, as: 'worker-abc123' })
  await receiveContextHandoff(store, 'worker-def456')
  expect(await tape.owner()).toBe('worker-abc123')
  await tape.record(user('Mine again'))
})

test("the owner stays the owner when the tape is reset; a fork is whoever's who makes it [T24]", async () => {
  const { store, message } = await shared()
  await sendContextHandoff(store, message)
  const former = await openTape('telegram:123', { store, as: 'worker-abc123' })
  const fork = await former.fork('mine')
  expect(await fork.owner()).toBeUndefined()
  await (await openTape('telegram:123', { store, as: 'worker-def456' })).reset()
  expect(await former.owner()).toBe('worker-def456')
  await expect(former.record(user('Again'))).rejects.toMatchObject({ code: 'refused' })
})

test.each([
  ['type', { type: 'handoff' }, 'type'],
  ['sender', { from: 'agent:' }, 'from'],
  ['receiver', { to: '../up' }, 'to'],
  ['timestamp', { timestamp: 'now' }, 'timestamp'],
  ['content', { content: { summary: '' } }, 'content.reason'],
  ['extra field', { cc: 'agent:x' }, 'cc'],
])('a wrong %s is refused with its path [T24]', async (_, mistake, named) => {
  const { store, message } = await shared()
  const error = (await sendContextHandoff(store, { ...message, ...mistake }).catch((error: unknown) => error)) as Error
  expect(error).toMatchObject({ code: 'invalid' })
  expect(error.message).toContain(named)
})

test.each([
  ['no reference', 'main#12', 'invalid'],
  ['an entry that is not there', 'tape://WORKSPACE/telegram%3A123/entry/99', 'not_found'],
  ['an anchor that is not there', 'tape://WORKSPACE/telegram%3A123/anchor/nowhere', 'not_found'],
  ['a tape that is not there', 'tape://WORKSPACE/nothing/entry/1', 'not_found'],
  ['another workspace', 'tape://elsewhere/telegram%3A123/entry/1', 'not_found'],
])('a reference to %s is refused before anything is delivered [T24]', async (_, reference, code) => {
  const { store, message } = await shared()
  const tape_ref = reference.replace('WORKSPACE', encodeURIComponent(store.workspace))
  const sending = sendContextHandoff(store, { ...message, content: { ...message.content, tape_ref } })
  await expect(sending).rejects.toMatchObject({ code })
  expect(await contextHandoffs(store, 'worker-def456')).toEqual([])
})
