import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { expect, onTestFinished, test } from 'vitest'
import { handoffSession, openSession, resumeHandoff } from '../../src/handoff/session.ts'
import { writeHandoff } from '../../src/handoff/writer.ts'
import type { Store } from '../../src/store/index.ts'
import { openTape, readEdges, Tape } from '../../src/tape/index.ts'
import { closedGate, fail, type Reply, say, startModelServer } from '../support/model-server/index.ts'
import { collect, temporaryStore } from '../support/workspace.ts'

async function session(store?: Store): Promise<Tape> {
  const tape = await openTape('main', { store: store ?? (await temporaryStore()) })
  await tape.record({ role: 'user', content: 'Build the importer. Never touch the public API.' })
  await tape.append([
    {
      kind: 'tool_call',
      payload: {
        calls: [{ id: 'c1', name: 'fs.write', arguments: { path: 'src/import.ts', content: 'export {}\n' } }],
      },
    },
    { kind: 'tool_result', payload: { results: [{ call_id: 'c1', name: 'fs.write', output: 'ok' }] } },
    {
      kind: 'tool_call',
      payload: {
        calls: [
          {
            id: 'c2',
            name: 'TodoWrite',
            arguments: {
              todos: [
                { content: 'Write the parser', status: 'in_progress' },
                { content: 'Write tests', status: 'pending' },
              ],
            },
          },
        ],
      },
    },
    { kind: 'tool_result', payload: { results: [{ call_id: 'c2', name: 'TodoWrite', output: 'ok' }] } },
  ])
  await tape.record({ role: 'assistant', content: 'The skeleton is there, the parser comes next.' })
  return tape
}

async function scripted(script: Reply[]) {
  const server = await startModelServer({ script })
  onTestFinished(() => server.close())
  return { server, model: createOpenAICompatible({ name: 'scripted', baseURL: `${server.url}/v1` })('scripted') }
}

const goodDocument = `## Goal
Build the importer.
## Constraints & Preferences
- Never touch the public API.
## Progress
### Done
- Wrote src/import.ts
### In Progress
- Write the parser
### Pending
- Write tests
## Key Decisions
- Stream rows instead of loading them, because files are large; loading was ruled out.
## Critical Context
- Rows end in CRLF.
## Next Steps
- Write parseRow in src/import.ts
`

test('a handoff starts a new session whose only history is the document, and closes the old one [H6, H7, H8]', async () => {
  const tape = await session()
  const result = await handoffSession(tape, { goal: 'finish the parser' })
  expect(result).toMatchObject({ status: 'done', message: 'New session started with handoff context', tape: 'main-2' })
  const fresh = await openTape('main-2', { store: tape.store })
  const { messages } = await fresh.context()
  expect(messages).toHaveLength(1)
  const text = String(messages[0]!.content)
  expect(text).toMatch(/^<handoff-context>\n/)
  expect(text).toContain('src/import.ts')
  expect(text).toContain('Never touch the public API')
  expect(text).toMatch(/<\/handoff-context>\n\n[^\n<]*previous session: continue[^\n<]*\n$/)
  const [, entry] = await collect(fresh.entries())
  expect(entry).toMatchObject({ payload: { customType: 'handoff', display: true } })
  expect(await readEdges(tape.store)).toMatchObject([{ parent: 'main', child: 'main-2', how: 'handoff' }])
  expect((await tape.anchors()).at(-1)).toMatchObject({ name: 'handoff/main-2', state: { continued_in: 'main-2' } })
  expect(await resumeHandoff(tape.store, 'main')).toBe('main-2')
  expect((await openSession('main', { store: tape.store })).name).toBe('main-2')
  expect(await fresh.get('todos')).toEqual([
    { text: 'Write the parser', status: 'in_progress' },
    { text: 'Write tests', status: 'pending' },
  ])
})

test('a session that was handed over is not handed over again, and says where the work goes on [H6, H7]', async () => {
  const tape = await session()
  const { store } = tape
  await handoffSession(tape)
  const before = await collect(tape.entries())
  const again = await handoffSession(tape)
  expect(again).toMatchObject({
    status: 'failed',
    message: 'Handoff failed: main was handed over to main-2 already, and nobody has said anything on it since',
    error: { code: 'conflict', hint: 'Hand off main-2 instead.' },
  })
  expect(await collect(tape.entries())).toEqual(before)
  expect((await openSession('main', { store })).name).toBe('main-2')
  // The agent that the tape was read from may have gone on after the handoff: that is work of its own.
  await tape.record({ role: 'user', content: 'One more thing: log every row.' })
  expect(await handoffSession(tape)).toMatchObject({ status: 'done', tape: 'main-3' })
})

