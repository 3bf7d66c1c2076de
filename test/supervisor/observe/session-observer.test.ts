import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { adapterNamed, type AgentName, type ScreenState } from '../../../src/agents/index.ts'
import type { Driver, Sent } from '../../../src/supervisor/drivers/driver.ts'
import {
  type Observation,
  type Observer,
  type ObserverOptions,
  openObserver,
} from '../../../src/supervisor/observe/observation.ts'
import { listSessions, LiveSession } from '../../../src/transcripts/index.ts'
import { startMs } from '../../support/pace.ts'
import { someProcess } from '../../support/processes.ts'
import { evidenceOf } from '../../../src/supervisor/cycle/sighting.ts'
import { sight } from '../support/sightings.ts'
import { temporaryFolder } from '../../support/workspace.ts'
import { homeWith, sessionsIn } from '../../transcripts/home.ts'

/** Stands for a pane: what is on it, and what was sent to it, is up to the test. */
class Pane implements Driver {
  readonly pid = someProcess(onTestFinished)
  place: Driver['place'] = { driver: 'tmux', socket: '/none', pane: '%0', pid: this.pid }
  sent: Sent[] = []
  shown: ScreenState = { is: 'prompt', draft: '' }
  text = ''
  looks = 0
  running = true

  alive = () => Promise.resolve(this.running)
  ended = () => Promise.resolve(undefined)
  screenState = () => {
    this.looks++
    return Promise.resolve(this.shown)
  }
  screenText = () => Promise.resolve(this.text)
  ready = () => this.screenState()
  submit = (text: string) => {
    this.sent.push({ text, at: Date.now() })
    return Promise.resolve()
  }
  clear = () => this.submit('/new')
  interrupt = () => Promise.resolve()
  stop = () => Promise.resolve()
  close = () => Promise.resolve()
}

function eyesOn(options: Omit<ObserverOptions, 'since'> & { since?: number }): Observer {
  const observer = openObserver({ since: 0, ...options })
  onTestFinished(() => observer.close())
  return observer
}

async function until(observer: Observer, done: (now: Observation) => boolean): Promise<Observation> {
  let last: Observation | undefined
  for await (const now of observer.watch(AbortSignal.timeout(60_000))) {
    last = now
    if (done(now)) return now
  }
  throw new Error(`it never came: ${done.toString()} ${JSON.stringify(last)}`)
}

/** A session of pi, written by hand as pi does. */
class PiSession {
  readonly file: string
  readonly id: string
  #parent: string | null = null
  #n = 0

  constructor(home: string, cwd: string, id: string) {
    this.id = id
    const folder = path.join(home, '.pi/agent/sessions', `--${cwd.slice(1).replaceAll('/', '-')}--`)
    fs.mkdirSync(folder, { recursive: true })
    const timestamp = new Date().toISOString()
    this.file = path.join(folder, `${timestamp.replaceAll(/[:.]/g, '-')}_${id}.jsonl`)
    this.line({ type: 'session', version: 3, id, timestamp, cwd })
  }

  line(value: object): void {
    fs.appendFileSync(this.file, `${JSON.stringify(value)}\n`)
  }

