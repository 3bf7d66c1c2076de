import { expect, test } from 'vitest'
import { codingTools, createAgent, permissionPolicy } from '../../src/agent/index.ts'
import { contextHandoffs, sendContextHandoff } from '../../src/relay/index.ts'
import { openTape } from '../../src/tape/index.ts'
import { call, say } from '../support/model-server/index.ts'
import { temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { scene } from './harness.ts'

test('an agent works on its own tapes and on those of nobody, and is refused on another’s [T24]', async () => {
  const store = await temporaryStore()
  const tape = await openTape('main', { store })
  await tape.record({ role: 'user', content: 'hello' })
  const { agent } = await scene([say('one'), say('two')], { store, as: 'worker-1' })
  expect(await agent.submit('go')).toMatchObject({ status: 'done' })
  await sendContextHandoff(store, {
    type: 'context_handoff',
    from: 'worker-1',
    to: 'worker-2',
    timestamp: new Date().toISOString(),
    content: { reason: 'done', summary: '', tape_ref: tape.uri({ entry: 1 }), ownership: 'transfer' },
  })
  const before = (await tape.info()).lastId
  expect(await agent.submit('go on')).toMatchObject({
    status: 'failed',
    error: expect.stringContaining("worker-2's now") as string,
  })
  expect(await agent.handoff()).toMatchObject({ status: 'failed' })
  expect(await agent.submit(',handoff name=x')).toMatchObject({ kind: 'command', ok: false })
  expect((await tape.info()).lastId).toBe(before)
  for (const as of [{}, { as: 'worker-1' }])
    await expect(createAgent({ store, tape: 'main', ...as })).rejects.toMatchObject({ code: 'refused' })
  const { agent: next } = await scene([say('mine'), say('## Goal\nGo on'), say('## Goal\nGo on')], {
    store,
    as: 'agent:worker-2',
  })
  expect(await next.submit('go on')).toMatchObject({ status: 'done', text: 'mine' })
  // What the new owner hands over to is its own too.
  expect(await next.handoff()).toMatchObject({ status: 'done', tape: 'main-2' })
  expect(next.tape.as).toBe('agent:worker-2')
  expect(await next.tape.owner()).toBe('worker-2')
})

test('the tool passes the tape on at the end of the turn, and the other agent finds the message in its inbox [T24]', async () => {
  const store = await temporaryStore()
  const cwd = temporaryFolder()
  const tools = codingTools()
  const options = { store, cwd, tools, permissions: permissionPolicy({ cwd, yes: true }) }
  const given = { to: 'worker-2', reason: 'not my field', summary: 'The importer is half done', ownership: 'transfer' }
  const { agent, of } = await scene([call('tape_give', given), say('It is yours.')], { ...options, as: 'worker-1' })
  expect(await agent.submit('Build the importer')).toMatchObject({ status: 'done', text: 'It is yours.' })
  expect(of('warning')).toEqual([])
  expect(await agent.tape.owner()).toBe('worker-2')
  expect(await contextHandoffs(store, 'worker-2')).toMatchObject([
    { message: { from: 'worker-1', content: { reason: 'not my field' } } },
  ])
  const { agent: next, server } = await scene([call('tape_inbox', {}), call('tape_inbox', {}), say('Taken.')], {
    ...options,
    tape: 'main',
    as: 'worker-2',
  })
  expect(await next.submit('What waits for you?')).toMatchObject({ status: 'done', text: 'Taken.' })
  expect(JSON.stringify(server.requests[1]!.messages)).toContain('The importer is half done')
  expect(JSON.stringify(server.requests[2]!.messages.at(-1))).toContain('Nothing waits for worker-2')
})