test('a handoff on the same tape starts the context with its document [H8]', async () => {
  const tape = await session()
  const { anchor, document } = await writeHandoff(tape, { goal: 'finish the parser', budget: 500 })
  expect(anchor).toMatchObject({ kind: 'anchor', payload: { name: 'handoff', state: { goal: 'finish the parser' } } })
  const { messages } = await tape.context()
  expect(messages).toHaveLength(2)
  expect(String(messages[0]!.content)).toContain(`main#${document.id}`)
  expect(String(messages[1]!.content)).toContain('Never touch the public API')
})

test('with fewer than two messages there is nothing to hand off [H2]', async () => {
  const tape = await openTape('main', { store: await temporaryStore() })
  await tape.record({ role: 'user', content: 'hello' })
  const before = await collect(tape.entries())
  expect(await handoffSession(tape)).toEqual({ status: 'empty', message: 'Nothing to hand off (no messages yet)' })
  expect(await collect(tape.entries())).toEqual(before)
})

test('while a response streams the handoff is refused [H2]', async () => {
  const tape = await session()
  const before = await collect(tape.entries())
  expect(await handoffSession(tape, { isStreaming: () => true })).toMatchObject({
    status: 'failed',
    message: expect.stringContaining('still being written') as string,
  })
  expect(await collect(tape.entries())).toEqual(before)
})

test('a model writes the narrative, is asked for the fixed sections and the focus, and the ledger keeps the facts [H3, H5, H10]', async () => {
  const tape = await session()
  const { server, model } = await scripted([say(goodDocument)])
  const result = await handoffSession(tape, { model, goal: '/clear {{template}} parser' })
  expect(result).toMatchObject({ status: 'done' })
  const prompt = server.requests[0]!.messages.map((each) => each.text).join('\n')
  for (const heading of [
    '## Goal',
    '## Constraints & Preferences',
    '### Done',
    '### In Progress',
    '### Pending',
    '## Key Decisions',
    '## Critical Context',
    '## Next Steps',
  ])
    expect(prompt).toContain(heading)
  expect(prompt).toContain('Additional focus: /clear {{template}} parser')
  const { markdown } = result as { markdown: string }
  expect(markdown).toContain('Rows end in CRLF')
})

test('a broken document is repaired by the model once, then by the ledger, and says so [H10]', async () => {
  const tape = await session()
  const { server, model } = await scripted([
    say('## Goal\nBuild it.\n## Next Steps\nTBD'),
    say('Sorry, here it is: nothing.'),
  ])
  const result = await handoffSession(tape, { model })
  expect(result.status).toBe('done')
  expect(server.requests).toHaveLength(2)
  expect(server.problems).toEqual([])
  expect((result as { markdown: string }).markdown).toContain('Write the parser')
})

test('text outside the document and reasoning are not taken for it [H5]', async () => {
  const tape = await session()
  const { model } = await scripted([say(goodDocument, { reasoning: 'SECRET THOUGHT' })])
  const result = await handoffSession(tape, { model })
  expect((result as { markdown: string }).markdown).not.toContain('SECRET THOUGHT')
})

test('a model that returns no text, or fails, leaves the old session active and unchanged [H6]', async () => {
  const tape = await session()
  const before = await collect(tape.entries())
  const { model } = await scripted([{ noText: true }, fail.status(418, 'short and stout')])
  expect(await handoffSession(tape, { model })).toMatchObject({
    status: 'failed',
    message: 'Handoff failed: the model returned no text',
  })
  expect(await handoffSession(tape, { model })).toMatchObject({
    status: 'failed',
    message: 'Handoff failed: short and stout',
  })
  expect(await collect(tape.entries())).toEqual(before)
  expect(await resumeHandoff(tape.store, 'main')).toBe('main')
})

