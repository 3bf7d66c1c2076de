import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createAgent } from '../../src/agent/index.ts'
import { closeTurn, openTurn } from '../../src/agent/turn.ts'
import { type Entry, openFileStore } from '../../src/store/index.ts'
import { type Holder, isHolding, silentMs, thisProcess } from '../../src/system/index.ts'
import { openTape, type Tape, type ToolCall, type ToolResult } from '../../src/tape/index.ts'
import { call, closedGate, cutAfter, type ModelServer, type Reply, say } from '../support/model-server/index.ts'
import { sample } from '../support/full.ts'
import { isAlive } from '../support/processes.ts'
import { program } from '../support/program.ts'
import { collect, temporaryFolder, temporaryStore } from '../support/workspace.ts'
import { checkOpenAi } from '../tape/provider-rules.ts'
import { modelOf, scene, serve } from './harness.ts'

let bundle = ''

beforeAll(async () => {
  bundle = await program(new URL('./crash-child.ts', import.meta.url))
})

const both: Reply = {
  text: 'Noting both.',
  toolCalls: [
    { id: 'call_a', name: 'test_note', arguments: { text: 'a' } },
    { id: 'call_b', name: 'test_note', arguments: { text: 'b' } },
  ],
}

interface Crash {
  folder: string
  /** The events that the child told of before it died. */
  events: { type: string; id?: string; output?: string; result?: unknown }[]
}

async function crash(server: ModelServer, die: string, threshold?: number): Promise<Crash> {
  const folder = temporaryFolder()
  const { child, events } = start(folder, server, die, threshold)
  await once(child, 'close')
  return { folder, events }
}

