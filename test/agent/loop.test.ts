import { describe, expect, test } from 'vitest'
import type { Entry } from '../../src/store/index.ts'
import type { Tape } from '../../src/tape/index.ts'
import { type Api, call, closedGate, type Reply, say } from '../support/model-server/index.ts'
import { collect } from '../support/workspace.ts'
import { echo, probe, scene } from './harness.ts'

/** What a tape holds, in words. */
async function story(tape: Tape): Promise<string[]> {
  return (await collect(tape.entries())).map(line)
}

function line({ kind, payload }: Entry): string {
  const { role, content, calls, results, name, data } = payload as {
    role: string
    content: string | { text: string }[]
    calls: { name: string }[]
    results: { name: string; output: unknown }[]
    name: string
    data: { status?: string }
  }
  if (kind === 'message')
    return `${role}: ${typeof content === 'string' ? content : content.map(({ text }) => text).join('')}`
  if (kind === 'tool_call') return `call ${calls.map((each) => each.name).join(', ')}`
  if (kind === 'tool_result') return `result ${results.map((each) => String(each.output)).join(', ')}`
  return kind === 'event' ? `${name}${data.status === undefined ? '' : ` ${data.status}`}` : kind
}

test('a turn is the message, the call, its result and the answer, each on the tape before the next [T21]', async () => {
  const seen: string[][] = []
  const tool = probe('test.echo', async ({ text }, { tape }) => {
    seen.push(await story(tape))
    return { output: `echo ${text}` }
  })
  const usage = { input: 100, output: 7, cached: 60 }
  const { agent, server, events, of } = await scene(
    [call('test_echo', { text: 'hi' }), say('It said hi.', { reasoning: 'hm', usage })],
    { tools: [tool], window: 1_000 },
  )
  const result = await agent.submit('Say hi')
  expect(result).toMatchObject({ kind: 'turn', status: 'done', text: 'It said hi.' })
  expect(tool.runs).toEqual(['hi'])
  // The call was there before it ran.
  expect(seen[0]!.slice(-2)).toEqual(['call test.echo', 'usage'])
  expect(await story(agent.tape)).toEqual([
    'anchor',
    'turn_started',
    'user: Say hi',
    'system',
    'call test.echo',
    'usage',
    'result echo hi',
    'assistant: hmIt said hi.',
    'usage',
    'turn_ended done',
  ])
  expect(events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1])).toEqual([
    'turn-start',
    'usage',
    'tool-start',
    'tool-end',
    'reasoning',
    'text',
    'usage',
    'turn-end',
  ])
  expect(of('usage').at(-1)).toEqual({ type: 'usage', ...usage, contextTokens: 107, window: 1_000, percent: 11 })
  expect((await agent.tape.info()).lastUsage).toMatchObject(usage)
  const runs = (await collect(agent.tape.entries({ after: 1 }))).map(({ meta }) => meta.run_id)
  expect(new Set(runs)).toEqual(new Set([of('turn-start')[0]!.runId]))
  expect(server.requests[0]!.system).toContain('holds 1000 tokens')
  expect(server.problems).toEqual([])
})