test('cancelling while the model writes stops at once and changes nothing [H4, H6]', async () => {
  const tape = await session()
  const before = await collect(tape.entries())
  const gate = closedGate()
  const { server, model } = await scripted([say(goodDocument, { hold: gate.opened, holdAfter: 2 })])
  const stop = new AbortController()
  const steps: string[] = []
  const pending = handoffSession(tape, {
    model,
    signal: stop.signal,
    onProgress: ({ step, tokens }) => {
      steps.push(step)
      if (tokens > 0) stop.abort()
    },
  })
  expect(await pending).toEqual({ status: 'cancelled', message: 'Handoff cancelled' })
  expect(steps).toContain('writing')
  expect(await server.requests[0]!.ended).toBe('aborted')
  gate.open()
  expect(await collect(tape.entries())).toEqual(before)
})

test('a conversation larger than the window is condensed in parts; a smaller window than thought is found out [H11]', async () => {
  const tape = await session()
  for (let i = 0; i < 40; i++)
    await tape.record({
      role: i % 2 === 0 ? 'user' : 'assistant',
      content: `Step ${i}. ${'lorem ipsum dolor '.repeat(60)}`,
    })
  const server = await startModelServer({
    script: (request) => {
      const prompt = request.messages.map((each) => each.text).join('')
      if (prompt.length > 16_000) return fail.contextLength(5_000, 4_000)
      return prompt.includes('of a long record') ? say('- noted') : say(goodDocument)
    },
  })
  onTestFinished(() => server.close())
  const model = createOpenAICompatible({ name: 'scripted', baseURL: `${server.url}/v1` })('scripted')
  const result = await handoffSession(tape, { model, window: 6_000 })
  expect(result.status).toBe('done')
  expect(server.requests.length).toBeGreaterThan(3)
})

test('a compacted session is handed off from its compacted context [H11]', async () => {
  const tape = await session()
  await tape.record({ role: 'user', content: 'ancient history' })
  await tape.handoff('compact', { state: { summary: 'The importer is half done.' } })
  await tape.record({ role: 'user', content: 'go on' })
  await tape.record({ role: 'assistant', content: 'going on' })
  const { server, model } = await scripted([say(goodDocument)])
  await handoffSession(tape, { model })
  const prompt = server.requests[0]!.messages.map((each) => each.text).join('')
  expect(prompt).toContain('half done')
  // What the user once asked for is a fact; the conversation is that of the compacted context.
  expect(prompt.split('</conversation>')[0]).not.toContain('ancient history')
})

test('what the user typed meanwhile comes along, in order [H9]', async () => {
  const tape = await session()
  const queued = [
    { role: 'user', content: 'also rename it' },
    { role: 'user', content: 'and hurry' },
  ]
  await handoffSession(tape, { queued, into: 'next' })
  const { messages } = await new Tape(tape.store, 'next').context()
  expect(messages.slice(1)).toEqual(queued)
})

test('a target that exists is refused and the old session stays active [H6]', async () => {
  const tape = await session()
  await new Tape(tape.store, 'taken').append([{ kind: 'event', payload: { name: 'x' } }])
  expect(await handoffSession(tape, { into: 'taken' })).toMatchObject({ status: 'failed', error: { code: 'conflict' } })
  expect(await resumeHandoff(tape.store, 'main')).toBe('main')
  expect((await tape.context()).messages.length).toBeGreaterThan(2)
})

test('secrets reach neither the model nor the document [H14]', async () => {
  const tape = await session()
  const token = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
  await tape.record({ role: 'user', content: `Use ${token} to push.` })
  const { server, model } = await scripted([say(`${goodDocument}- push with ${token}\n`)])
  const result = await handoffSession(tape, { model })
  expect(JSON.stringify(server.requests[0]!.raw)).not.toContain(token)
  expect((result as { markdown: string }).markdown).not.toContain(token)
})

/** A store that dies at its n-th write: before it took effect, or right after. */
function mortal(store: Store, at: number, after: boolean): Store {
  let writes = 0
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      const call = member.bind(target) as (...given: unknown[]) => Promise<unknown>
      if (name !== 'append' && name !== 'create' && name !== 'putBlob') return call
      return async (...given: unknown[]) => {
        writes++
        if (writes > at || (writes === at && !after)) throw new Error('killed')
        const value = await call(...given)
        if (writes === at) throw new Error('killed')
        return value
      }
    },
  })
}