function start(folder: string, server: ModelServer, die: string, threshold?: number) {
  const args = threshold === undefined ? [] : [String(threshold)]
  const child = spawn(process.execPath, [bundle, folder, server.url, die, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const events: Crash['events'] = []
  createInterface({ input: child.stdout }).on('line', (line) =>
    events.push(JSON.parse(line) as Crash['events'][number]),
  )
  return { child, events }
}

/** Resolves when the child has told of such an event. */
async function heard(child: ChildProcess, events: Crash['events'], type: string): Promise<void> {
  while (!events.some((event) => event.type === type)) await once(child.stdout!, 'data')
}

const script = (request: { messages: { role: string }[] }): Reply => {
  const last = request.messages.at(-1)!
  return last.role === 'tool' ? say('All noted.') : both
}

/** Everything that must hold after a restart, wherever the process died. */
async function checkTape(tape: Tape): Promise<Entry[]> {
  const entries = await collect(tape.entries())
  const answers = new Map<string, number>()
  for (const { kind, payload } of entries) {
    const { calls = [], results = [] } = payload as { calls?: ToolCall[]; results?: ToolResult[] }
    if (kind === 'tool_call') for (const { id } of calls) answers.set(id, 0)
    if (kind === 'tool_result') for (const { call_id } of results) answers.set(call_id, answers.get(call_id)! + 1)
  }
  expect([...answers.values()].every((count) => count === 1)).toBe(true)
  // Every turn that began has ended, once.
  const marks = entries
    .filter(({ meta }) => meta.key === 'turn')
    .map(({ payload }) => (payload as { name: string }).name)
    .filter((name) => name !== 'turn_running')
  expect(marks.filter((name) => name === 'turn_started')).toHaveLength(marks.length / 2)
  checkOpenAi((await tape.context()).messages)
  return entries
}

test.each([
  ['a turn', undefined],
  ['a turn that hands off at its end', 10],
])(
  'killed at any event of %s, the next start closes it and goes on; no tool runs twice, nothing told is lost [T23, T21]',
  { timeout: 300_000 },
  async (_, threshold) => {
    const server = await serve(script)
    const { events: all } = await crash(server, 'never', threshold)
    const points = all.filter(({ type }) => type !== 'result').map((_, index) => `event:${index + 1}`)
    expect(points.length).toBeGreaterThan(8)
    const chosen = sample(points, 5)
    let died = 0
    for (const point of [...chosen, 'never']) {
      const { folder, events } = await crash(server, point, threshold)
      const finished = events.some(({ type }) => type === 'result')
      if (!finished) died++
      const store = await temporaryStore(path.join(folder, '.baton'))
      const agent = await createAgent({ store, tape: 'main', cwd: folder, model: modelOf['chat-completions'](server) })
      const told = (type: string) => events.filter((event) => event.type === type)
      const ended = told('turn-end').length > 0
      if (told('turn-start').length > 0 && !ended) {
        const [anchor] = await agent.tape.anchors({ limit: 1 })
        expect(agent.recovered).toMatchObject({ anchor: anchor!.name, state: anchor!.state })
      } else expect(agent.recovered).toBeUndefined()
      const entries = await checkTape(agent.tape)
      // Whatever the child told of is there.
      const text = JSON.stringify(entries)
      if (told('turn-start').length > 0) expect(text).toContain('Note a and b')
      for (const { output } of told('tool-end')) expect(text).toContain(output)
      expect(JSON.stringify((await agent.tape.context()).messages)).toContain(
        told('turn-start').length > 0 ? 'Never note c' : '',
      )
      const before = notes(folder)
      expect(new Set(before).size).toBe(before.length)
      for (const { id } of told('tool-start')) expect(text).toContain(id)
      // Every call that may have run has a result that says what is known.
      const results = entries
        .filter(({ kind }) => kind === 'tool_result')
        .flatMap(({ payload }) => (payload as { results: ToolResult[] }).results)
      for (const { output } of results) expect(output).toMatch(/^noted|^interrupted: the process ended/)
      const goOn = await agent.resume()
      expect(goOn).toMatchObject({ status: 'done' })
      await agent.close()
      // Closed once: another start finds nothing to close.
      const again = await createAgent({ store, tape: 'main', model: modelOf['chat-completions'](server) })
      expect(again.recovered).toBeUndefined()
      await checkTape(again.tape)
      await again.close()
    }
    expect(died).toBe(chosen.length)
    expect(server.problems).toEqual([])
  },
)

test.each(['access', 'running'])('killed in a tool (%s), the call is closed and not run again [T23]', async (die) => {
  const server = await serve((request) =>
    request.messages.some(({ role }) => role === 'tool') ? say('I looked.') : both,
  )
  const { folder } = await crash(server, die)
  const before = notes(folder)
  expect(before.length).toBe(die === 'access' ? 0 : 1)
  const store = await temporaryStore(path.join(folder, '.baton'))
  const agent = await createAgent({ store, tape: 'main', cwd: folder, model: modelOf['chat-completions'](server) })
  expect(agent.recovered!.closed).toEqual(['test.note', 'test.note'])
  await checkTape(agent.tape)
  expect(await agent.submit('What is noted?')).toMatchObject({ status: 'done', text: 'I looked.' })
  expect(notes(folder)).toEqual(before)
  const { messages } = server.requests.at(-1)!
  expect(messages.flatMap(({ toolResults }) => toolResults.map(({ text }) => text))).toEqual([
    expect.stringMatching(/^interrupted: .*look before you run it again/) as string,
    expect.stringMatching(/^interrupted/) as string,
  ])
  await agent.close()
})

test.runIf(process.platform === 'linux')(
  'a command that outlived kill -9 is found by its mark, ended and reported [T23]',
  async () => {
    const command = 'sleep 1000 & echo started $! $$; wait'
    const server = await serve([call('bash', { command }), say('Looked.')])
    const { folder, events } = await crash(server, 'output')
    const pids = /started (\d+) (\d+)/.exec(JSON.stringify(events))!.slice(1).map(Number)
    expect(pids.map(isAlive)).toEqual([true, true])
    const store = await openFileStore(path.join(folder, '.baton'))
    onTestFinished(() => store.close())
    const agent = await createAgent({ store, tape: 'main', model: modelOf['chat-completions'](server), cwd: folder })
    onTestFinished(() => agent.close())
    expect(pids.map(isAlive)).toEqual([false, false])
    expect(agent.recovered).toMatchObject({ closed: ['bash'], ended: [/was ended now: .*sleep 1000/] })
    await agent.resume()
    expect(JSON.stringify(server.requests.at(-1)!.raw)).toMatch(/Its command was still running and was ended now/)
  },
)

test('killed before the model answers, from outside, the prompt is there and can be asked again [T23]', async () => {
  const gate = closedGate()
  const server = await serve((request) =>
    request.messages.length > 1 ? say('Here again.') : say('too late', { hold: gate.opened }),
  )
  const folder = temporaryFolder()
  const { child } = start(folder, server, 'never')
  await server.next()
  child.kill('SIGKILL')
  await once(child, 'close')
  const store = await temporaryStore(path.join(folder, '.baton'))
  const agent = await createAgent({ store, tape: 'main', model: modelOf['chat-completions'](server) })
  expect(agent.recovered).toMatchObject({ closed: [] })
  expect(await agent.submit('Go on')).toMatchObject({ status: 'done', text: 'Here again.' })
  expect(server.requests.at(-1)!.messages.map(({ text }) => text)).toEqual(['Note a and b. Never note c.', 'Go on'])
  gate.open()
  await agent.close()
})

test('killed in mid-stream, what the model had said until a moment before is kept as its answer so far [T23]', async () => {
  const gate = closedGate()
  const held = { hold: gate.opened, holdAfter: 3, chunk: 7 }
  // The first attempt is cut: what it said is void, before and after the crash.
  const server = await serve([
    cutAfter(1, say('another beginning')),
    say('a long answer that never ends', held),
    say('Here again.'),
  ])
  const folder = temporaryFolder()
  const store = await temporaryStore(path.join(folder, '.baton'))
  const { child } = start(folder, server, 'never')
  const noted: string[] = []
  for await (const { payload } of store.watch('main', 0, AbortSignal.timeout(60_000))) {
    const { name, data } = payload as { name?: string; data?: { text: string } }
    if (name === 'speaking') noted.push(data!.text)
    if (noted.join('').endsWith('a long answer that ne')) break
  }
  child.kill('SIGKILL')
  await once(child, 'close')
  const agent = await createAgent({ store, tape: 'main', model: modelOf['chat-completions'](server) })
  expect(agent.recovered).toMatchObject({ closed: [] })
  expect(await agent.submit('Go on')).toMatchObject({ status: 'done', text: 'Here again.' })
  expect(server.requests.at(-1)!.messages.map(({ text }) => text)).toEqual([
    'Note a and b. Never note c.',
    'a long answer that ne',
    'Go on',
  ])
  gate.open()
  await agent.close()
})

test('a tape has one turn at a time: the second process is refused, and goes on when the first has died [T23]', async () => {
  const gate = closedGate()
  const server = await serve((request) =>
    request.messages.length > 1 ? say('My turn.') : say('wait for it', { hold: gate.opened }),
  )
  const folder = temporaryFolder()
  const { child, events } = start(folder, server, 'never')
  await server.next()
  const store = await temporaryStore(path.join(folder, '.baton'))
  const agent = await createAgent({ store, tape: 'main', model: modelOf['chat-completions'](server) })
  expect(agent.recovered).toBeUndefined()
  expect(await agent.submit('me too')).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(
      new RegExp(`A turn is running on main, in process ${child.pid} on .*\\nWait until it ends`),
    ) as string,
  })
  const running = new RegExp(`A turn is running on main, in process ${child.pid}`)
  expect(await agent.handoff()).toMatchObject({ status: 'failed', message: running })
  for (const command of [',handoff name=x', ',tape.reset'])
    expect(await agent.submit(command)).toMatchObject({ ok: false, text: running })
  expect(await agent.submit(',tape.info')).toMatchObject({ ok: true })
  // What is typed into the first meanwhile is on the tape, and not lost with it.
  child.stdin.write('and this\n')
  await heard(child, events, 'queued')
  child.kill('SIGKILL')
  await once(child, 'close')
  expect(await agent.submit('now?')).toMatchObject({ status: 'done', text: 'My turn.' })
  expect(
    server.requests
      .at(-1)!
      .messages.map(({ text }) => text)
      .slice(1),
  ).toEqual(['and this', 'now?'])
  await agent.close()
  gate.open()
})