describe.each(['chat-completions', 'responses', 'messages'] as const)('over %s', (api: Api) => {
  test('each request begins with the one before it, byte for byte, over turns and tools [T21]', async () => {
    const { agent, server } = await scene(
      [
        say('One.', { reasoning: 'first' }),
        {
          text: 'Looking.',
          toolCalls: [
            { name: 'test_echo', arguments: { text: 'a' } },
            { name: 'test_echo', arguments: { text: 'b' } },
          ],
        },
        call('test_echo', { text: 'c' }),
        call('test_nothing', {}),
        call('test_echo', '{"text": broken'),
        say('Two.'),
        say('Three.'),
      ],
      { tools: [echo()], window: 200_000 },
      api,
    )
    for (const text of ['first', 'second', 'third']) expect(await agent.submit(text)).toMatchObject({ status: 'done' })
    expect(server.problems).toEqual([])
    expect(server.requests).toHaveLength(7)
    const bodies = server.requests.map(({ raw }) => raw as Record<string, unknown>)
    for (let i = 1; i < bodies.length; i++) {
      const { conversation: before, ...head } = parts(bodies[i - 1]!)
      const { conversation: after, ...sameHead } = parts(bodies[i]!)
      expect(sameHead).toEqual(head)
      expect(after.length).toBeGreaterThan(before.length)
      expect(after.slice(0, before.length)).toEqual(before)
    }
    if (api === 'messages') {
      const marked = JSON.stringify(bodies.at(-1)).split('"cache_control"').length - 1
      expect(marked).toBe(2)
    } else if (api === 'responses') {
      // Nothing depends on what the provider remembers of earlier calls.
      expect(bodies.every(({ store }) => store === false)).toBe(true)
      expect(JSON.stringify(bodies)).not.toContain('item_reference')
    } else expect(JSON.stringify(bodies)).not.toContain('cache')
  })

  test('a cancelled answer, cut calls and a call that failed make a context the provider accepts [T7]', async () => {
    const gate = closedGate()
    const stuck = probe('test.stuck', () => new Promise(() => {}))
    const { agent, server, until } = await scene(
      [
        say('a long answer that is cut', { hold: gate.opened, holdAfter: 2 }),
        {
          toolCalls: [
            { name: 'test_stuck', arguments: { text: 'a' } },
            { name: 'test_echo', arguments: { text: 'b' } },
          ],
        },
        say('Still here.'),
      ],
      { tools: [stuck, echo()] },
      api,
    )
    const first = agent.submit('one')
    await until(({ type }) => type === 'text')
    agent.abort()
    expect(await first).toMatchObject({ status: 'aborted' })
    gate.open()
    const second = agent.submit('two')
    await until(({ type }) => type === 'tool-end')
    agent.abort()
    expect(await second).toMatchObject({ status: 'aborted' })
    expect(await agent.submit('three')).toMatchObject({ status: 'done', text: 'Still here.' })
    expect(server.problems).toEqual([])
    const { messages } = server.requests.at(-1)!
    expect(messages.flatMap(({ toolResults }) => toolResults.map(({ text }) => text.slice(0, 11)))).toEqual([
      'interrupted',
      'echo b',
    ])
  })
})

/** The conversation of a request apart from what opens it; marks for the cache are no part of either. */
function parts(body: Record<string, unknown>): { conversation: unknown[] } & Record<string, unknown> {
  const plain = JSON.parse(
    JSON.stringify(body, (key, value: unknown) => (key === 'cache_control' ? undefined : value)),
  ) as typeof body
  const { messages, input, ...head } = plain as { messages?: unknown[]; input?: unknown[] }
  return { ...head, conversation: messages ?? input ?? [] }
}

test('calls of one step run at the same time, and each result is on the tape as soon as it is there [T21]', async () => {
  const [a, b] = [closedGate(), closedGate()]
  const both = closedGate()
  const running = new Set<string>()
  const tool = probe('test.wait', async ({ text }) => {
    if (running.add(text).size === 2) both.open()
    await (text === 'a' ? a.opened : b.opened)
    return { output: text }
  })
  const { agent, until } = await scene(
    [{ toolCalls: ['a', 'b'].map((text) => ({ name: 'test_wait', arguments: { text } })) }, say('Both.')],
    { tools: [tool] },
  )
  const turn = agent.submit('go')
  await both.opened
  const ended = until(({ type }) => type === 'tool-end')
  b.open()
  await ended
  expect((await story(agent.tape)).at(-1)).toBe('result b')
  a.open()
  expect(await turn).toMatchObject({ status: 'done' })
  expect((await story(agent.tape)).filter((each) => each.startsWith('result'))).toEqual(['result b', 'result a'])
})

test('what is typed during a turn is durable at once and heard before the next call, in order [T21, H9]', async () => {
  const gate = closedGate()
  const tool = probe('test.wait', async () => {
    await gate.opened
    return { output: 'ready' }
  })
  const { agent, server, until, of } = await scene(
    [call('test_wait', { text: 'x' }), say('Yes, both.'), say('More.')],
    { tools: [tool] },
  )
  const turn = agent.submit('start')
  await until(({ type }) => type === 'tool-start')
  expect(agent.busy).toBe(true)
  expect(await agent.submit('use tabs')).toEqual({ kind: 'queued' })
  expect(await agent.submit('and be quick')).toEqual({ kind: 'queued' })
  expect((await story(agent.tape)).slice(-2)).toEqual(['queued', 'queued'])
  expect(await agent.submit(',handoff name=x')).toMatchObject({ kind: 'command', ok: false, text: /^Wait/ })
  expect(await agent.submit(',tape.info')).toMatchObject({ kind: 'command', ok: true })
  gate.open()
  expect(await turn).toMatchObject({ status: 'done', text: 'Yes, both.' })
  expect(server.requests[1]!.messages.slice(-3).map(({ role, text }) => `${role} ${text}`)).toEqual([
    'tool ',
    'user use tabs',
    'user and be quick',
  ])
  expect(of('queued').map(({ message }) => message)).toEqual(['use tabs', 'and be quick'])
})