  entry(message: object): void {
    const id = `${this.id}-${++this.#n}`
    this.line({ type: 'message', id, parentId: this.#parent, timestamp: new Date().toISOString(), message })
    this.#parent = id
  }

  asked(text: string): void {
    this.entry({ role: 'user', content: [{ type: 'text', text }] })
  }

  calls(name: string, args: object, id = 'c1'): void {
    this.says('I do it.', 'toolUse', [{ type: 'toolCall', id, name, arguments: args }])
  }

  result(text: string, id = 'c1', isError = false): void {
    this.entry({ role: 'toolResult', toolCallId: id, toolName: 'x', content: [{ type: 'text', text }], isError })
  }

  says(text: string, stopReason = 'stop', more: object[] = [], extra: object = {}): void {
    const usage = { input: 900, output: 100, cacheRead: 0, cacheWrite: 0, totalTokens: 1_000, cost: { total: 0.01 } }
    const content = [{ type: 'text', text }, ...more]
    this.entry({ role: 'assistant', content, provider: 'x', model: 'x', usage, stopReason, ...extra })
  }
}

function stage(): { home: string; cwd: string; env: NodeJS.ProcessEnv } {
  const home = fs.realpathSync(temporaryFolder())
  const cwd = path.join(home, 'project')
  fs.mkdirSync(cwd)
  return { home, cwd, env: { HOME: home } }
}

test.each(['claude', 'codex', 'pi', 'gemini', 'opencode'] as const)(
  'a recorded session of %s is seen as the list tells it, each line read once [C2]',
  async (agent: AgentName) => {
    const recorded = homeWith(agent)
    const [listed] = listSessions({ env: recorded.env })
    const file = sessionsIn(recorded, agent).find((each) => each.path === listed!.path)!
    const pane = new Pane()
    const adapter = adapterNamed(agent, { env: recorded.env })
    const observer = eyesOn({
      adapter,
      driver: pane,
      cwd: listed!.cwd ?? '/tmp',
      env: recorded.env,
      session: listed!.id,
    })
    const seen = await until(observer, (now) => now.file !== undefined && now.turn === 'idle')
    expect(seen.file!.path).toBe(file.path)
    expect(seen.session).toBe(listed!.id)
    const { cost, ...meter } = seen.meter
    const { cost: own, ...listedMeter } = listed!.meter
    expect({ compactions: seen.compactions, meter }).toEqual({ compactions: listed!.compactions, meter: listedMeter })
    // Subagents have rows of their own in the list.
    const all = listSessions({ env: recorded.env, subagents: true })
    const theirs = all.filter(({ parent }) => parent === listed!.id).map((each) => each.meter.cost?.usd ?? 0)
    expect(cost).toEqual(
      own && {
        ...own,
        usd: expect.closeTo(
          theirs.reduce((sum, usd) => sum + usd, own.usd),
          6,
        ),
      },
    )
    // A list of opencode's sessions does not read the words, and counts what the program itself said.
    if (agent !== 'opencode') expect(seen.turns).toBe(listed!.turns)
    expect(seen.prompt?.text.length).toBeGreaterThan(0)
    if (file.path.endsWith('.jsonl')) {
      const bytes = fs.readFileSync(file.path)
      const slow = path.join(temporaryFolder(), path.basename(file.path))
      fs.writeFileSync(slow, '')
      const growing = new LiveSession({ ...file, path: slow })
      onTestFinished(() => growing.close())
      let facts = 0
      // Cut anywhere, in the middle of lines too.
      for (let at = 0; at < bytes.length; at += 1_777) {
        fs.appendFileSync(slow, bytes.subarray(at, at + 1_777))
        facts += growing.read().facts.length
        expect(growing.read().facts).toEqual([])
      }
      const whole = new LiveSession(file)
      onTestFinished(() => whole.close())
      expect(facts).toBe(whole.read().facts.length)
      expect(growing.stats).toEqual(whole.stats)
    }
  },
)

test('turns, prompts, what was read, what runs and what failed are seen as they are written [C2, C6]', async () => {
  const { home, cwd, env } = stage()
  const pane = new Pane()
  const observer = eyesOn({ adapter: adapterNamed('pi', { env }), driver: pane, cwd, env })
  expect(await observer.observe()).toMatchObject({ turn: 'none', turns: 0, file: undefined, read: [], alive: true })
  pane.shown = { is: 'busy', draft: '' }
  const pi = new PiSession(home, cwd, 'aaaa')
  pi.asked('begin the work')
  const asked = await until(observer, (now) => now.turn === 'asked')
  expect(asked).toMatchObject({
    prompt: { text: 'begin the work' },
    turns: 1,
    state: { state: 'working' },
    session: 'aaaa',
  })
  pi.calls('read', { path: 'docs/handoff.md' })
  expect((await until(observer, (now) => now.turn === 'working')).read).toEqual([])
  pi.result('# Handoff')
  pi.calls('bash', { command: 'cat notes.txt && sed -n 1,3p src/a.ts' }, 'c2')
  pi.result('text', 'c2')
  pi.calls('read', { path: 'missing.md' }, 'c3')
  pi.result('no such file', 'c3', true)
  pi.calls('bash', { command: 'npm run dev > log.txt 2>&1 &' }, 'c4')
  pi.result('[1] 4242', 'c4')
  pi.says('Done.')
  const idle = await until(observer, (now) => now.turn === 'idle')
  expect(idle.read).toEqual(['docs/handoff.md', 'notes.txt', 'src/a.ts'].map((name) => path.join(cwd, name)))
  expect(idle.background).toEqual([expect.stringContaining('npm run dev')])
  expect(idle).toMatchObject({ state: { state: 'waiting' }, meter: { tokens: 1_000 }, error: undefined })
  pi.asked('again')
  // It tries again by itself: until the screen shows that it does not, this is no end.
  pi.says('', 'error', [], { errorMessage: '500 overloaded' })
  expect(await until(observer, (now) => now.error !== undefined)).toMatchObject({ turn: 'working' })
  pane.shown = { is: 'prompt', draft: '' }
  expect(await until(observer, (now) => now.turn === 'idle')).toMatchObject({ error: '500 overloaded' })
  pane.running = false
  expect((await observer.observe()).state).toEqual({ state: 'ended' })
})

test('the end of a turn is noticed at once [C12]', async () => {
  const { home, cwd, env } = stage()
  const observer = eyesOn({ adapter: adapterNamed('pi', { env }), driver: new Pane(), cwd, env })
  const pi = new PiSession(home, cwd, 'aaaa')
  const before = startMs()
  const lags: number[] = []
  for (let turn = 1; turn <= 10; turn++) {
    pi.asked(`turn ${turn}`)
    await until(observer, (now) => now.turn === 'asked' && now.turns === turn)
    const over = until(observer, (now) => now.turn === 'idle' && now.turns === turn)
    pi.says('Done.')
    const written = performance.now()
    await over
    lags.push(performance.now() - written)
  }
  // Half a second by promise, which is twelve starts of a program that does nothing.
  expect(lags.sort((a, b) => a - b)[5]).toBeLessThan(12 * Math.max(40, before, startMs()))
})

test('two agents of a kind in one folder are not taken for each other [C13]', async () => {
  const { home, cwd, env } = stage()
  const adapter = adapterNamed('pi', { env })
  const since = Date.now()
  const [one, two] = [new Pane(), new Pane()]
  const [first, second] = [one, two].map((driver) => eyesOn({ adapter, driver, cwd, env, since }))
  // Both files are there before either is known; only what was sent, and what the screens show, tells them apart.
  await one.submit('read the first document')
  const b = new PiSession(home, cwd, 'bbbb')
  b.asked('what a person typed into the second')
  b.says('The answer to the second.')
  const a = new PiSession(home, cwd, 'aaaa')
  a.asked('read the first document')
  a.says('The answer to the first.')
  expect((await until(first!, (now) => now.file !== undefined)).session).toBe('aaaa')
  two.text = '> what a person typed\n  into the second\n\nThe answer to the second.\n'
  expect((await until(second!, (now) => now.file !== undefined)).session).toBe('bbbb')
  // The first is cleared, and its next file appears while the second goes on.
  await one.clear()
  b.asked('go on')
  b.says('On it goes.')
  const c = new PiSession(home, cwd, 'cccc')
  await one.submit('resume from the document')
  c.asked('resume from the document')
  c.says('Resumed.')
  expect((await until(first!, (now) => now.session !== 'aaaa')).session).toBe('cccc')
  expect((await until(second!, (now) => now.turns === 2)).session).toBe('bbbb')
})

test('a process that was started anew is not taken to write what one before it wrote, however lately [C13][C15]', async () => {
  const { home, cwd, env } = stage()
  const since = Date.now()
  const lost = new PiSession(home, cwd, 'lost')
  lost.asked('go on')
  const pane = new Pane()
  const adapter = adapterNamed('pi', { env })
  const observer = eyesOn({ adapter, driver: pane, cwd, env, since, former: ['lost'] })
  await pane.submit('go on')
  expect(await observer.observe()).toMatchObject({ session: undefined, turn: 'none' })
  const own = new PiSession(home, cwd, 'own')
  own.asked('go on')
  expect(await until(observer, ({ turn }) => turn === 'asked')).toMatchObject({ session: 'own' })
})

test('a turn in which a process died is over for the one that reopens its session [C15]', async () => {
  const { home, cwd, env } = stage()
  const session = new PiSession(home, cwd, 'reopened')
  session.asked('go on')
  const adapter = adapterNamed('pi', { env })
  const since = Date.now() + 1
  const observer = eyesOn({ adapter, driver: new Pane(), cwd, env, since, session: 'reopened' })
  expect(await until(observer, ({ file }) => file !== undefined)).toMatchObject({
    turn: 'idle',
    turns: 1,
    started: since,
  })
  await expect.poll(() => Date.now()).toBeGreaterThan(since)
  session.asked('look where it stands')
  expect(await until(observer, ({ turns }) => turns === 2)).toMatchObject({ turn: 'asked' })
})

test('a stranger in the same folder is never taken for the agent, however alone its file is [C13]', async () => {
  const { home, cwd, env } = stage()
  const pane = new Pane()
  const observer = eyesOn({ adapter: adapterNamed('pi', { env }), driver: pane, cwd, env })
  const own = new PiSession(home, cwd, 'aaaa')
  await pane.submit('my task')
  own.asked('my task')
  expect((await until(observer, (now) => now.turns === 1)).session).toBe('aaaa')
  // Started by the agent itself, in the midst of its turn; its words even show on the screen.
  const other = new PiSession(home, cwd, 'bbbb')
  pane.text = '$ pi -p "look at the tests"\nThey pass.'
  other.asked('look at the tests')
  other.says('They pass.')
  own.calls('bash', { command: 'pi -p "look at the tests"' })
  own.result('They pass.')
  own.says('The tests pass.')
  const now = await until(observer, (seen) => seen.turn === 'idle' && seen.turns === 1)
  expect(now.session).toBe('aaaa')
  pane.text += '\nmy task\nThe tests pass.'
  other.asked('and again')
  own.asked('go on')
  expect((await until(observer, (seen) => seen.turns === 2)).session).toBe('aaaa')
  expect((await observer.observe()).session).toBe('aaaa')
})

test('Claude Code itself says which session it is in, what it waits for, and when it was cleared [C5, C13]', async () => {
  const { home, cwd, env } = stage()
  const pane = new Pane()
  const adapter = adapterNamed('claude', { env })
  const observer = eyesOn({ adapter, driver: pane, cwd, env })
  const folder = path.join(home, '.claude/projects', cwd.replaceAll(/[^A-Za-z0-9-]/g, '-'))
  const tells = (sessionId: string, status: string, more: object = {}) => {
    fs.mkdirSync(path.join(home, '.claude/sessions'), { recursive: true })
    const about = { pid: pane.pid, sessionId, cwd, status, statusUpdatedAt: Date.now(), ...more }
    fs.writeFileSync(path.join(home, '.claude/sessions', `${pane.pid}.json`), JSON.stringify(about))
  }
  const line = (session: string, value: object) => {
    fs.mkdirSync(folder, { recursive: true })
    const about = {
      sessionId: session,
      cwd,
      uuid: `${Math.random()}`,
      parentUuid: null,
      timestamp: new Date().toISOString(),
    }
    fs.appendFileSync(path.join(folder, `${session}.jsonl`), `${JSON.stringify({ ...about, ...value })}\n`)
  }
  tells('s1', 'idle')
  expect((await until(observer, (now) => now.session === 's1')).file).toBeUndefined()
  // A session that somebody else has in this folder, begun with the same words while the status file is being written.
  await pane.submit('do it')
  fs.writeFileSync(path.join(home, '.claude/sessions', `${pane.pid}.json`), '')
  line('other', { type: 'user', message: { role: 'user', content: 'do it' } })
  expect(await observer.observe()).toMatchObject({ session: 's1', file: undefined })
  tells('s1', 'busy')
  line('s1', { type: 'user', message: { role: 'user', content: 'do it' } })
  expect((await until(observer, (now) => now.turn === 'asked')).prompt?.text).toBe('do it')
  pane.shown = { is: 'dialog', question: 'Do you want to proceed?', about: 'permission' }
  tells('s1', 'waiting', { waitingFor: 'permission prompt' })
  expect((await until(observer, (now) => now.dialog !== undefined)).dialog?.question).toBe('Do you want to proceed?')
  pane.shown = { is: 'prompt', draft: '' }
  tells('s1', 'idle')
  line('s1', { type: 'user', message: { role: 'user', content: '[Request interrupted by user for tool use]' } })
  expect((await until(observer, (now) => now.turn === 'idle')).dialog).toBeUndefined()
  tells('s2', 'idle')
  expect(await until(observer, (now) => now.session === 's2')).toMatchObject({
    turn: 'none',
    turns: 0,
    file: undefined,
  })
  line('s2', { type: 'user', message: { role: 'user', content: 'in a fresh context' } })
  expect((await until(observer, (now) => now.turn === 'asked')).prompt?.text).toBe('in a fresh context')
  // Stopped before its first word: no line says so.
  tells('s2', 'idle')
  expect((await until(observer, (now) => now.turn === 'idle')).turns).toBe(1)
})

test('a silent turn is explained by the screen: a question, or an end without a line [C5]', async () => {
  const { home, cwd, env } = stage()
  const pane = new Pane()
  const observer = eyesOn({ adapter: adapterNamed('pi', { env }), driver: pane, cwd, env })
  const pi = new PiSession(home, cwd, 'aaaa')
  pi.asked('do it')
  pane.shown = { is: 'dialog', question: 'Which model?', about: 'other' }
  expect((await until(observer, (now) => now.dialog !== undefined)).dialog?.question).toBe('Which model?')
  pane.shown = { is: 'busy', draft: '' }
  expect((await until(observer, (now) => now.dialog === undefined)).turn).toBe('asked')
  pane.shown = { is: 'prompt', draft: '' }
  expect((await until(observer, (now) => now.turn === 'idle')).turns).toBe(1)
})

test('what subagents of Claude Code cost counts as soon as they write it, though the session itself is silent [C19]', async () => {
  const { home, cwd, env } = stage()
  const pane = new Pane()
  const models = { 'model-a': { window: 200_000, price: { input: 1, output: 10 } } }
  const folder = path.join(home, '.claude/projects', cwd.replaceAll(/[^A-Za-z0-9-]/g, '-'))
  fs.mkdirSync(path.join(home, '.claude/sessions'), { recursive: true })
  const status = { pid: pane.pid, sessionId: 's1', cwd, status: 'busy', statusUpdatedAt: Date.now() }
  fs.writeFileSync(path.join(home, '.claude/sessions', `${pane.pid}.json`), JSON.stringify(status))
  const line = (file: string, value: object) => {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    const about = {
      sessionId: 's1',
      cwd,
      uuid: `${Math.random()}`,
      parentUuid: null,
      timestamp: new Date().toISOString(),
    }
    fs.appendFileSync(path.join(folder, file), `${JSON.stringify({ ...about, ...value })}\n`)
  }
  const reply = (id: string, input: number) => ({
    type: 'assistant',
    message: {
      id,
      role: 'assistant',
      model: 'model-a',
      content: [{ type: 'text', text: 'So.' }],
      usage: { input_tokens: input, output_tokens: 0 },
    },
  })
  line('s1.jsonl', { type: 'user', message: { role: 'user', content: 'do it' } })
  line('s1.jsonl', reply('m1', 100_000))
  const observer = eyesOn({ adapter: adapterNamed('claude', { env }), driver: pane, cwd, env, models })
  const usd = (now: Observation) => Math.round((now.meter.cost?.usd ?? 0) * 1000) / 1000
  await until(observer, (now) => usd(now) === 0.1)
  const aside = { isSidechain: true, agentId: 'a1' }
  line('s1/subagents/agent-a1.jsonl', { ...aside, type: 'user', message: { role: 'user', content: 'look' } })
  line('s1/subagents/agent-a1.jsonl', { ...aside, ...reply('m2', 200_000) })
  await until(observer, (now) => usd(now) === 0.3)
  line('s1/subagents/agent-a1.jsonl', { ...aside, ...reply('m3', 100_000) })
  line('s1/subagents/agent-a2.jsonl', { ...aside, agentId: 'a2', ...reply('m4', 300_000) })
  const now = await until(observer, (seen) => usd(seen) === 0.7)
  // They fill contexts of their own.
  expect(now.meter.tokens).toBe(100_000)
})

test('a slow reader gets the newest only, and several may look on [C11]', async () => {
  const { home, cwd, env } = stage()
  const observer = eyesOn({ adapter: adapterNamed('pi', { env }), driver: new Pane(), cwd, env })
  const pi = new PiSession(home, cwd, 'aaaa')
  pi.asked('turn 1')
  const slow: number[] = []
  const reading = (async () => {
    for await (const now of observer.watch(AbortSignal.timeout(60_000))) {
      slow.push(now.turns)
      if (now.turns === 50) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  const other = until(observer, (now) => now.turns === 50 && now.turn === 'idle')
  for (let turn = 2; turn <= 50; turn++) pi.asked(`turn ${turn}`)
  await reading
  pi.says('Done.')
  expect((await other).prompt?.text).toBe('turn 50')
  expect(slow.length).toBeLessThan(50)
})

test('what Baton does at the end of a turn is measured from when the agent told of it, though its file was written earlier [C14]', () => {
  const file = path.join(temporaryFolder(), 'session.jsonl')
  fs.writeFileSync(file, '')
  const written = fs.statSync(file).mtimeMs
  const { observation, ...rest } = sight({})
  const seen = (turnSince: number | undefined) => ({
    ...rest,
    observation: {
      ...observation,
      file: { agent: 'claude' as const, path: file, bytes: 0, changed: written, id: 'session' },
      turnSince: turnSince === undefined ? undefined : new Date(turnSince).toISOString(),
    },
  })
  expect(evidenceOf(seen(undefined))).toBe(written)
  expect(evidenceOf(seen(written - 3_000))).toBe(written)
  expect(evidenceOf(seen(Math.ceil(written) + 3_000))).toBe(Math.ceil(written) + 3_000)
})
