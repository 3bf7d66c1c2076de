import { expect, test } from 'vitest'
import { tokensAt } from '../../src/agent/handoff.ts'
import { writeDocument } from '../../src/handoff/index.ts'
import { call, closedGate, fail, type Reply, say } from '../support/model-server/index.ts'
import { collect } from '../support/workspace.ts'
import { documentText, echo, probe, scene } from './harness.ts'

const window = 10_000
/** An answer after which the context holds so many tokens, as the provider counts. */
const at = (tokens: number, text = 'Done.'): Reply => say(text, { usage: { input: tokens - 10, output: 10 } })

test('past its threshold at the end of a turn, the agent hands off, and goes on from the document [H12, T22]', async () => {
  const { agent, server, of } = await scene([at(7_999), at(8_100), say('From the document.')], { window })
  await agent.submit('Never touch the public API.')
  expect(of('handoff')).toEqual([])
  expect(await agent.submit('Rename the parser.')).toMatchObject({ status: 'done', text: 'Done.' })
  expect(of('handoff')).toMatchObject([
    { phase: 'start', trigger: 'automatic' },
    { phase: 'done', trigger: 'automatic', anchor: 'handoff/auto', tape: 'main', message: /at about 8100 tokens/ },
  ])
  expect((await agent.tape.info()).lastAnchor).toBe('handoff/auto')
  expect(agent.isGenerating).toBe(false)
  await agent.submit('And now?')
  const texts = server.requests.at(-1)!.messages.map(({ text }) => text)
  expect(texts.join('\n')).toContain('Never touch the public API')
  expect(texts.at(-1)).toBe('And now?')
  expect(server.requests.at(-1)!.messages.every(({ role }) => role === 'user')).toBe(true)
  // The handoff belongs to the turn: it is on the tape before the turn ends.
  const names = (await collect(agent.tape.entries({ kinds: ['event'] }))).map(
    ({ payload }) => (payload as { name: string }).name,
  )
  expect(names.indexOf('auto_handoff')).toBeLessThan(names.indexOf('turn_ended', names.indexOf('auto_handoff')))
})

test('documents of automatic handoffs, of a full window and of the person know how full the context was [H12, H13]', async () => {
  const script = [at(8_100), fail.contextLength(9_700, window), at(500), at(1_200), say('Narrative.'), say('Again.')]
  const { agent } = await scene(script, { window, handoff: { cooldown: 0 } })
  const usage = async () => {
    const messages = await collect(agent.tape.entries({ kinds: ['message'], reverse: true }))
    const document = messages.find(({ payload }) => (payload as { customType?: string }).customType === 'handoff')
    return Number(/Context Usage: (\d+)%/.exec(JSON.stringify(document?.payload))?.[1])
  }
  await agent.submit('one')
  expect(await usage()).toBe(81)
  await agent.submit('two')
  expect(await usage()).toBeGreaterThan(0)
  await agent.submit('three')
  expect((await writeDocument(agent.tape)).document.header.contextUsage).toBe(12)
  expect(await agent.handoff()).toMatchObject({ status: 'done' })
  expect(await usage()).toBe(12)
})

test('thresholds are percentages of the window or tokens; false is never [H12]', async () => {
  expect(tokensAt('80%', 200_000)).toBe(160_000)
  expect(tokensAt('12.5%', 1_000)).toBe(125)
  expect(tokensAt(5_000, undefined)).toBe(5_000)
  const tokens = await scene([at(600)], { window, handoff: { at: 500 } })
  await tokens.agent.submit('go')
  expect(tokens.of('handoff')).toHaveLength(2)
  const never = await scene([at(9_990)], { window, handoff: { at: false } })
  await never.agent.submit('go')
  expect(never.of('handoff')).toEqual([])
})

test('after one comes none within the cooldown, and none for the same growth [H12]', async () => {
  let now = Date.parse('2027-01-01T00:00:00Z')
  const replies = [at(8_500), at(8_500), at(8_500), at(8_600)]
  const { agent, of } = await scene(replies, { window, handoff: { cooldown: 60 }, now: () => new Date(now) })
  const handoffs = () => of('handoff').filter(({ phase }) => phase === 'done').length
  await agent.submit('one')
  expect(handoffs()).toBe(1)
  now = Date.now() + 30_000
  await agent.submit('two')
  expect(handoffs()).toBe(1)
  now = Date.now() + 120_000
  await agent.submit('three')
  expect(handoffs()).toBe(2)
})

test('a handoff that does not help is warned about and not repeated [H12]', async () => {
  // Everything is over the threshold, the document too.
  const { agent, of } = await scene([at(1_000), at(610), at(620)], { window, handoff: { at: 400, cooldown: 0 } })
  for (const text of ['one', 'two', 'three']) await agent.submit(text)
  expect(of('handoff').filter(({ phase }) => phase === 'done')).toHaveLength(1)
  expect(of('warning').map(({ message }) => message)).toEqual([
    expect.stringMatching(/over its threshold of 400 even when fresh/),
  ])
})

test('a warning comes once in a phase, where it is wanted [H12]', async () => {
  const { agent, of } = await scene([at(2_400), at(2_600), at(2_700)], { window, handoff: { warnAt: '25%' } })
  for (const text of ['one', 'two', 'three']) await agent.submit(text)
  expect(of('warning').map(({ message }) => message)).toEqual([
    expect.stringMatching(/2600 tokens, 26 % of the window/),
  ])
  expect(of('handoff')).toEqual([])
})

const narrative = documentText({
  goal: 'Rename the parser.',
  decision: 'Called it Reader, because it reads; Scanner was ruled out.',
  next: 'Rename Parser to Reader',
})