test('what waits for a turn elsewhere is heard once, there [T23, H9]', async () => {
  const gate = closedGate()
  const { agent, server } = await scene([say('slow', { hold: gate.opened }), say('heard'), say('mine')])
  const turn = agent.submit('work')
  await server.next()
  await agent.submit('and this')
  const model = modelOf['chat-completions'](server)
  const other = await createAgent({ store: agent.tape.store, tape: 'main', model })
  gate.open()
  await turn
  expect(await other.submit('me')).toMatchObject({ status: 'done', text: 'mine' })
  const typed = server.requests.at(-1)!.messages.filter(({ role }) => role === 'user')
  expect(typed.map(({ text }) => text)).toEqual(['work', 'and this', 'me'])
})

test('of prompts at the same moment on one tape, one has the turn and the others are told [T23]', async () => {
  const gate = closedGate()
  const server = await serve(() => say('mine', { hold: gate.opened }))
  const folder = path.join(temporaryFolder(), '.baton')
  const agents = await Promise.all(
    [1, 2, 3, 4].map(async () =>
      createAgent({ store: await temporaryStore(folder), tape: 'main', model: modelOf['chat-completions'](server) }),
    ),
  )
  const turns = agents.map((agent) => agent.submit('me'))
  await server.next()
  const first = await Promise.race(turns)
  expect(first).toMatchObject({ status: 'failed', error: /A turn is running on main/ })
  gate.open()
  const results = await Promise.all(turns)
  expect(results.filter((result) => result.kind === 'turn' && result.status === 'done')).toHaveLength(1)
  await checkTape(agents[0]!.tape)
})