/** An agent whose model stops in the middle of its first answer, after so many pieces, until the gate opens. */
async function heldScene(first: string, holdAfter: number, second: string) {
  const gate = closedGate()
  return { gate, ...(await scene([say(first, { hold: gate.opened, holdAfter }), say(second)])) }
}

test('what is typed while the last answer streams is answered in the same go [H9]', async () => {
  const { gate, agent, server, until } = await heldScene('First answer', 1, 'Second')
  const turn = agent.submit('one')
  await until(({ type }) => type === 'text')
  await agent.submit('two')
  gate.open()
  expect(await turn).toMatchObject({ status: 'done', text: 'Second' })
  expect(server.requests[1]!.messages.map(({ text }) => text)).toEqual(['one', 'First answer', 'two'])
})

test('two prompts at once make one turn and a message for it [H9]', async () => {
  const { agent, server } = await scene([say('a'), say('b')])
  const results = await Promise.all([agent.submit('one'), agent.submit('two')])
  expect(results.map(({ kind }) => kind)).toEqual(['turn', 'queued'])
  expect(JSON.stringify(server.requests.at(-1)!.messages)).toContain('two')
})

test('a cancelled answer keeps what was said, and what was typed after it is asked next [H9]', async () => {
  const { gate, agent, server, until } = await heldScene('half an answer, not all', 2, 'Right away.')
  const turn = agent.submit('one')
  await until(({ type }) => type === 'text')
  await until(({ type }) => type === 'text')
  await agent.submit('no, do this')
  agent.abort()
  expect(await turn).toMatchObject({ status: 'done', text: 'Right away.' })
  expect(server.requests[1]!.messages.map(({ text }) => text)).toEqual(['one', 'half an answer, ', 'no, do this'])
  const partial = (await collect(agent.tape.entries())).find(({ meta }) => meta.partial === true)
  expect(partial).toMatchObject({ payload: { role: 'assistant', content: 'half an answer, ' } })
  gate.open()
})

test('cancelling before the model answers leaves the prompt and nothing else [T21]', async () => {
  const gate = closedGate()
  const { agent, server } = await scene([say('late', { hold: gate.opened })])
  const turn = agent.submit('one')
  const request = await server.next()
  agent.abort()
  expect(await turn).toMatchObject({ status: 'aborted' })
  expect(await request.ended).toBe('aborted')
  expect((await story(agent.tape)).slice(2)).toEqual(['user: one', 'system', 'turn_ended aborted'])
  expect(agent.busy).toBe(false)
})

test('a tool that fails, is not known, gets a wrong input or returns what cannot be stored does not stop the turn [T21]', async () => {
  const bad = probe('test.bad', ({ text }) => {
    if (text === 'throw') throw new Error('the disk is on fire')
    return { output: { big: 10n } }
  })
  const { agent, of } = await scene(
    [
      call('test_bad', { text: 'throw' }),
      call('test_bad', { text: 'bigint' }),
      call('test_unknown', {}),
      call('test_bad', { text: 5 }),
      say('I give up.'),
    ],
    { tools: [bad] },
  )
  expect(await agent.submit('go')).toMatchObject({ status: 'done' })
  const results = (await story(agent.tape)).filter((each) => each.startsWith('result'))
  expect(results).toEqual([
    'result the disk is on fire',
    expect.stringMatching(/cannot be stored/) as string,
    expect.stringMatching(/test_unknown/) as string,
    expect.stringMatching(/nvalid/) as string,
  ])
  expect(of('tool-end').map(({ isError }) => isError)).toEqual([true, true, true, true])
})