test('a model may write the narrative; where it cannot, the ledger does [H12]', async () => {
  const asked = (system: string) => system.includes('handoff documents')
  const written = await scene((request) => (asked(request.system) ? say(narrative) : at(8_500)), {
    window,
    handoff: { narrative: true },
  })
  await written.agent.submit('Rename the parser.')
  expect(JSON.stringify((await written.agent.tape.context()).messages)).toContain('Scanner was ruled out')
  expect(written.of('handoff').some(({ phase }) => phase === 'progress')).toBe(true)
  const failing = await scene((request) => (asked(request.system) ? fail.auth() : at(8_500)), {
    window,
    handoff: { narrative: true },
  })
  await failing.agent.submit('Rename the parser.')
  expect(failing.of('warning').map(({ message }) => message)).toEqual([
    expect.stringMatching(/wrote no narrative.*the ledger did/),
  ])
  expect((await failing.agent.tape.info()).lastAnchor).toBe('handoff/auto')
})

test('a narrative that is cancelled leaves the context as it was, and is not tried again for the same growth [H12, H4]', async () => {
  const gate = closedGate()
  const { agent, of, server } = await scene(
    (request) => (request.system.includes('handoff documents') ? say(narrative, { hold: gate.opened }) : at(8_500)),
    { window, handoff: { narrative: true } },
  )
  const turn = agent.submit('Rename the parser.')
  await server.next((request) => request.system.includes('handoff documents'))
  expect(agent.isGenerating).toBe(true)
  agent.abort()
  expect(await turn).toMatchObject({ status: 'done' })
  expect(agent.isGenerating).toBe(false)
  expect(of('handoff').at(-1)).toMatchObject({ phase: 'failed', message: 'Handoff cancelled' })
  expect((await agent.tape.info()).lastAnchor).toBe('session/start')
  await agent.submit('again')
  expect(of('handoff').filter(({ phase }) => phase === 'start')).toHaveLength(1)
  gate.open()
})

test('past the threshold in the middle of a turn the model is told once, behind what it knows already [T22]', async () => {
  const handoff = probe('tape.handoff', async ({ text }, { tape, entryId, runId }) => {
    await tape.handoff(text, { state: { summary: 'half done' }, from: entryId, runId })
    return { output: 'handed off' }
  })
  const usage = { input: 8_500, output: 10 }
  const { agent, server, of } = await scene(
    [
      call('test_echo', { text: 'a' }, { usage }),
      call('test_echo', { text: 'b' }, { usage }),
      call('tape_handoff', { text: 'phase-1' }, { usage }),
      say('Fresh again.', { usage: { input: 400, output: 10 } }),
    ],
    { window, tools: [echo(), handoff] },
  )
  expect(await agent.submit('go')).toMatchObject({ status: 'done', text: 'Fresh again.' })
  const notices = server.requests.map(
    ({ messages }) => messages.filter(({ text }) => text.startsWith('[Baton:')).length,
  )
  expect(notices).toEqual([0, 1, 1, 0])
  expect(server.requests[1]!.messages.at(-1)!.text).toMatch(/about 85\d\d of 10000 tokens. Call tape_handoff/)
  expect(server.requests[1]!.system).toBe(server.requests[0]!.system)
  expect(server.requests[0]!.system).toMatch(/a message says that the context is long, call tape_handoff/)
  // After its own handoff the model sees the state, the prompt it is answering, and the call that made it with its result.
  const last = server.requests[3]!.messages
  expect(last.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'tool'])
  expect(last[0]!.text).toContain('half done')
  expect(last[1]!.text).toBe('go')
  expect(of('handoff')).toEqual([])
  expect(server.problems).toEqual([])
})

test('a context near the window is handed off before it is cut [T22]', async () => {
  const long = 'word '.repeat(700)
  const { agent, server, of } = await scene(() => say(long), { window: 2_000, handoff: { at: false } })
  for (let n = 0; n < 4; n++)
    expect(await agent.submit(`The code word is heron. Question ${n}`)).toMatchObject({ status: 'done' })
  expect(of('handoff').some(({ phase, trigger }) => phase === 'done' && trigger === 'overflow')).toBe(true)
  expect(server.problems).toEqual([])
  expect(server.requests.at(-1)!.messages.at(-1)!.text).toContain('Question 3')
})

test('over three automatic handoffs, what was said before the first is still there at the end [H12, H13]', async () => {
  const note = echo()
  let calls = 0
  const { agent, server, of } = await scene(
    (request) => {
      const last = request.messages.at(-1)!
      if (last.text.includes('What are the rules?')) {
        const text = request.messages.map((message) => message.text).join('\n')
        const known = ['Never touch the public API', 'The port is 4711'].filter((fact) => text.includes(fact))
        return say(`I know: ${known.join('; ')}`)
      }
      calls++
      if (last.role === 'user') return call('test_echo', { text: `step ${calls}` })
      return say(`Step ${calls} is done.`, { usage: { input: calls % 6 === 0 ? 9_000 : 2_000, output: 10 } })
    },
    { window, tools: [note], handoff: { cooldown: 0 } },
  )
  await agent.submit('Never touch the public API. The port is 4711.')
  for (let n = 2; n <= 9; n++) await agent.submit(`Do step ${n} of the migration`)
  expect(of('handoff').filter(({ phase }) => phase === 'done')).toHaveLength(3)
  expect(await agent.submit('What are the rules?')).toMatchObject({
    text: 'I know: Never touch the public API; The port is 4711',
  })
  expect(server.problems).toEqual([])
  expect((await agent.tape.anchors()).map(({ name }) => name)).toEqual([
    'session/start',
    'handoff/auto',
    'handoff/auto',
    'handoff/auto',
  ])
})
