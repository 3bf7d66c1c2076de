import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { ask } from '../../examples/agent.ts'
import { createAgent } from '../../src/agent/index.ts'
import { openStore } from '../../src/store/index.ts'
import { openTape, readEdges } from '../../src/tape/index.ts'
import { call, closedGate, fail, type ModelServer, type Reply, say } from '../support/model-server/index.ts'
import { collect, temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { documentText, echo, modelOf, probe, scene, serve } from './harness.ts'

const document = documentText({
  goal: 'Build the importer.',
  inProgress: 'Write the parser',
  pending: 'Write tests',
  decision: 'Stream rows, because files are large; loading was ruled out.',
  context: 'Rows end in CRLF.',
  next: 'Write parseRow in src/import.ts',
})

/** Answers what the agent asks, and hands over `written` where a document is asked for. */
const answering =
  (written: () => Reply, answer = 'Noted.') =>
  (request: { system: string }): Reply =>
    request.system.includes('handoff documents') ? written() : say(answer)

const isDocument = (request: { system: string }) => request.system.includes('handoff documents')

test('the example runs: it looks, answers, and goes on where it was left [T21]', async () => {
  const folder = temporaryFolder()
  fs.writeFileSync(path.join(folder, 'hello.txt'), 'hi')
  const server = await serve([call('fs_list', { path: '.' }), say('One file.'), say('Still one.')])
  const told: string[] = []
  const model = modelOf['chat-completions'](server)
  expect(await ask('What is here?', folder, model, (line) => told.push(line))).toBe('One file.')
  expect(told[0]).toMatch(/^fs\.list/)
  expect(JSON.stringify(server.requests[1]!.messages)).toContain('hello.txt')
  expect(await ask('And now?', folder, model, () => {})).toBe('Still one.')
  expect(server.requests[2]!.messages.map(({ text }) => text)).toContain('What is here?')
  expect(server.problems).toEqual([])
})

test('a handoff goes to a new tape, with the document as its only history, and the agent goes on there [H3, H5, H6, H7, H8]', async () => {
  const { agent, server, of } = await scene(
    answering(() => say(document)),
    { tools: [echo()] },
  )
  await agent.submit('Build the importer. Never touch the public API.')
  const store = agent.tape.store
  const progress: string[] = []
  const result = await agent.handoff('finish the parser', { onProgress: ({ step }) => progress.push(step) })
  expect(result).toMatchObject({ status: 'done', message: 'New session started with handoff context', tape: 'main-2' })
  expect(agent.tape.name).toBe('main-2')
  expect(progress).toContain('writing')
  const asked = server.requests.find(isDocument)!
  expect(asked.messages.at(-1)!.text).toContain('Additional focus: finish the parser')
  expect(asked.tools).toEqual([])
  expect(await agent.submit('Go')).toMatchObject({ status: 'done' })
  const { messages } = server.requests.at(-1)!
  expect(messages).toHaveLength(2)
  expect(messages[0]!.text).toMatch(/^<handoff-context>[\s\S]*Rows end in CRLF[\s\S]*<\/handoff-context>/)
  expect(await readEdges(store)).toMatchObject([{ parent: 'main', child: 'main-2', how: 'handoff' }])
  expect(
    of('handoff')
      .map(({ phase }) => phase)
      .filter((phase, i, all) => phase !== all[i - 1]),
  ).toEqual(['start', 'progress', 'done'])
  // Whoever opens the old session is taken to where it goes on.
  expect((await createAgent({ store, tape: 'main' })).tape.name).toBe('main-2')
  expect((await createAgent({ store, tape: await openTape('main', { store }) })).tape.name).toBe('main-2')
})

test('what is typed while the document is written comes first in the new session and is answered there [H9]', async () => {
  const gate = closedGate()
  const { agent, server, until } = await scene(answering(() => say(document, { hold: gate.opened })))
  await agent.submit('Build the importer.')
  const handoff = agent.handoff()
  await server.next(isDocument)
  expect(agent.isGenerating).toBe(true)
  expect(agent.busy).toBe(true)
  expect(await agent.submit('use tabs')).toEqual({ kind: 'queued' })
  expect(await agent.submit('and tests')).toEqual({ kind: 'queued' })
  const answered = until(({ type }) => type === 'turn-end')
  gate.open()
  expect(await handoff).toMatchObject({ status: 'done' })
  await answered
  const { messages } = server.requests.at(-1)!
  expect(messages.map(({ text }) => text.slice(0, 17))).toEqual(['<handoff-context>', 'use tabs', 'and tests'])
  expect(agent.isGenerating).toBe(false)
})

test('cancelled by the agent or by a signal, failed or empty: each says so, and the old session is as it was [H2, H4, H6]', async () => {
  const gate = closedGate()
  let written: Reply = say(document, { hold: gate.opened })
  const { agent, server } = await scene(answering(() => written))
  expect(await agent.handoff()).toEqual({ status: 'empty', message: 'Nothing to hand off (no messages yet)' })
  await agent.submit('Build the importer.')
  const before = await collect(agent.tape.entries())
  const byAgent = agent.handoff()
  await server.next(isDocument)
  agent.abort()
  expect(await byAgent).toEqual({ status: 'cancelled', message: 'Handoff cancelled' })
  const stop = new AbortController()
  const bySignal = agent.handoff(undefined, { signal: stop.signal })
  await server.next(isDocument)
  stop.abort()
  expect(await bySignal).toEqual({ status: 'cancelled', message: 'Handoff cancelled' })
  written = { noText: true }
  expect(await agent.handoff()).toMatchObject({
    status: 'failed',
    message: 'Handoff failed: the model returned no text',
  })
  written = fail.auth()
  expect(await agent.handoff()).toMatchObject({ status: 'failed', message: /^Handoff failed: .*key/ })
  expect(await collect(agent.tape.entries())).toEqual(before)
  expect(agent.tape.name).toBe('main')
  expect(agent.busy).toBe(false)
  gate.open()
})

test('what was typed while a handoff failed is answered on the old tape [H9]', async () => {
  const gate = closedGate()
  const { agent, server, until } = await scene(answering(() => ({ ...fail.auth(), hold: gate.opened })))
  await agent.submit('Build the importer.')
  const handoff = agent.handoff()
  await server.next(isDocument)
  await agent.submit('never mind')
  const answered = until(({ type }) => type === 'turn-end')
  gate.open()
  expect(await handoff).toMatchObject({ status: 'failed' })
  await answered
  expect(agent.tape.name).toBe('main')
  expect(server.requests.at(-1)!.messages.at(-1)!.text).toBe('never mind')
})

test('a turn of another agent while the document is written keeps the session; none after it goes astray [H7, H9]', async () => {
  const gate = closedGate()
  let hold: Partial<Reply> = { hold: gate.opened }
  const { agent, server } = await scene(answering(() => say(document, hold)))
  await agent.submit('Build the importer.')
  const { store } = agent.tape
  const other = await createAgent({ store, tape: 'main', model: modelOf['chat-completions'](server) })
  const handoff = agent.handoff()
  await server.next(isDocument)
  expect(await other.submit('Use tabs.')).toMatchObject({ status: 'done' })
  gate.open()
  expect(await handoff).toMatchObject({
    status: 'failed',
    message: /^Handoff failed: somebody continued the session/,
  })
  expect(agent.tape.name).toBe('main')
  hold = {}
  expect(await agent.handoff()).toMatchObject({ status: 'done', tape: 'main-2' })
  expect(JSON.stringify((await agent.tape.context()).messages)).toContain('Use tabs.')
  expect(await other.submit('And now?')).toMatchObject({
    status: 'failed',
    error: 'main was handed over to main-2\nContinue there: open main-2.',
  })
})

test('while a response streams, a handoff is refused and the response goes on [H2]', async () => {
  const gate = closedGate()
  const { agent, until } = await scene([say('a long answer', { hold: gate.opened, holdAfter: 1 })])
  const turn = agent.submit('one')
  await until(({ type }) => type === 'text')
  expect(await agent.handoff()).toMatchObject({
    status: 'failed',
    message: /^Handoff failed: a response is still being written/,
  })
  expect(agent.busy).toBe(true)
  gate.open()
  expect(await turn).toMatchObject({ status: 'done', text: 'a long answer' })
})

test('a person may change the document before it is used, and closing does not wait for them [H4, H15]', async () => {
  const { agent } = await scene(answering(() => say(document)))
  await agent.submit('Build the importer.')
  const never = agent.handoff(undefined, { edit: () => new Promise(() => {}) })
  while (!agent.busy) await new Promise((resolve) => setImmediate(resolve))
  await new Promise<void>((resolve) => agent.subscribe((event) => event.type === 'handoff' && resolve()))
  await agent.close()
  expect(await never).toMatchObject({ status: 'cancelled' })
  const again = await createAgent({ store: agent.tape.store, tape: 'main' })
  const done = await again.handoff(undefined, { edit: async (markdown) => `${markdown}\nUse spaces.\n`, into: 'next' })
  expect(done).toMatchObject({ status: 'done', tape: 'next' })
  expect(JSON.stringify((await again.tape.context()).messages)).toContain('Use spaces.')
})

test('without a model a handoff is written from the ledger [H6]', async () => {
  const store = await temporaryStore()
  const tape = await openTape('main', { store })
  await tape.record({ role: 'user', content: 'Build the importer.' })
  await tape.record({ role: 'assistant', content: 'Yes.' })
  const agent = await createAgent({ store, tape })
  expect(await agent.handoff()).toMatchObject({ status: 'done', tape: 'main-2' })
})

test.each(['a model that does not answer', 'a tool that does not end', 'a wait for another attempt'])(
  'closing never hangs on %s [H4]',
  async (what) => {
    const gate = closedGate()
    const stuck = probe('test.stuck', () => new Promise(() => {}))
    const replies: Record<string, Reply> = {
      'a model that does not answer': say('late', { hold: gate.opened }),
      'a tool that does not end': call('test_stuck', { text: 'x' }),
      'a wait for another attempt': fail.rateLimit(100),
    }
    const { agent, server, until } = await scene([replies[what]!], { tools: [stuck] })
    const begun = until(({ type }) => type === 'tool-start' || type === 'retry')
    const turn = agent.submit('go')
    await Promise.race([begun, what.includes('answer') ? server.next() : begun])
    await agent.close()
    expect(await turn).toMatchObject({ status: 'aborted' })
    const last = (await collect(agent.tape.entries())).at(-1)
    expect(last).toMatchObject({ payload: { name: 'turn_ended', data: { status: 'aborted' } } })
    gate.open()
  },
)

test('a disk that refuses fails the turn with the reason, and the agent goes on when it is back [T21]', async () => {
  const folder = temporaryFolder()
  const store = await openStore(path.join(folder, '.baton'))
  const server: ModelServer = await serve([say('lost'), say('back')])
  let broken = false
  const shaky = new Proxy(store, {
    get: (target, name: keyof typeof store) => {
      const value = target[name]
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (name === 'append' && broken) return Promise.reject(new Error('no space left on device'))
        return (value as (...args: unknown[]) => unknown).apply(target, args)
      }
    },
  })
  const agent = await createAgent({ store: shaky, tape: 'main', model: modelOf['chat-completions'](server) })
  const stop = agent.subscribe((event) => {
    if (event.type === 'text') broken = true
  })
  expect(await agent.submit('one')).toMatchObject({ status: 'failed', error: /no space left/ })
  stop()
  broken = false
  expect(await agent.submit('two')).toMatchObject({ status: 'done', text: 'back' })
  await agent.close()
  await store.close()
})

test('two tools that a provider could not tell apart are refused [T20]', async () => {
  const store = await temporaryStore()
  const tools = [probe('a.b', () => ({ output: '' })), probe('a_b', () => ({ output: '' }))]
  await expect(createAgent({ store, tape: 'main', tools })).rejects.toThrow(/a\.b and a_b are both called a_b/)
})