test('killed at any step, the next start has one active session that holds everything, and no half of one [H7]', async () => {
  for (let at = 1; at <= 10; at++) {
    for (const after of [false, true]) {
      const store = await temporaryStore()
      const tape = await session(store)
      const result = await handoffSession(new Tape(mortal(store, at, after), 'main'), {
        into: 'next',
        queued: [{ role: 'user', content: 'typed' }],
      })
      const active = await resumeHandoff(store, 'main')
      expect(await resumeHandoff(store, 'main')).toBe(active)
      const { messages } = await new Tape(store, active).context()
      const all = JSON.stringify(messages)
      expect(all).toContain('Never touch the public API')
      if (active === 'next') {
        expect(all).toContain('typed')
        expect((await readEdges(store)).filter((edge) => edge.child === 'next')).toHaveLength(1)
        expect((await tape.anchors()).filter((anchor) => anchor.name === 'handoff/next')).toHaveLength(1)
      } else {
        expect(result.status).toBe('failed')
        expect(messages.length).toBeGreaterThan(2)
      }
    }
  }
})

test('somebody who went on with the old session after a crash keeps it [H7, H9]', async () => {
  const store = await temporaryStore()
  const tape = await session(store)
  // The three blobs, document, intent and new tape are written; the lineage is not.
  await handoffSession(new Tape(mortal(store, 6, true), 'main'), { into: 'next' })
  await tape.record({ role: 'user', content: 'never mind, go on here' })
  expect(await resumeHandoff(store, 'main')).toBe('main')
  expect(JSON.stringify((await tape.context()).messages)).toContain('never mind')
})

/** Does something right before the effect of that number, counted from 1. */
function interrupted(store: Store, at: number, meanwhile: () => Promise<unknown>): Store {
  let effects = 0
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      const method = value.bind(target) as (...args: unknown[]) => unknown
      if (name !== 'append' && name !== 'create' && name !== 'putBlob') return method
      return async (...args: unknown[]) => {
        effects++
        if (effects === at) await meanwhile()
        return method(...args)
      }
    },
  })
}

test('what somebody says at whatever step of a handoff is in the session that goes on [H7, H9]', async () => {
  const carried: number[] = []
  for (let at = 1; at <= 9; at++) {
    const store = await temporaryStore()
    const tape = await session(store)
    const speak = () => tape.record({ role: 'user', content: `late words ${at}` })
    const result = await handoffSession(new Tape(interrupted(store, at, speak), 'main'), { into: 'next' })
    const active = await resumeHandoff(store, 'main')
    expect(active, String(at)).toBe(result.status === 'done' ? 'next' : 'main')
    const { messages } = await new Tape(store, active).context()
    const heard = JSON.stringify(messages).split(`late words ${at}`).length - 1
    const spoken = (await collect(tape.entries({ kinds: ['message'] }))).length > 2
    expect(heard, `at ${at}, on ${active}`).toBe(spoken ? 1 : 0)
    expect((await tape.anchors()).filter(({ name }) => name === 'handoff/next')).toHaveLength(active === 'next' ? 1 : 0)
    if (spoken && active === 'next') carried.push(at)
  }
  expect(carried.length).toBeGreaterThan(0)
})

test('many that open a session whose handoff was cut short complete it once [H7]', async () => {
  const store = await temporaryStore()
  const tape = await session(store)
  await handoffSession(new Tape(mortal(store, 6, true), 'main'), { into: 'next' })
  const found = await Promise.all(Array.from({ length: 8 }, () => resumeHandoff(store, 'main')))
  expect(new Set(found)).toEqual(new Set(['next']))
  expect((await tape.anchors()).filter(({ name }) => name === 'handoff/next')).toHaveLength(1)
  expect((await readEdges(store)).filter(({ child }) => child === 'next')).toHaveLength(1)
})

test('of several handoffs of a session at once one is done, and the others say that it was not theirs [H6, H7]', async () => {
  for (let at = 1; at <= 9; at++) {
    const store = await temporaryStore()
    const tape = await session(store)
    const other: Awaited<ReturnType<typeof handoffSession>>[] = []
    const meanwhile = async () => other.push(await handoffSession(tape, { into: 'theirs' }))
    const mine = await handoffSession(new Tape(interrupted(store, at, meanwhile), 'main'), { into: 'mine' })
    const done = [mine, ...other].flatMap((one) => (one.status === 'done' ? [one.tape] : []))
    expect([await resumeHandoff(store, 'main')], `at ${at}`).toEqual(done)
  }
})