test('many starts after one crash close the turn once [T23]', async () => {
  const server = await serve(script)
  const { folder } = await crash(server, 'running')
  const stores = await Promise.all([1, 2, 3, 4].map(() => temporaryStore(path.join(folder, '.baton'))))
  const agents = await Promise.all(stores.map((store) => createAgent({ store, tape: 'main' })))
  expect(agents.filter(({ recovered }) => recovered !== undefined)).toHaveLength(1)
  await checkTape(agents[0]!.tape)
})

test('a long turn says that it runs; one that was taken for dead stops when it finds out [T23]', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const gate = closedGate()
  const { agent, server, of } = await scene([say('slow', { hold: gate.opened }), say('on')])
  const turn = agent.submit('work')
  await server.next()
  const { tape } = agent
  const before = (await openTurn(tape))!
  vi.advanceTimersByTime(60_000)
  for await (const { payload } of tape.watch(before.mark, new AbortController().signal)) {
    if ((payload as { name?: string }).name === 'turn_running') break
  }
  const running = (await openTurn(tape))!
  expect(running).toMatchObject({ runId: before.runId, since: before.since })
  expect(running.mark).toBeGreaterThan(before.mark)
  await closeTurn(tape, running, [])
  vi.advanceTimersByTime(60_000)
  expect(await turn).toMatchObject({ status: 'aborted' })
  expect(of('warning').map(({ message }) => message)).toEqual([
    expect.stringMatching(/end of the turn is not on the tape/),
  ])
  expect(await agent.submit('again')).toMatchObject({ status: 'done', text: 'on' })
  await checkTape(tape)
  gate.open()
})