test('what needs no question does not wait for the answer to one [T21]', async () => {
  const tool = echo()
  const answer = closedGate()
  const toolCalls = ['asked', 'free'].map((text) => ({ name: 'test_echo', arguments: { text } }))
  const { agent, until } = await scene([{ toolCalls }, say('ok')], {
    tools: [tool],
    permissions: { decide: (_tool, input) => ((input as { text: string }).text === 'asked' ? 'ask' : 'allow') },
    ask: async () => {
      await answer.opened
      return 'allow'
    },
  })
  const ran = until(({ type }) => type === 'tool-end')
  const turn = agent.submit('go')
  expect(await ran).toMatchObject({ output: 'echo free' })
  expect(tool.runs).toEqual(['free'])
  answer.open()
  expect(await turn).toMatchObject({ status: 'done' })
  expect(tool.runs).toEqual(['free', 'asked'])
})

test('what the policy forbids does not run, what it asks is put to the person one at a time [T21]', async () => {
  const tool = echo()
  const asked: string[] = []
  const always = new Set<string>()
  const calls = ['no', 'maybe', 'maybe', 'never'].map((text) => ({ name: 'test_echo', arguments: { text } }))
  const { agent, of } = await scene([{ toolCalls: calls }, say('Done.')], {
    tools: [tool],
    permissions: {
      decide: (_tool, input) => {
        const { text } = input as { text: string }
        return text === 'no' ? { deny: 'not here' } : always.has(text) ? 'allow' : 'ask'
      },
      remember: (_tool, input) => void always.add((input as { text: string }).text),
    },
    ask: async ({ input }) => {
      const { text } = input as { text: string }
      asked.push(text)
      return text === 'maybe' ? 'always' : 'deny'
    },
  })
  await agent.submit('go')
  expect(asked).toEqual(['maybe', 'never'])
  expect(tool.runs).toEqual(['maybe', 'maybe'])
  expect(of('permission').map(({ answer }) => answer)).toEqual(['deny', 'always', 'deny'])
  expect((await story(agent.tape)).filter((each) => each.includes('denied'))).toEqual([
    'result denied: not here',
    'result denied: the user did not allow this',
  ])
})

test('text that a model writes is never a command [T19]', async () => {
  const { agent } = await scene(
    [say(',tape.reset archive=true'), call('test_echo', { text: ',handoff name=x' }), say('ok')],
    {
      tools: [echo()],
    },
  )
  await agent.submit('one')
  await agent.submit('two')
  expect((await agent.tape.anchors()).map(({ name }) => name)).toEqual(['session/start'])
})

test('a turn that does not end is ended [T21]', async () => {
  const { agent } = await scene(() => call('test_echo', { text: 'again' }), { tools: [echo()], maxSteps: 3 })
  expect(await agent.submit('go')).toMatchObject({ status: 'failed', error: /3 steps/ })
  expect((await story(agent.tape)).at(-1)).toBe('turn_ended failed')
})

test('an agent of an agent works on its own tape with what it is told, never routed [T14]', async () => {
  const spawn = probe('test.spawn', async ({ text }, { tape, spawn: start }) => {
    const child = await tape.fork('child', { intention: { next_steps: text, trigger_on_complete: 'tell' } })
    const said: string[] = []
    const result = await start!({ tape: child, prompt: text, onText: (delta) => said.push(delta) })
    await child.complete({ context: false })
    return { output: { ...result, said: said.join('') } }
  })
  const replies = (text: string): Reply =>
    text.includes('tape.reset') ? say('Child here.') : call('test_spawn', { text: ',tape.reset' })
  const { agent, server } = await scene(
    (request) =>
      request.messages.at(-1)!.role === 'tool' ? say('The child answered.') : replies(request.messages.at(-1)!.text),
    { tools: [spawn] },
  )
  expect(await agent.submit('delegate')).toMatchObject({ status: 'done', text: 'The child answered.' })
  expect(server.problems).toEqual([])
  expect((await story(agent.tape)).some((each) => each === 'child_completed')).toBe(true)
  const child = await collect(agent.tape.store.read('child'))
  expect(child.map(line).slice(-3)).toEqual(['assistant: Child here.', 'usage', 'turn_ended done'])
})

test('a listener that throws does not break the turn [T21]', async () => {
  const { agent } = await scene([say('fine')])
  const failures: unknown[] = []
  const caught = (error: unknown) => failures.push(error)
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', caught)
  agent.subscribe(() => {
    throw new Error('screen')
  })
  const result = await agent.submit('hi')
  await new Promise((resolve) => setImmediate(resolve))
  process.removeListener('uncaughtException', caught)
  for (const each of before) process.on('uncaughtException', each)
  expect(result).toMatchObject({ status: 'done' })
  expect(failures.length).toBeGreaterThan(0)
})