test('a copy of an open turn on a fork is not a turn of the fork [T23, T12]', async () => {
  const gate = closedGate()
  const { agent, server } = await scene([say('slow', { hold: gate.opened }), say('child')])
  const turn = agent.submit('work')
  await server.next()
  const fork = await agent.tape.fork('child')
  const child = await createAgent({ store: agent.tape.store, tape: fork, model: modelOf['chat-completions'](server) })
  expect(child.recovered).toBeUndefined()
  expect(await child.submit('work too')).toMatchObject({ status: 'done', text: 'child' })
  gate.open()
  await turn
})

test('who is alive: by process here, by silence elsewhere, never by a number that was given again [T23]', async () => {
  const isAlive = (holder: Holder, me: Holder, silence: number) =>
    isHolding(holder, Date.now() + silentMs - silence * 1_000, Date.now(), me)
  const me = thisProcess('me')
  const other = { ...me, agent: 'other' }
  expect(isAlive(me, me, 0)).toBe(false)
  expect(isAlive(other, me, 1e6)).toBe(true)
  expect(isAlive({ ...other, started: '1' }, me, 0)).toBe(false)
  expect(isAlive({ ...other, boot: 'before' }, me, 0)).toBe(false)
  for (const elsewhere of [
    { ...other, host: 'far' },
    { ...other, space: 'pid:[1]' },
  ]) {
    expect(isAlive(elsewhere, me, 60)).toBe(true)
    expect(isAlive(elsewhere, me, 600)).toBe(false)
  }
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  expect(isAlive({ ...other, pid: child.pid! }, me, 0)).toBe(false)
})

test('killed while a handoff is written, the old session is active and what was typed meanwhile waits [H7, H9, T23]', async () => {
  const gate = closedGate()
  const server = await serve((request) => {
    if (request.system.includes('handoff documents')) return say('## Goal', { hold: gate.opened })
    return say(request.messages.length > 1 ? 'Going on.' : 'Hello.')
  })
  const folder = temporaryFolder()
  const { child, events } = start(folder, server, 'handoff')
  await heard(child, events, 'handoff')
  await server.next((request) => request.system.includes('handoff documents'))
  child.stdin.write('typed meanwhile\n')
  await heard(child, events, 'queued')
  child.kill('SIGKILL')
  await once(child, 'close')
  const store = await temporaryStore(path.join(folder, '.baton'))
  const agent = await createAgent({ store, tape: 'main', model: modelOf['chat-completions'](server) })
  expect(agent.tape.name).toBe('main')
  expect(await agent.submit('and now')).toMatchObject({ status: 'done', text: 'Going on.' })
  expect(
    server.requests
      .at(-1)!
      .messages.map(({ text }) => text)
      .slice(-2),
  ).toEqual(['typed meanwhile', 'and now'])
  await agent.close()
  gate.open()
})

function notes(folder: string): string[] {
  const file = path.join(folder, 'notes')
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : []
}

test('a tool that ignores its signal leaves no turn open, not even in a process with nothing else to do [T21, T23]', async () => {
  const folder = temporaryFolder()
  const deaf = await program(new URL('./ignoring-child.ts', import.meta.url))
  const child = spawn(process.execPath, [deaf, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  expect(await once(child, 'close')).toEqual([0, null])
  expect(JSON.parse(out)).toMatchObject({ kind: 'turn', status: 'aborted' })
  const tape = await openTape('main', { address: path.join(folder, '.baton') })
  onTestFinished(() => tape.close())
  expect(await openTurn(tape)).toBeUndefined()
  const [result] = await collect(tape.entries({ kinds: ['tool_result'] }))
  expect(result!.payload).toMatchObject({ results: [{ call_id: 'call_1', output: /^interrupted/, is_error: true }] })
})
